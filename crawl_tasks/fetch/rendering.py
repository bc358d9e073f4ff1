"""Rendering: a fetched document drawn by the browser, and the requests of its scripts answered by our own client.

So address guard, allowed hosts, robots.txt, throttle, cookies, login and limits hold for them as for every request.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from crawl_tasks.errors import (
    DeadlineExceeded,
    Fate,
    FetchError,
    NoTurn,
    PageError,
    ParseError,
    SlowDown,
    TooLarge,
)
from crawl_tasks.fetch.browser import Browser
from crawl_tasks.fetch.browser_page import HELD, MOST_REQUESTS, BrowserPage, PageAnswer, PageRequest
from crawl_tasks.fetch.browser_requests import KeptScripts, SlowRequests, is_long_poll
from crawl_tasks.fetch.fetch_policy import FetchPolicy, RenderPolicy
from crawl_tasks.fetch.throttle import NO_THROTTLE, Clock
from crawl_tasks.model import Fetched, HttpRequest
from crawl_tasks.urls import normalize, origin_of

log = logging.getLogger(__name__)

SendAs = Callable[[HttpRequest, FetchPolicy, Clock], tuple[Fetched, PageError | None]]
"""Sends a request on behalf of a page, and returns the answer with the error that its status means."""

MOST_POSTED: Final = 256 << 10
ANSWER_S: Final = 10.0
"""Seconds for one answer. A server that holds a request until there is news (long polling) must not hold the page."""
PICTURE_S: Final = 5.0
MOST_PICTURE_BYTES: Final = 128 << 10
_KEPT_KINDS = frozenset({"script", "stylesheet"})
_PARTS = frozenset({"script", "xhr", "fetch"})
"""The kinds of requests without which a page may be a part."""
_MOST_GAPS = 5
_SERVER_FAILED = 500
_DENIALS = (401, 403, 404)

# Cookies and the like are the matter of our own client, and the client has undone the content encoding.
_NOT_SENT = frozenset({"host", "connection", "content-length", "cookie", "user-agent", "accept-encoding"})
_NOT_SHOWN = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "set-cookie"})
_UTF8_BOM = b"\xef\xbb\xbf"


class _Found(Exception):
    """The answer that the site file wants as the document has come."""


class Rendering:
    """Draws documents in the browser of the process. Thread-safe."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._kept = KeptScripts()
        self._slow = SlowRequests()

    def draw(
        self, page: Fetched, site: str, render: RenderPolicy, policy: FetchPolicy, clock: Clock, send: SendAs
    ) -> Fetched:
        """Return a page with the document that its scripts make of it, or with the answer that the site file names.

        Args:
            page: as fetched. One that is no HTML comes back as it is.
            site: that keeps its scripts apart from those of others.
            render: the site's rules for the stage.
            policy: of the site.
            clock: of the attempt.
            send: sends the requests of the page.

        Raises:
            FetchError: the page could not be drawn, or the site refuses requests for now.
            ParseError: the page did not ask for what the site file names.
        """
        if "html" not in page.headers.get("content-type", "html"):
            return page
        requests = _PageRequests(page, site, render, policy, clock, send, self._kept, self._slow)
        try:
            drawn = BrowserPage(page.url, policy.user_agent, render, clock, policy.max_body_bytes)
            body = self._browser.draw(drawn, requests.answer)
            requests.note_refused(drawn.count - MOST_REQUESTS)
        except _Found:
            return requests.result(requests.found.headers, requests.found.body)
        if render.response:
            raise ParseError(f"{page.url} did not ask for {render.response!r}, which `render.response` names")
        # The mark outranks a charset of the site file: that one is of the pages as they come.
        return requests.result({**page.headers, "content-type": "text/html; charset=utf-8"}, _UTF8_BOM + body)

    def screenshot(self, page: Fetched, site: str) -> bytes:
        """Return a picture (JPEG) of a drawn document, empty for one that is large or cannot be drawn again.

        The document is the one that rules read, without the secrets of a login. Its scripts do not run, and nothing is
        asked for: style sheets are those that are kept.
        """

        def answer(ask: PageRequest) -> PageAnswer | None:
            return _shown(page) if ask.kind == "document" else self._kept.get(site, ask.url)

        clock = Clock(time.monotonic() + PICTURE_S, NO_THROTTLE)
        with suppress(FetchError):
            drawn = BrowserPage(page.url, "", RenderPolicy(), clock, MOST_PICTURE_BYTES, is_picture=True)
            picture = self._browser.draw(drawn, answer)
            return picture if len(picture) <= MOST_PICTURE_BYTES else b""
        return b""

    def close(self) -> None:
        """End the browser."""
        self._browser.close()


class _PageRequests:
    """The requests of one page, answered one after the other in the thread of the page."""

    def __init__(
        self,
        page: Fetched,
        site: str,
        render: RenderPolicy,
        policy: FetchPolicy,
        clock: Clock,
        send: SendAs,
        kept: KeptScripts,
        slow: SlowRequests,
    ) -> None:
        self._page, self._site, self._render, self._policy = page, site, render, policy
        self._clock, self._send, self._kept, self._slow = clock, send, kept, slow
        self._documents = 0
        self._gaps: dict[str, None] = {}
        self._was_denied = False
        self._wire_bytes, self._slowest_ms, self._url = page.wire_bytes, page.elapsed_ms, page.url
        self.found = page

    def result(self, headers: Mapping[str, str], body: bytes) -> Fetched:
        """Return the page with another body, and with what all its requests cost."""
        return self._page._replace(
            url=self._url, headers=headers, body=body, wire_bytes=self._wire_bytes, elapsed_ms=self._slowest_ms,
            is_rendered=True, gaps=tuple(self._gaps), was_denied=self._was_denied,
        )  # fmt: skip

    def note_refused(self, count: int) -> None:
        """Note that the page asked for more than is answered."""
        if count > 0:
            self._gaps[f"{count} requests beyond {MOST_REQUESTS} of the page were refused"] = None

    def answer(self, ask: PageRequest) -> PageAnswer | None:
        """Return the answer to a request, None for one that is refused."""
        if ask.kind == "document":
            self._documents += 1
            if self._documents == 1:
                return _shown(self._page)
        kept = self._kept.get(self._site, ask.url) if ask.kind in _KEPT_KINDS else None
        if kept is not None:
            return kept
        if self._documents > self._policy.max_redirects + 1:
            return None
        try:
            return self._sent(ask)
        except (SlowDown, NoTurn):
            raise
        except FetchError as error:
            log.debug("request of a page refused", extra={"asked": ask.url[:200], "reason": str(error)[:200]})
            # What we do not ask for is no part that lacks: the page is the same for each visitor of ours.
            is_part = error.fate is Fate.RETRY or isinstance(error, TooLarge)
            if is_part and not (isinstance(error, DeadlineExceeded) and is_long_poll(ask.url)):
                self._note_gap(ask, error.reason)
            return None

    def _sent(self, ask: PageRequest) -> PageAnswer | None:
        is_post = ask.method == "POST"
        if (not is_post and (ask.method != "GET" or ask.body)) or len(ask.body or b"") > MOST_POSTED:
            return None
        url = normalize(ask.url)
        origin = origin_of(url)
        # What the script says goes to the origin that the script asks, and the site's own headers where they may.
        own = self._policy.headers_for(origin, origin_of(self._page.url))
        headers = {name: value for name, value in ask.headers.items() if _is_sent(name, own)} | own
        http = HttpRequest(url, headers, (ask.body or b"") if is_post else None)
        if self._slow.is_held(self._site, url):
            if is_long_poll(url):
                return HELD
            self._note_gap(ask, "took too long on the pages before")
            return None
        page, error = self._answered(http, origin)
        if isinstance(error, SlowDown):
            raise error
        self._wire_bytes += page.wire_bytes
        self._slowest_ms = max(self._slowest_ms, page.elapsed_ms)
        if ask.kind == "document":
            self._url = page.url
        elif page.status >= _SERVER_FAILED or (ask.kind == "script" and error is not None):
            self._note_gap(ask, f"{page.status}")
        elif page.status in _DENIALS and origin == origin_of(self._page.url):
            self._was_denied = True
        if error is None and self._render.response and ask.kind in ("xhr", "fetch") and self._render.response in url:
            self.found = page
            raise _Found
        answer = _shown(page)
        if ask.kind in _KEPT_KINDS and self._policy.login is None:
            self._kept.keep(self._site, ask.url, answer)
        return answer

    def _answered(self, http: HttpRequest, origin: str) -> tuple[Fetched, PageError | None]:
        ends_at = time.monotonic() + ANSWER_S - self._clock.turn.waited_s
        clock = self._clock._replace(ends_at=min(self._clock.ends_at, ends_at))
        try:
            answer = self._send(http, replace(self._policy, origin=origin), clock)
        except DeadlineExceeded:
            # At the end of its own time a page may have cut off a quick answer.
            if ends_at < self._clock.ends_at:
                self._slow.note_slow(self._site, http.url)
            raise
        self._slow.note_answer(self._site, http.url)
        return answer

    def _note_gap(self, ask: PageRequest, reason: str) -> None:
        if ask.kind in _PARTS and len(self._gaps) < _MOST_GAPS:
            self._gaps[f"{ask.kind} {ask.url[:200]}: {reason}"] = None


def _shown(page: Fetched) -> PageAnswer:
    headers = {name: value for name, value in page.headers.items() if name not in _NOT_SHOWN}
    return PageAnswer(page.status, headers, page.body)


def _is_sent(name: str, own: Mapping[str, str]) -> bool:
    return not (name in _NOT_SENT or name.startswith((":", "sec-", "proxy-"))) and name not in map(str.lower, own)
