"""A receiver of messages on loopback: it keeps what it was sent, and answers as it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.serving import serving


class Inbox(ThreadingHTTPServer):
    """Takes messages at `url`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taker)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook/TOKEN"
        self.status = 200
        self.reply = '{"errcode": 0}'
        self.paths: list[str] = []
        self.messages: list[dict] = []


class Taker(BaseHTTPRequestHandler):
    server: Inbox

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        self.server.messages.append(json.loads(body))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.reply.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def open_inbox() -> Iterator[Inbox]:
    inbox = Inbox()
    with serving(inbox):
        yield inbox
