"""The HTTP server of the exporter: its routes, pages and forms.

The server is the standard library's. A few requests a minute need no other, and tornado would add 0.1 s to every start.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from crawl_tasks.errors import BackendError, ConfigError, StoreError
from crawl_tasks.model import State
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.report import site_detail, snapshot_row
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.monitor.web.actions import Actions, FailedFilter
from crawl_tasks.monitor.web.exposition import Writer
from crawl_tasks.monitor.web.failed_pages import failed_page, one_failed
from crawl_tasks.monitor.web.item_pages import ItemPages, number_in
from crawl_tasks.monitor.web.layout import STYLE_SOURCE, WebUser, frame, login_page
from crawl_tasks.monitor.web.local_addresses import is_local_name, is_loopback
from crawl_tasks.monitor.web.login import Login
from crawl_tasks.monitor.web.metrics import FAMILIES
from crawl_tasks.monitor.web.overview import MOST_ROWS, REFRESH_S, overview
from crawl_tasks.monitor.web.site_page import site_page
from crawl_tasks.monitor.web.snapshot_cache import SnapshotCache

log = logging.getLogger(__name__)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
REQUEST_TIMEOUT_S = 10.0
MOST_FORM_BYTES = 4096
ALL_ROWS = 1_000_000
# Texts of foreign forums are shown on these pages. Even if one slipped through unescaped, a browser would run no script
# from it, load nothing, send no form elsewhere, and show no page inside a foreign one (clickjacking).
SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"default-src 'none'; style-src {STYLE_SOURCE}; img-src data:; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP response."""

    body: str
    kind: str = HTML
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


class ExporterServer(ThreadingHTTPServer):
    """The server of status page and metrics. Commands are for operators who have logged in."""

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], snapshots: SnapshotCache, actions: Actions, login: Login, flower: str = "",
        hosts: Iterable[str] = (), items: ItemPages | None = None,
    ) -> None:  # fmt: skip
        super().__init__(address, Handler)
        self.hosts = frozenset({address[0].lower(), *map(str.lower, hosts)})
        self.snapshots, self.actions, self.login, self.flower = snapshots, actions, login, flower
        self.writer = Writer(FAMILIES)
        # Stored texts may come from behind a login. Whoever can reach the machine sees numbers, and no text.
        self.items, self.is_private = items, is_loopback(address[0])

    def serve(self) -> None:
        """Serve until interrupted, and keep the history in a thread meanwhile."""
        keeper = threading.Thread(target=self.snapshots.keep, name="history", daemon=True)
        keeper.start()
        try:
            self.serve_forever()
        finally:
            self.snapshots.stop()
            keeper.join(timeout=5)

    def handle_error(self, request: object, client_address: object) -> None:
        """Log an error of a request."""
        error = sys.exception()
        # A browser that closes its connection before the end of the answer is no error of ours.
        if not isinstance(error, ConnectionError):
            log.error("a page was not shown", exc_info=error)


class Handler(BaseHTTPRequestHandler):
    """The handler of one connection."""

    server: ExporterServer
    # HTTP/1.1 keeps connections open between scrapes. A connection that sends nothing would hold its thread for ever
    # without the timeout.
    protocol_version = "HTTP/1.1"
    timeout = REQUEST_TIMEOUT_S

    def do_GET(self) -> None:
        """Answer a request for a page."""
        self._answer(self._show)

    def do_HEAD(self) -> None:
        """Answer a request for the headers of a page."""
        self._answer(self._show)

    def do_POST(self) -> None:
        """Answer a form."""
        self._answer(self._act)

    def _answer(self, make: Callable[[], HttpAnswer]) -> None:
        try:
            answer = make() if self._is_ours() else self._misdirected()
        except ConfigError as error:
            answer = self._refusal(str(error), HTTPStatus.NOT_FOUND)
        except StoreError as error:
            answer = self._refusal(str(error), HTTPStatus.SERVICE_UNAVAILABLE)
        except BackendError as error:
            log.error("cannot look", extra={"error": str(error)})
            text = "Redis does not answer; is it running? The exporter's log says more."
            answer = self._refusal(text, HTTPStatus.SERVICE_UNAVAILABLE, REFRESH_S)
        self._send(answer)

    def _is_ours(self) -> bool:
        """Return whether the browser asked for a host of ours, and no foreign name leads here (DNS rebinding).

        Addresses and names without a dot are nobody's domain.
        """
        name = (urlsplit(f"//{self.headers.get('Host', '')}").hostname or "").rstrip(".")
        return is_local_name(name) or name in self.server.hosts

    def _misdirected(self) -> HttpAnswer:
        self.close_connection = True
        return HttpAnswer(
            "this page does not answer to that host name; if the name is yours, set CRAWL_WEB_HOSTS to it\n",
            TEXT,
            HTTPStatus.MISDIRECTED_REQUEST,
        )

    def _refusal(self, text: str, status: HTTPStatus, refresh_s: int = 0) -> HttpAnswer:
        """Return an error: for programs a line, for people a page, which reloads by itself after `refresh_s`."""
        # Only these two paths are pages for people. Metrics, API and health check are for programs.
        if urlsplit(self.path).path.strip("/").split("/")[0] not in ("", "site", "posts"):
            return HttpAnswer(f"{text}\n", TEXT, status)
        body = f'<p class="said bad">{escape(gettext(text))}</p><p><a href="/">{gettext("All sites")}</a></p>'
        return HttpAnswer(frame("(!) crawl_tasks", body, self._user(), refresh_s), status=status)

    # -- pages -------------------------------------------------------------------------------------------

    def _show(self) -> HttpAnswer:
        url = urlsplit(self.path)
        snapshots = self.server.snapshots
        match url.path.strip("/").split("/"):
            case [""]:
                rows = ALL_ROWS if "all" in parse_qs(url.query) else MOST_ROWS
                return HttpAnswer(overview(snapshots.now(), snapshots.history, self._user(), rows))
            case ["site", name]:
                return self._site(name)
            case ["site", name, "failed"]:
                return self._failed(name, _query(url.query))
            case ["site", name, "failed", rid]:
                return self._one_failed(name, rid)
            case ["posts", *path]:
                return self._items(path, _query(url.query))
            case ["metrics"]:
                return HttpAnswer(self.server.writer.write(snapshots.now()), TEXT)
            case ["api", "snapshot"]:
                return HttpAnswer(json.dumps(snapshot_row(snapshots.now()), ensure_ascii=False), JSON)
            case ["api", "site", name]:
                return self._site_json(name)
            case ["healthz"]:
                snapshots.now()
                return HttpAnswer("ok\n", TEXT)
            case ["login"]:
                return HttpAnswer(login_page(self._user()))
        return self._missing()

    def _missing(self) -> HttpAnswer:
        body = f'<p>{gettext("There is no such page.")} <a href="/">{gettext("All sites")}</a></p>'
        return HttpAnswer(frame(gettext("not found"), body, self._user()), status=HTTPStatus.NOT_FOUND)

    def _items(self, path: list[str], query: dict[str, str]) -> HttpAnswer:
        server, user = self.server, self._user()
        if not (user.is_in or (server.is_private and not user.may_log_in)):
            text = "Stored texts are for who has logged in: set CRAWL_WEB_PASSWORD, then log in."
            return self._refusal(text, HTTPStatus.FORBIDDEN)
        page = server.items.page(path, query, user) if server.items is not None else None
        return self._missing() if page is None else HttpAnswer(page)

    def _site_json(self, name: str) -> HttpAnswer:
        actions = self.server.actions
        site = self._named(self.server.snapshots.now(), name)
        row = site_detail(site, actions.boards(name), actions.recent(name), actions.failed_requests(name))
        return HttpAnswer(json.dumps(row, ensure_ascii=False), JSON)

    def _named(self, snapshot: Snapshot, name: str) -> SiteSnapshot:
        site = next((site for site in snapshot.sites if site.name == name), None)
        if site is None:
            raise ConfigError(f"there is no site {name[:40]!r}; crawl-tasks sites check publishes site files")
        return site

    def _site(self, name: str) -> HttpAnswer:
        snapshots = self.server.snapshots
        snapshot = snapshots.now()
        site = self._named(snapshot, name)
        return HttpAnswer(site_page(site, snapshot, snapshots.history, self._user(), self.server.actions))

    def _failed(self, name: str, query: dict[str, str]) -> HttpAnswer:
        site = self._named(self.server.snapshots.now(), name)
        chosen = FailedFilter(
            State.PARKED if query.get("state") == State.PARKED.value else State.DEAD,
            query.get("reason", ""),
            query.get("words", ""),
            query.get("order", "newest"),
            max(1, number_in(query, "page", 1)),
        )
        return HttpAnswer(failed_page(site, self._user(), self.server.actions.failed_page(name, chosen), chosen))

    def _one_failed(self, name: str, rid: str) -> HttpAnswer:
        user = self._user()
        if not user.is_in:
            text = "Kept pages are for who has logged in: set CRAWL_WEB_PASSWORD, then log in."
            return self._refusal(text, HTTPStatus.FORBIDDEN)
        self._named(self.server.snapshots.now(), name)
        return HttpAnswer(one_failed(*self.server.actions.failed_request(name, rid), user))

    # -- forms -------------------------------------------------------------------------------------------

    def _act(self) -> HttpAnswer:
        form = self._form()
        login = self.server.login
        path = urlsplit(self.path).path.strip("/").split("/")
        if path == ["login"]:
            cookie = login.enter(form.get("password", ""))
            if cookie is None:
                return HttpAnswer(login_page(self._user(), is_wrong=True), status=HTTPStatus.FORBIDDEN)
            return self._see("/", cookie)
        # Every form but the login needs session and token: SameSite cookies alone do not stop forms of a sister domain.
        session = login.session(self.headers.get("Cookie", ""))
        if session is None or not login.is_token(session, form.get("token", "")):
            text = gettext("Nothing was changed: the session is over. {log_in}, then try again.",
                           log_in=f'<a href="/login">{gettext("Log in")}</a>')  # fmt: skip
            body = f"<p>{text}</p>"
            return HttpAnswer(frame(gettext("log in first"), body, self._user()), status=HTTPStatus.FORBIDDEN)
        match path:
            case ["logout"]:
                return self._see("/", login.leave())
            case ["site", name, verb]:
                self.server.actions.do(verb, name, form.get("rid", ""))
                self.server.snapshots.forget()
                return self._see(f"/site/{name}")
        return HttpAnswer("there is no such action\n", TEXT, HTTPStatus.NOT_FOUND)

    def _form(self) -> dict[str, str]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > MOST_FORM_BYTES:
            # The unread body would be taken for the next request of a kept connection.
            self.close_connection = True
            return {}
        fields = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"))
        return {name: values[0] for name, values in fields.items()}

    def _user(self) -> WebUser:
        login = self.server.login
        session = login.session(self.headers.get("Cookie", ""))
        token = login.token(session) if session else ""
        return WebUser(login.is_possible, session is not None, token, self.server.flower)

    # -- responses ---------------------------------------------------------------------------------------

    @staticmethod
    def _see(path: str, cookie: str = "") -> HttpAnswer:
        headers = (("Location", path), *([("Set-Cookie", cookie)] if cookie else []))
        return HttpAnswer("", TEXT, HTTPStatus.SEE_OTHER, headers)

    def _send(self, answer: HttpAnswer) -> None:
        body = answer.body.encode()
        self.send_response(answer.status)
        for name, value in (*SAFE.items(), *answer.headers):
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # The headers of HEAD are those of GET, without the body (RFC 9110 section 9.3.2).
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log a request at DEBUG: a scrape every few seconds would drown the rest."""
        log.debug(format, *args)


def _query(text: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(text).items()}
