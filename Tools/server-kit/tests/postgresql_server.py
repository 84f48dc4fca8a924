"""A server of notes on PostgreSQL, for a test that kills it: prints its port, and serves until then."""

import json
import os
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2

from support import KeyStore, create_note, fingerprint


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        connection = psycopg2.connect(self.server.database)
        change = create_note(json.loads(body)["text"], sign="%s")

        def slow_change(cursor):
            answer = change(cursor)
            # So that a kill finds it between the write and its key.
            time.sleep(random.random() * 0.02)
            return answer

        try:
            status, answer, _ = KeyStore(connection).write(
                self.headers["Idempotency-Key"], "ada", fingerprint("POST", self.path, body), slow_change)
        finally:
            connection.close()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *arguments):
        """Says nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Its clients are killed, and leave."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, psycopg2.Error)):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", 0), Handler)
server.database = sys.argv[1]
print(server.server_address[1], flush=True)
# A server whose test was killed ends with it.
parent = os.getppid()
server.timeout = 1
while os.getppid() == parent:
    server.handle_request()
