"""The exporter's HTTP server: which address shows or does what.

The standard library's: a few requests a minute, and tornado would add 0.1 s to every start.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.monitor.report import site_detail, snapshot_row
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot
from crawl_tasks.web.actions import Actions
from crawl_tasks.web.families import Writer
from crawl_tasks.web.layout import Visitor, frame, login_page
from crawl_tasks.web.login import Login
from crawl_tasks.web.look import Look
from crawl_tasks.web.metrics import FAMILIES
from crawl_tasks.web.overview import MOST_ROWS, REFRESH_S, overview
from crawl_tasks.web.site_page import site_page

log = logging.getLogger(__name__)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
REQUEST_TIMEOUT_S = 10.0
MOST_FORM_BYTES = 4096
ALL_ROWS = 1_000_000
SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back."""

    body: str
    kind: str = HTML
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


class WatchServer(ThreadingHTTPServer):
    """Serves what a look sees, and lets whoever is logged in act."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], look: Look, actions: Actions, login: Login, flower: str = "") -> None:
        super().__init__(address, Handler)
        self.look, self.actions, self.login, self.flower = look, actions, login, flower
        self.writer = Writer(FAMILIES)

    def serve(self) -> None:
        """Serve until interrupted, and keep the history meanwhile."""
        keeper = threading.Thread(target=self.look.keep, name="look", daemon=True)
        keeper.start()
        try:
            self.serve_forever()
        finally:
            self.look.stop()
            keeper.join(timeout=5)

    def handle_error(self, request: object, client_address: object) -> None:
        """Log what went wrong with a visitor; that one went away before the answer was read is no news."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            log.error("a page was not shown", exc_info=error)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: WatchServer
    protocol_version = "HTTP/1.1"
    timeout = REQUEST_TIMEOUT_S

    def do_GET(self) -> None:
        """Answer a request for a page."""
        self._answer(self._show)

    def do_HEAD(self) -> None:
        """Answer whoever only asks whether a page is there."""
        self._answer(self._show)

    def do_POST(self) -> None:
        """Answer a form."""
        self._answer(self._act)

    def _answer(self, make: Callable[[], Answer]) -> None:
        try:
            answer = make()
        except ConfigError as error:
            answer = self._refusal(str(error), HTTPStatus.NOT_FOUND)
        except BackendError as error:
            log.error("cannot look", extra={"error": str(error)})
            text = "Redis does not answer; is it running? The exporter's log says more."
            answer = self._refusal(text, HTTPStatus.SERVICE_UNAVAILABLE, REFRESH_S)
        self._send(answer)

    def _refusal(self, text: str, status: HTTPStatus, refresh_s: int = 0) -> Answer:
        """Give programs a line, and people a page, which looks again by itself if that may help."""
        if urlsplit(self.path).path.strip("/").split("/")[0] not in ("", "site"):
            return Answer(f"{text}\n", TEXT, status)
        body = f'<p class="said bad">{escape(text)}</p><p><a href="/">All sites</a></p>'
        return Answer(frame("(!) crawl_tasks", body, self._visitor(), refresh_s), status=status)

    # -- pages -------------------------------------------------------------------------------------------

    def _show(self) -> Answer:
        url = urlsplit(self.path)
        look = self.server.look
        match url.path.strip("/").split("/"):
            case [""]:
                rows = ALL_ROWS if "all" in parse_qs(url.query) else MOST_ROWS
                return Answer(overview(look.now(), look.history, self._visitor(), rows))
            case ["site", name]:
                return self._site(name)
            case ["metrics"]:
                return Answer(self.server.writer.write(look.now()), TEXT)
            case ["api", "snapshot"]:
                return Answer(json.dumps(snapshot_row(look.now()), ensure_ascii=False), JSON)
            case ["api", "site", name]:
                return self._site_json(name)
            case ["healthz"]:
                look.now()
                return Answer("ok\n", TEXT)
            case ["login"]:
                return Answer(login_page(self._visitor()))
        body = '<p>There is no such page. <a href="/">All sites</a></p>'
        return Answer(frame("not found", body, self._visitor()), status=HTTPStatus.NOT_FOUND)

    def _site_json(self, name: str) -> Answer:
        actions = self.server.actions
        site = self._named(self.server.look.now(), name)
        row = site_detail(site, actions.boards(name), actions.recent(name), actions.graves(name))
        return Answer(json.dumps(row, ensure_ascii=False), JSON)

    def _named(self, snapshot: Snapshot, name: str) -> SiteSnapshot:
        site = next((site for site in snapshot.sites if site.name == name), None)
        if site is None:
            raise ConfigError(f"there is no site {name[:40]!r}; crawl-tasks sites check publishes site files")
        return site

    def _site(self, name: str) -> Answer:
        look, actions = self.server.look, self.server.actions
        snapshot = look.now()
        site = self._named(snapshot, name)
        page = site_page(
            site,
            snapshot,
            look.history,
            self._visitor(),
            boards=actions.boards(name),
            recent=actions.recent(name),
            in_hand=actions.in_hand(name),
            graves=actions.graves(name),
        )
        return Answer(page)

    # -- forms -------------------------------------------------------------------------------------------

    def _act(self) -> Answer:
        form = self._form()
        login = self.server.login
        path = urlsplit(self.path).path.strip("/").split("/")
        if path == ["login"]:
            cookie = login.enter(form.get("password", ""))
            if cookie is None:
                return Answer(login_page(self._visitor(), is_wrong=True), status=HTTPStatus.FORBIDDEN)
            return self._see("/", cookie)
        session = login.session(self.headers.get("Cookie", ""))
        if session is None or not login.is_token(session, form.get("token", "")):
            body = '<p>Nothing was changed: the session is over. <a href="/login">Log in</a>, then try again.</p>'
            return Answer(frame("log in first", body, self._visitor()), status=HTTPStatus.FORBIDDEN)
        match path:
            case ["logout"]:
                return self._see("/", login.leave())
            case ["site", name, verb]:
                self.server.actions.do(verb, name)
                self.server.look.forget()
                return self._see(f"/site/{name}")
        return Answer("there is no such action\n", TEXT, HTTPStatus.NOT_FOUND)

    def _form(self) -> dict[str, str]:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MOST_FORM_BYTES:
            self.close_connection = True
            return {}
        fields = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"))
        return {name: values[0] for name, values in fields.items()}

    def _visitor(self) -> Visitor:
        login = self.server.login
        session = login.session(self.headers.get("Cookie", ""))
        token = login.token(session) if session else ""
        return Visitor(login.is_possible, session is not None, token, self.server.flower)

    # ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _see(path: str, cookie: str = "") -> Answer:
        headers = (("Location", path), *([("Set-Cookie", cookie)] if cookie else []))
        return Answer("", TEXT, HTTPStatus.SEE_OTHER, headers)

    def _send(self, answer: Answer) -> None:
        body = answer.body.encode()
        self.send_response(answer.status)
        for name, value in (*SAFE.items(), *answer.headers):
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the log for what matters: a scrape every few seconds does not."""
        log.debug(format, *args)
