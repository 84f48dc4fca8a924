"""The key store on SQLite: what it answers, over two connections, and after a kill."""

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from support import KIT, KeyStore, SCHEMA, create_note, fingerprint, idempotency

KILLS = 200 if os.environ.get("FULL") else 20


class SQLiteTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "notes.db")
        self.time = 1_000_000_000
        self.store = self.open()
        self.store.connection.executescript(SCHEMA)
        self.digest = fingerprint("POST", "/notes", b'{"text": "a"}')

    def tearDown(self):
        self.folder.cleanup()

    def open(self):
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=0)
        self.addCleanup(connection.close)
        return KeyStore(connection, lambda: self.time)

    def count(self):
        return self.store.run("SELECT count(*) FROM notes").fetchone()[0]

    def write(self, key="k", account="ada", digest=None, store=None, text="a"):
        return (store or self.store).write(key, account, digest or self.digest, create_note(text))

    def test_a_known_key_is_answered_as_before(self):
        first = self.write()
        again = self.write(store=self.open())
        self.assertEqual((first[:2], False), (again[:2], first[2]))
        self.assertTrue(again[2])
        self.assertEqual((first[0], self.count()), (201, 1))

    def test_another_body_under_the_key_is_refused(self):
        self.write()
        other = fingerprint("POST", "/notes", b'{"text": "b"}')
        self.assertEqual(self.write(digest=other)[0], 422)
        self.assertEqual(self.count(), 1)

    def test_the_key_of_another_account_is_another_key(self):
        first, second = self.write(), self.write(account="eve")
        self.assertNotEqual(first[1], second[1])
        self.assertEqual(self.count(), 2)

    def test_a_write_that_runs_is_said_to_run(self):
        other = self.open()
        self.assertEqual(other.begin("k", "ada", self.digest).kind, idempotency.NEW)
        self.assertEqual(self.write()[0], 409)
        other.connection.rollback()
        self.assertEqual(self.write()[0], 201)

    def test_a_write_that_was_refused_or_failed_may_be_sent_again(self):
        self.assertEqual(self.store.write("k", "ada", self.digest, lambda _: (404, "{}"))[0], 404)
        with self.assertRaises(ZeroDivisionError):
            self.store.write("k", "ada", self.digest, lambda _: 1 / 0)
        self.assertEqual(self.write()[0], 201)
        self.assertEqual(self.count(), 1)

    def test_a_write_without_a_key_is_carried_out_each_time(self):
        self.write(key=None)
        self.write(key=None)
        self.assertEqual(self.count(), 2)

    def test_receipts_name_the_accounts_keys_of_the_last_hour(self):
        self.write("old")
        self.time += 3_600
        self.write("new")
        self.write("a, b")
        self.write("other", account="eve")
        self.assertEqual(self.store.applied("ada"), ["new"])
        for number in range(150):
            self.write(f"many-{number}", account="many")
        self.assertEqual(len(self.store.applied("many")), 100)

    def test_a_key_is_kept_for_thirty_days(self):
        self.write()
        self.time += 30 * 86_400
        self.store.forget()
        self.assertTrue(self.write()[2])
        self.time += 1
        self.store.forget()
        self.assertFalse(self.write()[2])

    def test_the_order_of_members_is_no_other_request(self):
        same = [fingerprint("POST", "/notes", body) for body in (b'{"a":1,"b":2}', b'{"b": 2, "a": 1}')]
        self.assertEqual(*same)
        others = [fingerprint("PUT", "/notes", b'{"a":1,"b":2}'),
                  fingerprint("POST", "/notes/1", b'{"a":1,"b":2}'),
                  fingerprint("POST", "/notes", b'not JSON'), fingerprint("POST", "/notes", b"")]
        self.assertEqual(len({same[0], *others}), 5)

    def test_a_kill_at_any_moment_leaves_the_write_with_its_key_or_neither(self):
        seed = int(os.environ.get("SEED", "1"))
        chance = random.Random(seed)
        program = os.path.join(os.path.dirname(__file__), "endless_writer.py")
        for number in range(KILLS):
            writer = subprocess.Popen([sys.executable, program, self.path, f"{seed}-{number}"],
                                      stdout=subprocess.PIPE)
            said = writer.stdout.readline()
            try:
                writer.wait(chance.random() * 0.02)
            except subprocess.TimeoutExpired:
                pass
            writer.kill()
            writer.wait()
            writer.stdout.close()
            self.assertEqual(said, b"ready\n")
            rows = self.store.run("SELECT (SELECT group_concat(text) FROM notes),"
                                  " (SELECT group_concat(key) FROM idempotency)").fetchone()
            notes, keys = (set((row or "").split(",")) for row in rows)
            self.assertEqual(notes, keys, f"seed {seed}, round {number}")
        self.assertGreater(len(notes), KILLS / 2)


if __name__ == "__main__":
    print(f"the kit is {KIT}")
    unittest.main()
