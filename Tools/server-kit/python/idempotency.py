"""The server's half of "once": the key of a write is stored with what it did, in one transaction.

    store = KeyStore(connection)               # of sqlite3, psycopg2 or psycopg; the table is there
    status, body, is_known = store.write(key, account, fingerprint("POST", "/notes", data), change)

`change(cursor)` carries the write out and returns its status and body. A connection is used by one
thread at a time.
"""

import hashlib
import json
import sqlite3
import time
from collections import namedtuple

NEW, DONE, RUNNING, MISMATCH = "new", "done", "running", "mismatch"
State = namedtuple("State", "kind status body", defaults=(None, None))

# As long as a client may be offline, and as many keys as fit into a header of 4 KiB.
KEPT, RECENT, MOST = 30 * 86_400, 3_600, 100
REFUSED = {
    RUNNING: (409, "a write with this key is under way; ask again"),
    MISMATCH: (422, "this key belongs to another write"),
}


def fingerprint(method, path, body):
    """A digest of a request. JSON with its members in another order is the same request: many clients
    write them in an order that changes from launch to launch."""
    try:
        body = json.dumps(json.loads(body), sort_keys=True).encode()
    except ValueError:
        pass
    return hashlib.sha256(f"{method} {path}\n".encode() + body).hexdigest()


class KeyStore:
    def __init__(self, connection, now=time.time):
        self.connection, self.now = connection, now
        self.is_sqlite = isinstance(connection, sqlite3.Connection)

    def run(self, statement, *values):
        cursor = self.connection.cursor()
        cursor.execute(statement if self.is_sqlite else statement.replace("?", "%s"), values)
        return cursor

    def begin(self, key, account, digest):
        """Opens the write's transaction, and says what to do in it; it is the caller's to end. For
        `running` none is open."""
        if not self.is_sqlite:
            lock = "SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))"
            if key and not self.run(lock, f"{account}\x1f{key}").fetchone()[0]:
                self.connection.rollback()
                return State(RUNNING)
        else:
            try:
                self.run("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                return State(RUNNING)
        row = key and self.run(
            "SELECT fingerprint, status, body FROM idempotency WHERE account = ? AND key = ?",
            account, key).fetchone()
        if not row:
            return State(NEW)
        return State(DONE, row[1], row[2]) if row[0] == digest else State(MISMATCH)

    def finish(self, key, account, digest, status, body):
        """Stores the answer, in the transaction that carried the write out."""
        if key:
            self.run("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?)",
                     account, key, digest, status, body, int(self.now()))

    def write(self, key, account, digest, change):
        """Carries a write out once. Returns status, body, and whether it was carried out before."""
        try:
            state = self.begin(key, account, digest)
            if state.kind == NEW:
                status, body = change(self.connection.cursor())
                # What was refused changed nothing, and may be asked for again.
                if status < 400:
                    self.finish(key, account, digest, status, body)
                    self.connection.commit()
                return status, body, False
            if state.kind == DONE:
                return state.status, state.body, True
            status, reason = REFUSED[state.kind]
            return status, json.dumps({"error": reason}), False
        finally:
            # Nothing is left to it after a commit.
            self.connection.rollback()

    def applied(self, account):
        """The keys of the last hour, for `Idempotency-Applied`. Call it in the transaction that reads
        what is answered, so that both are of one moment: on PostgreSQL one of the isolation level
        REPEATABLE READ, on SQLite one that an explicit BEGIN has begun, since a SELECT begins none."""
        rows = self.run(
            "SELECT key FROM idempotency WHERE account = ? AND at > ? ORDER BY at DESC LIMIT ?",
            account, int(self.now()) - RECENT, MOST)
        # A key with a comma would be read as two.
        return [row[0] for row in rows.fetchall() if "," not in row[0]]

    def forget(self):
        """Deletes what is kept no longer: now and then, outside a write."""
        self.run("DELETE FROM idempotency WHERE at < ?", int(self.now()) - KEPT)
        self.connection.commit()
