"""What the tests of the key store share."""

import json
import os
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
KIT = os.path.dirname(TESTS)
sys.path.insert(0, os.path.join(KIT, "python"))

import idempotency  # noqa: E402
from idempotency import KeyStore, fingerprint  # noqa: E402

with open(os.path.join(KIT, "idempotency.sql"), encoding="utf-8") as file:
    TABLE = file.read()

SCHEMA = TABLE + "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
POSTGRESQL = TABLE + "CREATE TABLE notes (id BIGSERIAL PRIMARY KEY, text TEXT NOT NULL);"


def create_note(text, sign="?"):
    """A write of a test."""
    def change(cursor):
        cursor.execute(f"INSERT INTO notes (text) VALUES ({sign}) RETURNING id", (text,))
        return 201, json.dumps({"id": cursor.fetchone()[0], "text": text})
    return change
