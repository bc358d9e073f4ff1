"""The exporter's HTTP server: which address shows what. Standard library: it loads 1 s faster than Flower's tornado."""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from crawl_tasks.errors import BackendError
from crawl_tasks.monitor.report import snapshot_row
from crawl_tasks.web.families import exposition
from crawl_tasks.web.look import Look
from crawl_tasks.web.metrics import FAMILIES

log = logging.getLogger(__name__)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_TIMEOUT_S = 10.0


class WatchServer(ThreadingHTTPServer):
    """Serves what a look sees."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], look: Look) -> None:
        super().__init__(address, Handler)
        self.look = look


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: WatchServer
    protocol_version = "HTTP/1.1"
    timeout = REQUEST_TIMEOUT_S

    def do_GET(self) -> None:
        """Answer a request for a page."""
        path = urlsplit(self.path).path
        try:
            if path == "/metrics":
                self.answer(HTTPStatus.OK, TEXT, exposition(FAMILIES, self.server.look.now()))
            elif path == "/api/snapshot":
                row = json.dumps(snapshot_row(self.server.look.now()), ensure_ascii=False)
                self.answer(HTTPStatus.OK, "application/json", row)
            elif path == "/healthz":
                self.server.look.now()
                self.answer(HTTPStatus.OK, TEXT, "ok\n")
            else:
                self.answer(HTTPStatus.NOT_FOUND, TEXT, "there is /metrics, /api/snapshot, /healthz\n")
        except BackendError as error:
            log.error("cannot look", extra={"error": str(error)})
            self.answer(HTTPStatus.SERVICE_UNAVAILABLE, TEXT, "Redis does not answer; see the exporter's log\n")

    def answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        """Send an answer."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the log for what matters: a scrape every few seconds does not."""
        log.debug(format, *args)
