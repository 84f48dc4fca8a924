"""Writes note after note, each under its text as its key, until it is killed."""

import itertools
import sqlite3
import sys

from support import KeyStore, create_note

path, name = sys.argv[1:]
store = KeyStore(sqlite3.connect(path, isolation_level=None))
print("ready", flush=True)
for number in itertools.count():
    text = f"{name}-{number}"
    store.write(text, "ada", "", create_note(text))
