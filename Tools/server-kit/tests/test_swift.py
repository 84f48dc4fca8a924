"""The key store in Swift, built and run on both databases."""

import os
import subprocess
import tempfile
import unittest

import postgresql
from support import KIT

PACKAGE = os.path.join(KIT, "swift")
SCRATCH = os.environ.get("KIT_SCRATCH") or os.path.join(PACKAGE, ".build")
HAS_LIBRARY = os.path.exists("/usr/include/postgresql/libpq-fe.h")


class SwiftTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run(["swift", "build", "--package-path", PACKAGE, "--scratch-path", SCRATCH],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout)
        cls.program = os.path.join(SCRATCH, "debug", "key-store-check")

    def check(self, address, said):
        done = subprocess.run([self.program, os.path.join(KIT, "idempotency.sql"), address],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, said))

    def test_on_sqlite(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check(os.path.join(folder, "keys.db"), "ok: SQLite\n")

    @unittest.skipIf(postgresql.missing(), postgresql.missing())
    @unittest.skipUnless(HAS_LIBRARY, "libpq-dev is missing")
    def test_on_postgresql(self):
        server = postgresql.Server()
        self.addCleanup(server.stop)
        self.check(server.address, "ok: PostgreSQL\n")


if __name__ == "__main__":
    unittest.main()
