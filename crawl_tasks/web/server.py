"""The pages and forms of the exporter, by path."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from http import HTTPStatus
from typing import Self
from urllib.parse import parse_qs

from crawl_tasks.errors import BackendError, ConfigError, StoreError
from crawl_tasks.model import State
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.report import site_detail, snapshot_row
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.web.actions import Actions, FailedFilter
from crawl_tasks.web.exposition import Writer
from crawl_tasks.web.failed_pages import failed_page, one_failed
from crawl_tasks.web.http_server import HttpAnswer, HttpRequest, WebServer
from crawl_tasks.web.item_pages import ItemPages, number_in
from crawl_tasks.web.layout import STYLE_SOURCE, WebUser, frame, login_page
from crawl_tasks.web.local_addresses import is_local_name, is_loopback
from crawl_tasks.web.login import AttemptLimit, Login
from crawl_tasks.web.metrics import FAMILIES
from crawl_tasks.web.overview import MOST_ROWS, REFRESH_S, overview
from crawl_tasks.web.site_page import site_page
from crawl_tasks.web.snapshot_cache import SnapshotCache

log = logging.getLogger(__name__)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
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


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
_BY_A_PROXY = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"})
"""Headers that proxies add, besides all that begin with X-Forwarded-."""
_BROKEN = HTTPStatus.INTERNAL_SERVER_ERROR


class ExporterServer(WebServer):
    """The server of status page and metrics. Commands are for operators who have logged in."""

    def __init__(
        self, address: tuple[str, int], snapshots: SnapshotCache, actions: Actions, login: Login, flower: str = "",
        hosts: Iterable[str] = (), items: ItemPages | None = None,
    ) -> None:  # fmt: skip
        super().__init__(address, self.answer)
        self.hosts = frozenset({address[0].lower(), *map(str.lower, hosts)})
        self.snapshots, self.actions, self.login, self.flower = snapshots, actions, login, flower
        self.writer = Writer(FAMILIES)
        # Stored texts may come from behind a login. Whoever can reach the machine sees numbers, and no text.
        self.items, self.is_private = items, is_loopback(address[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server_close()

    def serve(self) -> None:
        """Serve until interrupted, and keep the history in a thread meanwhile."""
        keeper = threading.Thread(target=self.snapshots.keep, name="history", daemon=True)
        keeper.start()
        try:
            self.serve_forever()
        finally:
            self.snapshots.stop()
            keeper.join(timeout=5)

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """Return the answer to a request."""
        try:
            answer = Visit(self, request).answer()
        except Exception:
            # The boundary of the server: one page that cannot be made must not leave its visitor without an answer.
            log.exception("a page was not shown")
            answer = HttpAnswer("this page could not be made; the exporter's log says why\n", TEXT, _BROKEN)
        return replace(answer, headers=(*SAFE.items(), *answer.headers))


class Visit:
    """One request, and the making of its answer."""

    def __init__(self, server: ExporterServer, request: HttpRequest) -> None:
        self.server = server
        self._request = request
        path, _, self._query = request.target.partition("?")
        self._path = path.partition("#")[0].strip("/").split("/")

    def answer(self) -> HttpAnswer:
        """Return the answer."""
        try:
            if not self._is_ours():
                return self._misdirected()
            match self._request.method:
                case "GET" | "HEAD":
                    return self._show()
                case "POST":
                    return self._act()
            allowed = (("Allow", "GET, HEAD, POST"),)
            return HttpAnswer("there is no such method here\n", TEXT, HTTPStatus.METHOD_NOT_ALLOWED, allowed)
        except ConfigError as error:
            return self._refusal(str(error), HTTPStatus.NOT_FOUND)
        except StoreError as error:
            return self._refusal(str(error), HTTPStatus.SERVICE_UNAVAILABLE)
        except BackendError as error:
            log.error("cannot look", extra={"error": str(error)})
            text = "Redis does not answer; is it running? The exporter's log says more."
            return self._refusal(text, HTTPStatus.SERVICE_UNAVAILABLE, REFRESH_S)

    def _is_ours(self) -> bool:
        """Return whether the browser asked for a host of ours, and no foreign name leads here (DNS rebinding).

        Addresses and names without a dot are nobody's domain.
        """
        return is_local_name(self._host) or self._host in self.server.hosts

    @property
    def _host(self) -> str:
        """The name in the Host header, with a dot where that is no name: nobody's domain has only one."""
        match = _HOST.fullmatch(self._request.headers.get("Host", ""))
        return match[1].strip("[]").lower().rstrip(".") if match else "."

    @property
    def _is_from_here(self) -> bool:
        """Whether a program of this machine asks, and no proxy for somebody elsewhere.

        A proxy says so by a header, speaks HTTP/1.0, or asks for a name of its own.
        """
        headers, version = self._request.headers, self._request.version
        names = {name.lower() for name in headers}
        is_forwarded = any(name.startswith("x-forwarded-") for name in names) or not _BY_A_PROXY.isdisjoint(names)
        return self.server.is_private and is_loopback(self._host) and not is_forwarded and version != "HTTP/1.0"

    def _misdirected(self) -> HttpAnswer:
        return HttpAnswer(
            "this page does not answer to that host name; if the name is yours, set CRAWL_WEB_HOSTS to it\n",
            TEXT,
            HTTPStatus.MISDIRECTED_REQUEST,
        )

    def _refusal(self, text: str, status: HTTPStatus, refresh_s: int = 0) -> HttpAnswer:
        """Return an error: for programs a line, for people a page, which reloads by itself after `refresh_s`."""
        # Only these two paths are pages for people. Metrics, API and health check are for programs.
        if self._path[0] not in ("", "site", "posts"):
            return HttpAnswer(f"{text}\n", TEXT, status)
        body = f'<p class="said bad">{escape(gettext(text))}</p><p><a href="/">{gettext("All sites")}</a></p>'
        return HttpAnswer(frame("(!) crawl_tasks", body, self._user(), refresh_s), status=status)

    # -- pages -------------------------------------------------------------------------------------------

    def _show(self) -> HttpAnswer:
        snapshots = self.server.snapshots
        match self._path:
            case [""]:
                rows = ALL_ROWS if "all" in parse_qs(self._query) else MOST_ROWS
                return HttpAnswer(overview(snapshots.now(), snapshots.history, self._user(), rows))
            case ["site", name]:
                return self._site(name)
            case ["site", name, "failed"]:
                return self._failed(name, _fields(self._query))
            case ["site", name, "failed", rid]:
                return self._one_failed(name, rid)
            case ["posts", *path]:
                return self._items(path, _fields(self._query))
            case ["metrics"]:
                return HttpAnswer(self.server.writer.write(snapshots.now()), TEXT)
            case ["api", "snapshot"]:
                return HttpAnswer(json.dumps(snapshot_row(snapshots.now()), ensure_ascii=False), JSON)
            case ["api", "site", name]:
                return self._site_json(name)
            case ["healthz"]:
                halted = snapshots.now().health.halted
                text = f"halted: {halted}" if halted else "ok"
                return HttpAnswer(f"{text}\n", TEXT)
            case ["login"]:
                return HttpAnswer(login_page(self._user()))
        return self._missing()

    def _missing(self) -> HttpAnswer:
        body = f'<p>{gettext("There is no such page.")} <a href="/">{gettext("All sites")}</a></p>'
        return HttpAnswer(frame(gettext("not found"), body, self._user()), status=HTTPStatus.NOT_FOUND)

    def _items(self, path: list[str], query: dict[str, str]) -> HttpAnswer:
        server, user = self.server, self._user()
        if not (user.is_in or (self._is_from_here and not user.may_log_in)):
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
        if self._path == ["login"]:
            try:
                cookie = login.enter(form.get("password", ""), is_secure=self._is_by_https)
            except AttemptLimit as error:
                return self._refusal(str(error), HTTPStatus.TOO_MANY_REQUESTS)
            if cookie is None:
                return HttpAnswer(login_page(self._user(), is_wrong=True), status=HTTPStatus.FORBIDDEN)
            return self._see("/", cookie)
        # Every form but the login needs session and token: SameSite cookies alone do not stop forms of a sister domain.
        session = login.session(self._request.headers.get("Cookie", ""))
        if session is None or not login.is_token(session, form.get("token", "")):
            text = gettext("Nothing was changed: the session is over. {log_in}, then try again.",
                           log_in=f'<a href="/login">{gettext("Log in")}</a>')  # fmt: skip
            body = f"<p>{text}</p>"
            return HttpAnswer(frame(gettext("log in first"), body, self._user()), status=HTTPStatus.FORBIDDEN)
        match self._path:
            case ["logout"]:
                return self._see("/", login.leave(session))
            case ["site", name, verb]:
                self.server.actions.do(verb, name, form.get("rid", ""), form.get("why", ""))
                self.server.snapshots.forget()
                return self._see(f"/site/{name}")
        return HttpAnswer("there is no such action\n", TEXT, HTTPStatus.NOT_FOUND)

    def _form(self) -> dict[str, str]:
        fields = parse_qs(self._request.body.decode("utf-8", "replace"))
        return {name: values[0] for name, values in fields.items()}

    @property
    def _is_by_https(self) -> bool:
        """Whether a proxy says that the browser came by TLS. Who lies there gets a cookie that does not come back."""
        return self._request.headers.get("X-Forwarded-Proto", "").partition(",")[0].strip().lower() == "https"

    def _user(self) -> WebUser:
        login = self.server.login
        session = login.session(self._request.headers.get("Cookie", ""))
        token = login.token(session) if session else ""
        return WebUser(login.is_possible, session is not None, token, self.server.flower)

    # -- responses ---------------------------------------------------------------------------------------

    @staticmethod
    def _see(path: str, cookie: str = "") -> HttpAnswer:
        headers = (("Location", path), *([("Set-Cookie", cookie)] if cookie else []))
        return HttpAnswer("", TEXT, HTTPStatus.SEE_OTHER, headers)


def _fields(text: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(text).items()}
