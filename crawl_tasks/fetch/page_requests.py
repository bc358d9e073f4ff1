"""The requests of a drawn page, answered by our own client: those that are sent, those that fail, and those refused."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from crawl_tasks.errors import (
    DeadlineExceeded,
    Fate,
    FetchError,
    Gone,
    NoTurn,
    PageError,
    RefusedAddress,
    RobotsRefused,
    SlowDown,
    TooLarge,
)
from crawl_tasks.fetch.browser_page import HELD, MOST_REQUESTS, PageAnswer, PageRequest
from crawl_tasks.fetch.browser_requests import KeptScripts, LostScripts, SlowRequests, is_long_poll
from crawl_tasks.fetch.fetch_policy import FetchPolicy, RenderPolicy
from crawl_tasks.fetch.throttle import Clock, Throttle
from crawl_tasks.model import Fetched, HttpRequest
from crawl_tasks.model.status_rules import statuses_of
from crawl_tasks.urls import normalize, origin_of

log = logging.getLogger(__name__)

SendAs = Callable[[HttpRequest, FetchPolicy, Clock], tuple[Fetched, PageError | None]]
"""Sends a request on behalf of a page, and returns the answer with the error that its status means."""

MOST_POSTED: Final = 256 << 10
ANSWER_S: Final = 10.0
"""Seconds for one answer. A server that holds a request until there is news (long polling) must not hold the page."""
_KEPT_KINDS = frozenset({"script", "stylesheet"})
_DATA = frozenset({"xhr", "fetch"})
_PARTS = _DATA | {"script"}
"""The kinds of requests without which a page may be a part."""
_MOST_GAPS = 5
_MOST_REFUSALS = 20
_SERVER_FAILED = 500
_DENIALS = (401, 403, 404)
_MISSING = statuses_of(Gone)

# These are the matter of our own client, and the client has undone the content encoding. The browser knows no cookie
# but those that scripts of the page have set.
_NOT_SENT = frozenset({"host", "connection", "content-length", "user-agent", "accept-encoding"})
_NOT_SHOWN = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "set-cookie"})


class Found(Exception):
    """The answer that the site file wants as the document has come."""


class PageRequests:
    """The requests of one page. Thread-safe."""

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
        missing: LostScripts,
    ) -> None:
        self._page, self._site, self._render, self._policy = page, site, render, policy
        self._clock, self._send, self._kept, self._slow, self._missing = clock, send, kept, slow, missing
        self._lock = threading.Lock()
        self._documents = 0
        self._gaps: dict[str, None] = {}
        self._refused = Counter[str]()
        self._slow_here: set[str] = set()
        self._was_denied = False
        self._wire_bytes, self._slowest_ms, self._url = page.wire_bytes, page.elapsed_ms, page.url
        self.awaited = page

    def result(self, headers: Mapping[str, str], body: bytes) -> Fetched:
        """Return the page with another body, and with what all its requests cost."""
        return self._page._replace(
            url=self._url, headers=headers, body=body, wire_bytes=self._wire_bytes, elapsed_ms=self._slowest_ms,
            is_rendered=True, gaps=tuple(self._gaps), was_denied=self._was_denied,
            refused=tuple(f"{text} ({count})" for text, count in self._refused.items()),
        )  # fmt: skip

    def note_others(self, count: int, frames: Mapping[str, int]) -> None:
        """Note the number of requests that the page asked for in all, and the hosts of its frames."""
        if count > MOST_REQUESTS:
            self._gaps[f"{count - MOST_REQUESTS} requests beyond {MOST_REQUESTS} of the page were refused"] = None
        for host, times in frames.items():
            self._refused[f"a frame of {host} was refused"] = times

    def answer(self, ask: PageRequest, turn: Throttle) -> PageAnswer | None:
        """Return the answer to a request, None for one that is refused."""
        if ask.kind == "document":
            with self._lock:
                self._documents += 1
            if self._documents == 1:
                return browser_answer(self._page)
        kept = self._kept.get(self._site, ask.url) if ask.kind in _KEPT_KINDS else None
        if kept is not None:
            return kept
        if self._documents > self._policy.max_redirects + 1:
            return None
        try:
            return self._sent(ask, turn)
        except (SlowDown, NoTurn):
            raise
        except FetchError as error:
            log.debug("request of a page refused", extra={"asked": ask.url[:200], "reason": str(error)[:200]})
            # What we do not ask for is no part that lacks: the page is the same for each visitor of ours.
            self._note_refusal(ask, error)
            is_part = error.fate is Fate.RETRY or isinstance(error, TooLarge)
            if is_part and not (isinstance(error, DeadlineExceeded) and is_long_poll(ask.url)):
                self._note_gap(ask, error.reason)
            return None

    def _sent(self, ask: PageRequest, turn: Throttle) -> PageAnswer | None:
        is_post = ask.method == "POST"
        if (not is_post and (ask.method != "GET" or ask.body)) or len(ask.body or b"") > MOST_POSTED:
            self._note_refusal(ask, None)
            return None
        url = normalize(ask.url)
        origin = origin_of(url)
        # What the script says goes to the origin that the script asks, and the site's own headers where they may.
        own = self._policy.headers_for(origin, origin_of(self._page.url))
        headers = {name: value for name, value in ask.headers.items() if _is_sent(name, own)} | own
        http = HttpRequest(url, headers, (ask.body or b"") if is_post else None)
        if self._slow.is_held(self._site, url):
            return self._held(ask, url)
        page, error = self._answered(http, origin, turn)
        if isinstance(error, SlowDown):
            raise error
        with self._lock:
            self._wire_bytes += page.wire_bytes
            self._slowest_ms = max(self._slowest_ms, page.elapsed_ms)
        self._note_status(ask, url, page, is_error=error is not None)
        if error is None and self._render.response and ask.kind in _DATA and self._render.response in url:
            self.awaited = page
            raise Found
        answer = browser_answer(page)
        if ask.kind in _KEPT_KINDS and self._policy.login is None:
            self._kept.keep(self._site, ask.url, answer)
        return answer

    def _note_status(self, ask: PageRequest, url: str, page: Fetched, *, is_error: bool) -> None:
        """Note what the status of an answer says of the whole page."""
        if ask.kind == "document":
            self._url = page.url
        elif ask.kind == "script":
            is_for_long = self._missing.note(self._site, url, is_missing=page.status in _MISSING)
            if is_error and not is_for_long:
                self._note_gap(ask, f"{page.status}")
        elif page.status >= _SERVER_FAILED:
            self._note_gap(ask, f"{page.status}")
        elif page.status in _DENIALS and ask.kind in _DATA and origin_of(url) == origin_of(self._page.url):
            self._was_denied = True

    def _held(self, ask: PageRequest, url: str) -> PageAnswer | None:
        """Return the answer to a request whose address took too long before."""
        is_poll = is_long_poll(url)
        if not is_poll:
            self._note_gap(ask, "took too long on the pages before")
        with self._lock:
            is_again = url in self._slow_here
            self._slow_here.add(url)
        # Refused at once, a script that polls would ask again without end.
        return HELD if is_poll or is_again else None

    def _answered(self, http: HttpRequest, origin: str, turn: Throttle) -> tuple[Fetched, PageError | None]:
        ends_at, page_ends_at = time.monotonic() + ANSWER_S, self._clock.deadline
        clock = Clock(min(ends_at, page_ends_at), turn)
        try:
            answer = self._send(http, replace(self._policy, origin=origin), clock)
        except DeadlineExceeded:
            # At the end of its own time a page may have cut off a quick answer.
            if ends_at < page_ends_at:
                self._slow.note_slow(self._site, http.url)
            raise
        self._slow.note_answer(self._site, http.url)
        return answer

    def _note_gap(self, ask: PageRequest, reason: str) -> None:
        with self._lock:
            if ask.kind in _PARTS and len(self._gaps) < _MOST_GAPS:
                self._gaps[f"{ask.kind} {ask.url[:200]}: {reason}"] = None

    def _note_refusal(self, ask: PageRequest, error: FetchError | None) -> None:
        """Note a request that we do not send: by its host, by robots.txt, or by its method."""
        place = urlsplit(ask.url)
        if isinstance(error, RobotsRefused):
            text = f"{ask.kind} {place.hostname}{place.path[:100]} was refused: robots.txt forbids it"
        elif isinstance(error, RefusedAddress):
            text = f"{ask.kind} of {place.netloc} was refused: it is not in `hosts`, or not public"
        elif error is None:
            text = f"{ask.method} {place.hostname}{place.path[:100]} was refused: only GET and POST of up to 256 KB go"
        else:
            return
        with self._lock:
            if text in self._refused or len(self._refused) < _MOST_REFUSALS:
                self._refused[text] += 1


def browser_answer(page: Fetched) -> PageAnswer:
    """Return an answer of our client as one for the browser."""
    headers = {name: value for name, value in page.headers.items() if name not in _NOT_SHOWN}
    return PageAnswer(page.status, headers, page.body)


def _is_sent(name: str, own: Mapping[str, str]) -> bool:
    return not (name in _NOT_SENT or name.startswith((":", "sec-", "proxy-"))) and name not in map(str.lower, own)
