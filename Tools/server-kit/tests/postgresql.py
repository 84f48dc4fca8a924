"""A PostgreSQL of a test's own: in a folder, on a socket there, for as long as the test runs."""

import glob
import os
import pwd
import shutil
import subprocess
import tempfile

PLAIN_USERS = ("postgres", "nobody")


def find(program):
    """The program, beside PATH in the folders of Debian's packages; None if there is none."""
    paths = glob.glob(f"/usr/lib/postgresql/*/bin/{program}")
    versions = sorted(paths, key=lambda path: int(path.split("/")[4]))
    return versions[-1] if versions else shutil.which(program)


def missing():
    """Why there can be no such server here; None if there can."""
    try:
        import psycopg2  # noqa: F401
    except ImportError:
        return "python3-psycopg2 is missing; Tools/setup --server-kit installs it"
    if not find("initdb") or not find("pg_ctl"):
        return "PostgreSQL is missing; Tools/setup --server-kit installs it"
    return None


class Server:
    def __init__(self):
        # It refuses to run as root.
        self.prefix = []
        self.folder = tempfile.mkdtemp(prefix="kit-")
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = next(name for name in PLAIN_USERS if name in names)
            self.prefix = ["runuser", "-u", user, "--"]
            os.chown(self.folder, pwd.getpwnam(user).pw_uid, -1)
        self.data = os.path.join(self.folder, "data")
        try:
            self.run("initdb", "-D", self.data, "-A", "trust", "-U", "kit", "-N")
            # It syncs as it would for real: what is killed is the server before it.
            options = f"-c listen_addresses='' -c unix_socket_directories={self.folder}"
            self.run("pg_ctl", "-D", self.data, "-w", "-l", os.path.join(self.folder, "log"),
                     "-o", options, "start")
        except BaseException:
            self.stop()
            raise
        self.address = f"host={self.folder} user=kit dbname=postgres"

    def run(self, program, *arguments):
        done = subprocess.run([*self.prefix, find(program), *arguments], cwd="/", check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr}")

    def stop(self):
        if os.path.exists(os.path.join(self.data, "postmaster.pid")):
            self.run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)
