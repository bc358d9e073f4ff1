"""The fetcher: one attempt from request to page, redirects and robots.txt included, under one deadline."""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from crawl_tasks.errors import (
    AccessDenied,
    Challenged,
    FetchError,
    NoTurn,
    PageError,
    ServerError,
    SettingsError,
    SlowDown,
)
from crawl_tasks.fetch.address_guard import AddressGuard
from crawl_tasks.fetch.body import decode
from crawl_tasks.fetch.bot_walls import bot_wall_in
from crawl_tasks.fetch.fetch_policy import FetchPolicy, ReadFrom
from crawl_tasks.fetch.http_client import Client, Limits
from crawl_tasks.fetch.http_status import age_s, failure, moment
from crawl_tasks.fetch.login_fetch import Answer, LoginFetch
from crawl_tasks.fetch.login_sessions import LoginPolicy, Send, Session, Sessions
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.fetch.revalidation import NOT_MODIFIED, conditions
from crawl_tasks.fetch.robots import RobotsStore
from crawl_tasks.fetch.sender import Sender, Terms
from crawl_tasks.fetch.throttle import NO_THROTTLE, Clock, Throttle
from crawl_tasks.fetch.warc_records import RequestResponse
from crawl_tasks.fetch.web_archive import ClientRecords
from crawl_tasks.model import Fetched, HttpRequest, Request
from crawl_tasks.proxy import DIRECT, Proxy, read_proxy

if TYPE_CHECKING:
    from crawl_tasks.fetch.rendering import Rendering


def build_client(name: str, *, threads: int = 32, ca_file: str = "") -> Client:
    """Make the HTTP client of that name, `requests` or `curl`, for a process with so many fetching threads.

    Raises:
        SettingsError: there is no such client, or its package or the file of certificates to trust is missing.
    """
    if ca_file and not os.path.isfile(ca_file):
        raise SettingsError(f"CRAWL_CA_FILE: there is no file {ca_file}; name a PEM file, or leave it out")
    # A process uses one of the two, and each costs its start 15 to 45 ms.
    if name == "requests":
        from crawl_tasks.fetch.requests.client import RequestsClient  # noqa: PLC0415  # see above

        return RequestsClient(threads=threads, ca_file=ca_file or None)
    if name == "curl":
        try:
            from crawl_tasks.fetch.curl.client import CurlClient  # noqa: PLC0415  # see above
        except ImportError as error:
            raise SettingsError(f"the client `curl` needs pycurl: pip install 'crawl-tasks[curl]' ({error})") from error
        return CurlClient(ca_file=ca_file or None)
    raise SettingsError(f"there is no HTTP client {name!r}; set `requests` or `curl`")


def build_fetcher(
    name: str,
    *,
    threads: int = 32,
    ca_file: str = "",
    proxy: str = "",
    robots_store: RobotsStore | None = None,
    sessions: Sessions | None = None,
    is_sandboxed: bool = True,
) -> Fetcher:
    """Make a fetcher with the client `name` for so many `threads`. The other arguments are those of `Fetcher`.

    Raises:
        SettingsError: there is no such client or file, or the proxy is none.
    """
    through = read_proxy(proxy, "CRAWL_PROXY")
    client = build_client(name, threads=threads, ca_file=ca_file)
    return Fetcher(client, proxy=through, robots_store=robots_store, sessions=sessions, is_sandboxed=is_sandboxed)


class Fetcher:
    """Fetches pages. Thread-safe. One per process, made after any fork."""

    def __init__(
        self,
        client: Client,
        resolver: Resolver | None = None,
        proxy: Proxy = DIRECT,
        robots_store: RobotsStore | None = None,
        sessions: Sessions | None = None,
        *,
        is_sandboxed: bool = True,
    ) -> None:
        """Make a fetcher.

        Args:
            client: sends the requests.
            resolver: finds addresses (the system's if left out).
            proxy: for the sites that name none.
            robots_store: robots.txt files shared by all processes (each process has its own if left out).
            sessions: sessions of the sites behind a login (this process' own if left out).
            is_sandboxed: whether Chromium uses its own sandbox, where a page needs Chromium.
        """
        self._client = ClientRecords(client)
        self._sender = Sender(self._client, AddressGuard(resolver or Resolver(), proxy), robots_store)
        self.login_fetch = LoginFetch(sessions or Sessions(None, ""))
        self._guests: dict[str, Session] = {}
        self._is_sandboxed = is_sandboxed
        self._lock = threading.Lock()
        self._rendering: Rendering | None = None

    def fetch(
        self, request: Request, policy: FetchPolicy, validator: str = "", turn: Throttle = NO_THROTTLE
    ) -> Fetched:
        """Fetch one page: destination, robots.txt and send for every hop, then status and body.

        Args:
            request: the page.
            policy: of the site.
            validator: HTTP validator of the known page. A page that still has this validator comes unchanged, without a
                body.
            turn: throttle of the requests. Time spent there is not counted as the attempt's.

        Raises:
            FetchError: a subclass for each kind of failure, whose `fate` decides about the request.
        """
        clock = Clock(time.monotonic() + policy.deadline_s, turn)
        if policy.read_from is not None:
            return _page_of(self._read(request, policy, policy.read_from, clock))
        if policy.login is not None:
            return self._fetch_as_member(request, policy, policy.login, clock, validator)
        visitor = self._guests.setdefault(request.site, Session()) if policy.cookies else None
        return _page_of(self._visit(request, policy, clock, validator, visitor))

    def _fetch_as_member(
        self, request: Request, policy: FetchPolicy, login: LoginPolicy, clock: Clock, validator: str
    ) -> Fetched:
        def send(session: Session) -> Send:
            return lambda http: _page_of(self._exchange(request, policy, clock, http=http, session=session))

        def visit(session: Session) -> Answer:
            return self._visit(request, policy, clock, validator, session)

        return self.login_fetch.fetch(request, login, visit, send)

    def _visit(
        self, request: Request, policy: FetchPolicy, clock: Clock, validator: str, session: Session | None
    ) -> Answer:
        """Return a page and the error that its status means, drawn by the browser where the site file says so."""
        render = policy.render.get(request.stage)
        if render is None:
            return self._exchange(request, policy, clock, validator=validator, session=session)
        rendering = self._renderer()
        # Without the validator: the document may be an unchanged frame around new posts. A drawn page leaves none.
        page, error = self._exchange(
            request, policy, clock, validator=validator if render.reads else "", session=session
        )
        if render.reads and error is None and (page.is_unchanged or render.reads(request, page)):
            return page, None
        if error is None:

            def send(http: HttpRequest, policy: FetchPolicy, clock: Clock) -> Answer:
                return self._exchange(request, policy, clock, http=http, session=session)

            page = rendering.draw(page, request.site, render, policy, clock, send)
        return page, error

    def _renderer(self) -> Rendering:
        """Return the rendering of this process, made for the first page that is drawn.

        Raises:
            NoTurn: this process cannot draw pages.
        """
        # The browser's modules cost 30 ms and 10 MB, which most sites do without.
        from crawl_tasks.fetch.browser import Browser, missing  # noqa: PLC0415
        from crawl_tasks.fetch.rendering import Rendering  # noqa: PLC0415

        if lack := missing():
            raise NoTurn(f"this page waits for a worker of the queue render; this one cannot draw it: {lack}")
        with self._lock:
            self._rendering = self._rendering or Rendering(Browser(is_sandboxed=self._is_sandboxed))
            return self._rendering

    def _exchange(
        self,
        request: Request,
        policy: FetchPolicy,
        clock: Clock,
        *,
        http: HttpRequest | None = None,
        validator: str = "",
        session: Session | None = None,
    ) -> Answer:
        """Send the request for a page, or another one (`http`) on its behalf. Return the answer and its error."""
        began, waited_s = time.monotonic(), clock.turn.waited_s
        limits = Limits(policy.max_wire_bytes, policy.max_body_bytes)
        terms = Terms(request, policy, clock, limits, session)
        target, own = (request.address, policy.request_for(request)) if http is None else (http.url, http)
        url, raw = self._sender.follow(terms, target, own, conditions(validator))
        now = time.time()
        # The validator went to the first address only: behind a redirect a 304 answers a question that nobody asked.
        is_unchanged = raw.status == NOT_MODIFIED and validator != "" and url == request.address
        is_page = 200 <= raw.status < 300
        encoding = raw.headers.get("content-encoding", "")
        page = Fetched(
            url=url,
            status=raw.status,
            headers=raw.headers,
            body=decode(raw.wire, encoding, limits) if is_page else _lenient(raw.wire, encoding, limits),
            at_s=moment(raw.headers, now),
            elapsed_ms=int((time.monotonic() - began - clock.turn.waited_s + waited_s) * 1000),
            wire_bytes=len(raw.wire),
            is_unchanged=is_unchanged,
            age_s=age_s(raw.headers, now),
        )
        return _judged(page if http is not None else _seen(request, policy, page), now)

    def _read(self, request: Request, policy: FetchPolicy, read_from: ReadFrom, clock: Clock) -> Answer:
        """Read a page from elsewhere than the network, at the pace of the site and within its limits."""
        began, waited_s, now = time.monotonic(), clock.turn.waited_s, time.time()
        clock.turn.begin()
        clock.turn.confirm()
        clock.turn.sent(time.monotonic())
        body = read_from(request, clock, policy.max_body_bytes)
        took_s = time.monotonic() - began - clock.turn.waited_s + waited_s
        page = Fetched(request.address, 200, {}, body, now, int(took_s * 1000), len(body))
        return _judged(_seen(request, policy, page), now)

    def crawl_delay_s(self, url: str, policy: FetchPolicy) -> float | None:
        """Return the Crawl-delay of the address's robots.txt in seconds, as far as this process has read the file."""
        return self._sender.robots.crawl_delay_s(url, policy)

    def recording(self) -> AbstractContextManager[list[RequestResponse]]:
        """Record the requests and responses of this thread, redirects and robots.txt files too."""
        return self._client.recording()

    def screenshot(self, page: Fetched, site: str) -> bytes:
        """Return a picture (JPEG) of a page that this process has drawn, empty where there is none."""
        is_drawn = page.is_rendered and "html" in page.headers.get("content-type", "html")
        return self._rendering.screenshot(page, site) if is_drawn and self._rendering is not None else b""

    def close(self) -> None:
        """Close every connection, and the browser."""
        self._sender.close()
        if self._rendering is not None:
            self._rendering.close()


def _seen(request: Request, policy: FetchPolicy, page: Fetched) -> Fetched:
    return page if policy.on_response is None else policy.on_response(request, page)


def _judged(page: Fetched, now: float) -> Answer:
    error = None if page.is_unchanged else failure(page.url, page.status, page.headers, now)
    if error is not None:
        error = _wall_of(error, page)
        error.status, error.headers = page.status, page.headers
    return page, error


def _page_of(answer: Answer) -> Fetched:
    page, error = answer
    if error is not None:
        raise error
    return page


def _lenient(wire: bytes, encoding: str, limits: Limits) -> bytes:
    """Return the body of an error, which may be cut, as far as it can be read."""
    try:
        return decode(wire, encoding, limits)
    except FetchError:
        return b""


def _wall_of(error: PageError, page: Fetched) -> PageError:
    """Return the bot wall that a refusal really is: neither waiting nor a login would help there."""
    if not isinstance(error, (AccessDenied, ServerError, SlowDown)):
        return error
    wall = bot_wall_in(page.headers, page.body)
    return error if wall is None else Challenged(f"{page.url} answered {page.status} with a challenge ({wall})")
