#!/usr/bin/env python3
"""The server of field-notes: notes in folders, over HTTP, with nothing but Python's standard library.

It does what a server has to do for clients that send a write at least once, with the key store of
Tools/server-kit: the Idempotency-Key of a write is stored with what it did, in one transaction, a key that
is known is answered as it was answered before, and a GET names the keys that its answer includes. A read has
an ETag, and costs its headers if nothing has changed. A stream of events says which folder has changed. It can
be told to be slow, to fail, or to lose its answers.
"""

import argparse
import collections
import hashlib
import json
import os
import signal
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

KIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server-kit")
sys.path.insert(0, os.path.join(KIT, "python"))
from idempotency import KeyStore, fingerprint  # noqa: E402

EXAMPLE = """\
routes:
  GET /folders                           [{"name", "count"}]
  GET /folders/NAME/notes?after=CURSOR   {"notes": [NOTE], "next": CURSOR or null}, by title
  POST /notes                            {"folder", "title", "text"} -> NOTE
  GET /events                            text/event-stream: {"folder"} of each change; takes Last-Event-ID
  GET, PUT, DELETE /notes/ID             NOTE = {"id", "folder", "title", "text", "edition"}

a write has an Idempotency-Key; a GET is answered with an ETag, and Idempotency-Applied: KEY, KEY …

example: field_notes_server.py --port 8080 --data notes.db --log requests.log --lose-every 5
"""

SCHEMA = """
CREATE TABLE IF NOT EXISTS notes (
  id TEXT PRIMARY KEY, folder TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
  edition INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS notes_by_title ON notes (folder, title, id);
CREATE TABLE IF NOT EXISTS numbers (last INTEGER NOT NULL);
"""

# Lists of the ISO, as Debian's package iso-codes has them: the file, its key, the folder, and which
# values of an entry are the note's identifier.
ISO_LISTS = [
    ("iso_3166-1.json", "3166-1", "Countries", "alpha_2"),
    ("iso_639-3.json", "639-3", "Languages", "alpha_3"),
]

SMALL_LISTS = {
    "Trees": ["Alder", "Ash", "Beech", "Birch", "Elm", "Hazel", "Larch", "Lime", "Maple", "Oak",
              "Pine", "Poplar", "Rowan", "Spruce", "Willow", "Yew"],
    "Birds": ["Blackbird", "Bullfinch", "Crow", "Dunnock", "Goldcrest", "Jay", "Kestrel", "Magpie",
              "Nuthatch", "Robin", "Siskin", "Starling", "Swift", "Wren"],
    "Stones": ["Basalt", "Chalk", "Flint", "Gneiss", "Granite", "Marble", "Sandstone", "Slate"],
}

PAGE = 50


class Events:
    """What has changed since the server was started, the last of it."""

    KEPT = 1000
    # A client that hears nothing for 45 s takes the connection for dead.
    HEARTBEAT = 15

    def __init__(self):
        # Of another launch nothing is known: its identifiers are none of this one's.
        self.launch = os.urandom(6).hex()
        self.changed = threading.Condition()
        self.last = 0
        self.kept = collections.deque(maxlen=self.KEPT)

    def add(self, folder):
        with self.changed:
            self.last += 1
            self.kept.append((self.last, folder))
            self.changed.notify_all()

    def number(self, identifier):
        """What an identifier stands for; None where not all is known that came after it."""
        launch, _, digits = identifier.partition("-")
        number = int(digits) if launch == self.launch and digits.isdecimal() else -1
        with self.changed:
            oldest = self.last - len(self.kept)
            return number if oldest <= number <= self.last else None

    def after(self, number):
        """The events after a number, when there are some; none after a while in which there were none."""
        with self.changed:
            self.changed.wait_for(lambda: self.last > number, self.HEARTBEAT)
            return [event for event in self.kept if event[0] > number]

    def text(self, event):
        number, folder = event
        return f"id: {self.launch}-{number}\ndata: {json.dumps({'folder': folder})}\n\n"


class Notes:
    """The notes, and the keys of the writes that made them what they are."""

    def __init__(self, path, iso_folder):
        self.lock = threading.Lock()
        self.events = Events()
        # Used by one thread at a time, under the lock.
        self.database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        with open(os.path.join(KIT, "idempotency.sql"), encoding="utf-8") as file:
            table = file.read()
        self.database.executescript("PRAGMA journal_mode = WAL;" + SCHEMA + table)
        self.keys = KeyStore(self.database)
        self.keys.forget()
        if self.database.execute("SELECT count(*) FROM numbers").fetchone()[0] == 0:
            self.fill(iso_folder)

    def fill(self, iso_folder):
        """Fills an empty database: with lists of the ISO where they are there, else with a few words."""
        rows = list(self.iso_rows(iso_folder)) or [
            (f"{folder.lower()}-{title.lower()}", folder, title, "")
            for folder, titles in SMALL_LISTS.items() for title in titles]
        self.database.execute("BEGIN")
        self.database.executemany("INSERT INTO notes VALUES (?, ?, ?, ?, 1)", rows)
        self.database.execute("INSERT INTO numbers VALUES (0)")
        self.database.execute("COMMIT")

    @staticmethod
    def iso_rows(folder):
        for name, key, title, code in ISO_LISTS:
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    entries = json.load(file)[key]
            except OSError:
                continue
            for entry in entries:
                text = ", ".join(f"{k} {v}" for k, v in sorted(entry.items()) if k not in ("name", "flag"))
                yield (f"{title.lower()}-{entry[code].lower()}", title, entry["name"], text)

    @staticmethod
    def note(row):
        return dict(zip(("id", "folder", "title", "text", "edition"), row))

    def read(self, account, read, *arguments):
        """What a read answers, and the keys of the account's writes that it includes."""
        # Nothing is written meanwhile, so that both are of one moment.
        with self.lock:
            return read(*arguments), self.keys.applied(account)

    def folders(self):
        rows = self.database.execute(
            "SELECT folder, count(*) FROM notes GROUP BY folder ORDER BY folder").fetchall()
        return [{"name": name, "count": count} for name, count in rows]

    def page(self, folder, after):
        start = after.partition("\x1f")[::2]
        rows = self.database.execute(
            "SELECT * FROM notes WHERE folder = ? AND (title, id) > (?, ?) ORDER BY title, id LIMIT ?",
            (folder, *start, PAGE + 1)).fetchall()
        notes = [self.note(row) for row in rows]
        # A place in the order, and no note: that may be deleted before the next page is asked for.
        last = notes[PAGE - 1] if len(notes) > PAGE else None
        return {"notes": notes[:PAGE], "next": f"{last['title']}\x1f{last['id']}" if last else None}

    def find(self, identifier):
        row = self.database.execute("SELECT * FROM notes WHERE id = ?", (identifier,)).fetchone()
        return self.note(row) if row else None

    def write(self, key, account, digest, change):
        """Carries a write out, unless its key is known: returns the answer, and whether it is an old one."""
        def change_once(database):
            status, body = change(database)
            return status, json.dumps(body)

        with self.lock:
            status, body, is_known = self.keys.write(key, account, digest, change_once)
            # In the order of the commits.
            folder = json.loads(body).get("folder")
            if folder and status < 400 and not is_known:
                self.events.add(folder)
            return status, body, is_known

    @staticmethod
    def create(content):
        def change(database):
            database.execute("UPDATE numbers SET last = last + 1")
            number = database.execute("SELECT last FROM numbers").fetchone()[0]
            row = (f"note-{number}", content["folder"], content["title"], content["text"], 1)
            database.execute("INSERT INTO notes VALUES (?, ?, ?, ?, ?)", row)
            return 201, Notes.note(row)
        return change

    @staticmethod
    def edit(identifier, text):
        def change(database):
            database.execute(
                "UPDATE notes SET text = ?, edition = edition + 1 WHERE id = ?", (text, identifier))
            row = database.execute("SELECT * FROM notes WHERE id = ?", (identifier,)).fetchone()
            return (200, Notes.note(row)) if row else (404, {"error": "there is no such note"})
        return change

    @staticmethod
    def delete(identifier):
        def change(database):
            row = database.execute(
                "DELETE FROM notes WHERE id = ? RETURNING folder", (identifier,)).fetchone()
            return 200, {"deleted": identifier, "folder": row[0] if row else ""}
        return change


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "field-notes"
    # What the request wants a note to say, for the log.
    text = None
    data = b""

    def do_GET(self):
        self.text = None
        url = urlsplit(self.path)
        words = [unquote(word) for word in url.path.strip("/").split("/")]
        notes = self.server.notes
        if words == ["folders"]:
            return self.read(notes.folders)
        if len(words) == 3 and words[0] == "folders" and words[2] == "notes":
            return self.read(notes.page, words[1], parse_qs(url.query).get("after", [""])[0])
        if len(words) == 2 and words[0] == "notes":
            return self.read(notes.find, words[1])
        if words == ["events"]:
            return self.stream(notes.events)
        return self.refuse(404, "there is no such route")

    def do_POST(self):
        content = self.content("folder", "title", "text")
        if urlsplit(self.path).path != "/notes":
            return self.refuse(404, "there is no such route")
        if content is not None:
            self.write(Notes.create(content))
        return None

    def do_PUT(self):
        content = self.content("text")
        identifier = self.identifier()
        if identifier and content is not None:
            self.write(Notes.edit(identifier, content["text"]))

    def do_DELETE(self):
        self.text = None
        self.data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        identifier = self.identifier()
        if identifier:
            self.write(Notes.delete(identifier))

    def account(self):
        """Whose request it is. Everybody may do everything here, but each has keys of his own."""
        return hashlib.sha256((self.headers.get("Authorization") or "").encode()).hexdigest()

    def read(self, read, *arguments):
        body, applied = self.server.notes.read(self.account(), read, *arguments)
        if body is None:
            return self.refuse(404, "there is no such note")
        tag = f'"{hashlib.sha256(json.dumps(body).encode()).hexdigest()[:16]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if applied:
            headers["Idempotency-Applied"] = ", ".join(applied)
        is_known = self.headers.get("If-None-Match") == tag
        return self.answer(304 if is_known else 200, body, headers=headers)

    def stream(self, events):
        """Says what changes, from the event on that the client has, or from now on."""
        identifier = self.headers.get("Last-Event-ID")
        number = events.number(identifier) if identifier else events.last
        if number is None:
            return self.refuse(410, "what came after this event is forgotten")
        self.server.log(self, 200, "stream", "begun")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(b": here\n\n")
        while True:
            news = events.after(number)
            self.wfile.write("".join(map(events.text, news)).encode() or b": here\n\n")
            for number, folder in news:
                self.server.log(self, 200, "stream", folder)

    def identifier(self):
        words = [unquote(word) for word in urlsplit(self.path).path.strip("/").split("/")]
        if len(words) == 2 and words[0] == "notes":
            return words[1]
        self.refuse(404, "there is no such route")
        return None

    def content(self, *names):
        """The body, with a text for each name; None where it is refused."""
        try:
            length = int(self.headers.get("Content-Length") or 0)
            self.data = self.rfile.read(length) if 0 < length <= 1 << 20 else b""
            content = json.loads(self.data) if self.data else None
            if isinstance(content, dict) and all(isinstance(content.get(name), str) for name in names):
                self.text = content["text"]
                return content
        except ValueError:
            pass
        self.refuse(400, f"the body has to be a JSON object with the texts {', '.join(names)}")
        return None

    def write(self, change):
        options, number = self.server.options, self.server.next_write()
        time.sleep(options.delay)
        if options.status and number % options.status_every == 0:
            return self.refuse(options.status, "told to fail", did="refused")
        status, body, is_known = self.server.notes.write(
            self.headers.get("Idempotency-Key"), self.account(),
            fingerprint(self.command, self.path, self.data), change)
        did = "known" if is_known else "done" if status < 400 else "refused"
        if options.lose_every and number % options.lose_every == 0:
            # It is carried out, and nobody hears of it.
            self.server.log(self, status, did, "lost")
            self.close_connection = True
            return None
        return self.answer(status, json.loads(body), did, {"Retry-After": "1"} if status == 409 else {})

    def refuse(self, status, reason, did="refused"):
        self.answer(status, {"error": reason}, did)

    def answer(self, status, body, did="read", headers=None):
        if did == "read":
            time.sleep(self.server.options.delay)
        data = json.dumps(body).encode()
        whole = len(data)
        if status == 304:
            data = b""
        # Before it is sent: who has an answer finds it in the log.
        self.server.log(self, status, did, "sent", len(data), whole)
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        """Says nothing: the log has it."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, options):
        super().__init__((options.address, options.port), Handler)
        self.options = options
        self.notes = Notes(options.data, options.iso_codes)
        self.lock = threading.Lock()
        self.writes = 0
        self.file = open(options.log, "a", encoding="utf-8") if options.log else None

    def next_write(self):
        with self.lock:
            self.writes += 1
            return self.writes

    def log(self, request, status, did, answer, sent=0, whole=0):
        if not self.file:
            return
        line = json.dumps({
            "time": time.time(), "method": request.command, "path": request.path, "status": status,
            "key": request.headers.get("Idempotency-Key"), "text": request.text, "did": did,
            "answer": answer, "bytes": sent, "whole": whole})
        with self.lock:
            self.file.write(line + "\n")
            self.file.flush()

    def handle_error(self, request, client_address):
        """A client that has gone is no error of the server's."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def at_least(lowest, kind):
    def parse(text):
        value = kind(text)
        if value < lowest:
            raise argparse.ArgumentTypeError(f"{text} is below {lowest}")
        return value
    return parse


def options():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--address", default="127.0.0.1", help="where to listen (127.0.0.1)")
    add("--port", type=at_least(0, int), default=0, help="0, the default: a free one, which is printed")
    add("--data", default=":memory:", metavar="FILE", help="where the notes are kept (memory)")
    add("--log", metavar="FILE", help="a line of JSON a request is added to it")
    add("--delay", type=at_least(0, float), default=0, metavar="SECONDS", help="before each answer")
    add("--status", type=at_least(400, int), metavar="CODE", help="refuse writes with this status")
    add("--status-every", type=at_least(1, int), default=1, metavar="N", help="only each N-th of them")
    add("--lose-every", type=at_least(1, int), metavar="N",
        help="carry each N-th write out and close the connection without an answer")
    add("--pid", metavar="FILE", help="write the number of the process there")
    add("--iso-codes", default="/usr/share/iso-codes/json", metavar="DIR",
        help="lists to begin with, as Debian's package iso-codes has them")
    return parser.parse_args()


def main():
    server = Server(options())
    for number in (signal.SIGINT, signal.SIGTERM):
        # What was committed is on disk; nothing else is to be saved.
        signal.signal(number, lambda *_: os._exit(0))
    host, port = server.server_address[:2]
    if server.options.pid:
        with open(server.options.pid, "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))
    print(f"http://{host}:{port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
