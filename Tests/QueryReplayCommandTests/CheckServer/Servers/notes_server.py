"""A server of notes that is right, or wrong in one way: notes_server.py WAY PORT FOLDER [CERTIFICATE]

With a certificate, whose file has its key, too, it speaks TLS. It writes its number as a process into the folder, and ends by itself once nobody has asked for anything
for a while.
"""

import hashlib
import json
import os
import sqlite3
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4, "Tools", "server-kit")
sys.path.insert(0, os.path.join(KIT, "python"))
from idempotency import KeyStore, fingerprint  # noqa: E402

PATIENCE = 120


class Right:
    """Keeps keys as the kit does."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notes.db")
        self.lock = threading.Lock()
        with open(os.path.join(KIT, "idempotency.sql"), encoding="utf-8") as file:
            table = file.read()
        database = self.open()
        database.executescript(
            "PRAGMA journal_mode = WAL;" + table
            + "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);")
        database.close()

    def open(self):
        return sqlite3.connect(self.path, isolation_level=None, timeout=20)

    def ask(self, statement, *values):
        database = self.open()
        try:
            return database.execute(statement, values).fetchone()
        finally:
            database.close()

    @staticmethod
    def insert(database, body):
        cursor = database.execute("INSERT INTO notes (text) VALUES (?)", (body.decode(),))
        return 201, json.dumps({"id": cursor.lastrowid, "text": body.decode()})

    def write(self, key, account, body):
        database = self.open()
        try:
            status, answer, _ = KeyStore(database).write(
                key, account, fingerprint("POST", "/notes", body),
                lambda cursor: self.insert(cursor, body))
            return status, answer
        finally:
            database.close()


class ByHand(Right):
    """Has a table of its own, and one write at a time in this process."""

    pause = 0

    def __init__(self, folder):
        super().__init__(folder)
        self.ask("CREATE TABLE IF NOT EXISTS own"
                 " (key TEXT PRIMARY KEY, print TEXT, status INTEGER, body TEXT)")

    def find(self, key):
        return self.ask("SELECT print, status, body FROM own WHERE key = ?", key)

    def keep(self, key, *values):
        self.ask("INSERT INTO own VALUES (?, ?, ?, ?)", key, *values)

    def write(self, key, account, body):
        key, digest = f"{account} {key}", fingerprint("POST", "/notes", body)
        with self.lock:
            known = self.find(key)
            if known:
                return known[1:] if known[0] == digest else (422, "{}")
            database = self.open()
            status, answer = self.insert(database, body)
            database.close()
            time.sleep(self.pause)
            self.keep(key, digest, status, answer)
            return status, answer


class SecondTransaction(ByHand):
    """Stores the key after the write is committed."""

    pause = 0.15


class Forgetful(ByHand):
    """Loses its keys when it is restarted."""

    def __init__(self, folder):
        super().__init__(folder)
        self.known = {}

    def find(self, key):
        return self.known.get(key)

    def keep(self, key, *values):
        self.known[key] = values


class Empty(Right):
    """Answers 200 and nothing to what it knows."""

    def write(self, key, account, body):
        known = self.ask("SELECT 1 FROM idempotency WHERE account = ? AND key = ?", account, key)
        status, answer = super().write(key, account, body)
        return (200, "") if known and status == 201 else (status, answer)


class Locked(Right):
    """Refuses whatever comes while a write is under way."""

    def write(self, key, account, body):
        if not self.lock.acquire(blocking=False):
            return 409, "{}"
        try:
            time.sleep(0.05)
            return super().write(key, account, body)
        finally:
            self.lock.release()


class Leaky(Right):
    """Takes the keys of all accounts for those of one."""

    def write(self, key, account, body):
        return super().write(key, "", body)


class Ignorant(Right):
    """Looks at no key."""

    def write(self, key, account, body):
        return super().write(None, account, body)


class Unhinted(Locked):
    """Says of a write that is under way that there is a conflict, and not when to ask again."""

    def __init__(self, folder):
        super().__init__(folder)
        self.running = set()

    def write(self, key, account, body):
        with self.lock:
            if key in self.running:
                return 409, None
            self.running.add(key)
        try:
            time.sleep(0.05)
            return Right.write(self, key, account, body)
        finally:
            self.running.discard(key)


class Mute(Right):
    """Wants a credential."""

    def write(self, key, account, body):
        return 401, "{}"


WAYS = {
    "right": Right, "second-transaction": SecondTransaction, "forgetful": Forgetful, "empty": Empty,
    "locked": Locked, "leaky": Leaky, "ignorant": Ignorant, "unhinted": Unhinted, "mute": Mute,
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        notes = self.server.notes
        if self.path == "/count":
            self.answer(200, json.dumps({"notes": {"total": notes.ask("SELECT count(*) FROM notes")[0]}}))
            return
        row = notes.ask("SELECT id, text FROM notes WHERE id = ?", self.path.rpartition("/")[2])
        self.answer(200 if row else 404, json.dumps(row))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        account = self.headers.get("Authorization") or ""
        self.answer(*self.server.notes.write(self.headers.get("Idempotency-Key"), account, body))

    def answer(self, status, text):
        self.server.asked = time.monotonic()
        data = (text or "").encode()
        tag = f'"{hashlib.sha256(data).hexdigest()}"'
        if self.command == "GET" and self.headers.get("If-None-Match") == tag:
            status, data = 304, b""
        self.send_response(status)
        if status == 409 and text is not None:
            self.send_header("Retry-After", "1")
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        """Says nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    tls = None

    def get_request(self):
        connection, address = super().get_request()
        if self.tls:
            # The handshake comes with the first read, in the thread of the connection.
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        """A client that has gone is no error."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)


way, port, folder, *certificate = sys.argv[1:]
server = Server(("127.0.0.1", int(port)), Handler)
if certificate:
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(certificate[0])
server.notes = WAYS[way](folder)
server.asked = time.monotonic()
server.timeout = 1
with open(os.path.join(folder, "pid.new"), "w", encoding="utf-8") as file:
    file.write(str(os.getpid()))
os.replace(os.path.join(folder, "pid.new"), os.path.join(folder, "pid"))
print("ready", flush=True)
while time.monotonic() - server.asked < PATIENCE:
    server.handle_request()
