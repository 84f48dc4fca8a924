"""The key store on a real PostgreSQL: two processes of a server that are killed while a client repeats."""

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import unittest

import postgresql
from support import KIT, POSTGRESQL, KeyStore, create_note, fingerprint, idempotency

TESTS = os.path.join(KIT, "tests")
WRITES = 600 if os.environ.get("FULL") else 60
SEED = int(os.environ.get("SEED", "1"))


class Process:
    """One of the two processes: started again whenever it was killed."""

    def __init__(self, database):
        self.database, self.lock, self.kills = database, threading.Lock(), 0
        self.start()

    def start(self):
        program = os.path.join(TESTS, "postgresql_server.py")
        self.process = subprocess.Popen([sys.executable, program, self.database],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.kills += 1


def post(port, key, text):
    """The status and body of an answer; None if there was none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", "/notes", json.dumps({"text": text}), {"Idempotency-Key": key})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


@unittest.skipIf(postgresql.missing(), postgresql.missing())
class PostgreSQLTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgresql.Server()
        cls.addClassCleanup(cls.server.stop)
        with cls.open().cursor() as cursor:
            cursor.execute(POSTGRESQL)
            cursor.connection.commit()

    @classmethod
    def open(cls):
        import psycopg2
        connection = psycopg2.connect(cls.server.address)
        cls.addClassCleanup(connection.close)
        return connection

    def rows(self, statement, *values):
        with self.open().cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()

    def test_the_states(self):
        first, second = KeyStore(self.open()), KeyStore(self.open())
        digest, change = fingerprint("POST", "/", b"{}"), create_note("states", sign="%s")
        self.assertEqual(first.begin("k", "states", digest).kind, idempotency.NEW)
        self.assertEqual(second.write("k", "states", digest, change)[0], 409)
        # What is under way holds up nobody else.
        self.assertEqual(second.write("other", "states", digest, change)[0], 201)
        self.assertEqual(second.write("k", "somebody", digest, change)[0], 201)
        first.connection.rollback()
        answer = second.write("k", "states", digest, change)
        self.assertEqual(first.write("k", "states", digest, change), (*answer[:2], True))
        self.assertEqual(first.write("k", "states", "else", change)[0], 422)
        self.assertEqual(set(first.applied("states")), {"k", "other"})
        first.now = lambda: 4_000_000_000
        first.forget()
        self.assertEqual(first.write("k", "states", digest, change)[2], False)

    def test_two_processes_that_are_killed_lose_no_key_and_carry_nothing_out_twice(self):
        chance = random.Random(SEED)
        processes = [Process(self.server.address) for _ in range(2)]
        self.addCleanup(lambda: [process.kill() for process in processes])
        answers, rounds = {}, 0
        for number in range(WRITES):
            key, text, is_done = f"key-{SEED}-{number}", f"text-{SEED}-{number}", False
            while not is_done:
                rounds += 1
                self.assertLess(rounds, WRITES * 50, f"seed {SEED}: it never gets done")
                # Both are asked at once, and one may be killed while they answer.
                said = [None, None]

                def ask(place, key=key, text=text, said=said):
                    said[place] = post(processes[place].port, key, text)

                threads = [threading.Thread(target=ask, args=(place,))
                           for place in (0, 1) if chance.random() < 0.7]
                for thread in threads:
                    thread.start()
                if chance.random() < 0.3:
                    victim = chance.choice(processes)
                    threading.Event().wait(chance.random() * 0.03)
                    victim.kill()
                    victim.start()
                for thread in threads:
                    thread.join()
                for answer in filter(None, said):
                    self.assertIn(answer[0], (201, 409), f"seed {SEED}: {answer}")
                    if answer[0] == 201:
                        is_done = True
                        self.assertEqual(answers.setdefault(key, answer), answer, f"seed {SEED}")
        self.assertGreater(sum(process.kills for process in processes), WRITES / 10)
        for key, answer in answers.items():
            # Whichever process is asked, and long after.
            text = json.loads(answer[1])["text"]
            self.assertEqual(post(chance.choice(processes).port, key, text), answer, f"seed {SEED}")
        texts = self.rows("SELECT text, count(*) FROM notes WHERE text LIKE 'text-%%' GROUP BY text")
        self.assertEqual(len(texts), WRITES, f"seed {SEED}")
        self.assertEqual({count for _, count in texts}, {1}, f"seed {SEED}")


if __name__ == "__main__":
    unittest.main()
