"""A page in the browser: its requests answered from outside, and its document when the scripts are done."""

from __future__ import annotations

import asyncio
import json
import queue
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from crawl_tasks.errors import TooLarge
from crawl_tasks.fetch.fetch_policy import RenderPolicy
from crawl_tasks.fetch.throttle import Clock

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page, Request, Route

MOST_CLICKS: Final = 50
MOST_REQUESTS: Final = 200
"""The requests of one page that are answered. All others are refused."""
SETTLE_SHARE: Final = 0.75
"""The part of an attempt's time after which a page that still asks for things is taken as it stands."""
GIVE_UP_S: Final = 5.0
"""Seconds without a request after which a page is taken as it stands, without `wait_for` or with scripts at work.

The page of a thread that is gone may look otherwise, and some pages are animated without end.
"""
LOOK_EVERY_S: Final = 0.05
HELD_LOOK_S: Final = 0.5
BUSY_SHARE: Final = 0.5
"""The part of the time between two looks that a page works while its scripts are not done."""

# WebRTC sends UDP past every proxy. A second window could only ask for what the first may have.
REFUSALS: Final = """
for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport', 'SharedWorker'])
  delete window[name];
window.open = () => null;
"""
_IS_THERE = "document.querySelector(%s) !== null"
_SCROLL = "(scrollTo(0, document.documentElement.scrollHeight), document.documentElement.scrollHeight)"
_CLICK = """
(el => el && !el.disabled && el.getClientRects().length ? (el.click(), true) : false)(document.querySelector(%s))
"""
_TEXT = "(text => text.length > %d ? null : text)('<!DOCTYPE html>' + document.documentElement.outerHTML)"


class PageRequest(NamedTuple):
    """A request of a page. `kind` is Chromium's: document, script, stylesheet, xhr or fetch."""

    url: str
    method: str
    headers: Mapping[str, str]
    body: bytes | None
    kind: str


class PageAnswer(NamedTuple):
    """The answer to a request of a page, which Chromium gets as the server's."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class AskedRequest(NamedTuple):
    """A request of a page that waits for its answer."""

    request: PageRequest
    future: asyncio.Future[PageAnswer | None]


HELD: Final = PageAnswer(0, {}, b"")
"""The answer to long polling: none, until the page ends. A script that is refused would ask again at once."""

_KINDS = frozenset({"document", "script", "stylesheet", "xhr", "fetch"})


@dataclass(eq=False)
class BrowserPage:
    """A page at work, between its own thread and the thread of the browser."""

    url: str
    user_agent: str
    policy: RenderPolicy
    clock: Clock
    most_bytes: int
    is_picture: bool = False
    events: queue.SimpleQueue[object] = field(default_factory=queue.SimpleQueue)
    """For the thread of the page: requests of the page, None when its document is there, and what the pool adds."""
    waiting: set[asyncio.Future[PageAnswer | None]] = field(default_factory=set)
    count: int = 0
    frames: Counter[str] = field(default_factory=Counter)
    """The frames within the page that were refused, by host."""
    active_at: float = field(default_factory=time.monotonic)
    is_over: bool = False

    def touch(self) -> None:
        """Note that something happens on the page."""
        self.active_at = time.monotonic()

    def end(self) -> None:
        """Refuse the requests that wait for an answer, and all that come."""
        self.is_over = True
        for future in self.waiting:
            settle_future(future, None)

    async def reply(self, route: Route, page: Page) -> None:
        """Have the page's thread answer a request of its main frame, and refuse all others."""
        request, is_own = route.request, False
        # A frame within the page is not part of its document, so nothing of a frame is loaded. A request of another
        # window, or of a worker for all windows, has no frame, which is an error.
        with suppress(Exception):
            is_own = _kind(request) in _KINDS and request.frame == page.main_frame
        self.count += is_own
        if request.resource_type == "document" and not is_own:
            self.frames[urlsplit(request.url).netloc] += 1
        # A page may go away at any moment, and then there is nobody to answer.
        with suppress(Exception):
            if self.is_over or not is_own or self.count > MOST_REQUESTS:
                await route.abort("blockedbyclient")
                return
            answer = await self._answer(request)
            while answer is HELD and not self.is_over:
                await asyncio.sleep(HELD_LOOK_S)
            if answer is None or answer is HELD:
                # "aborted" leaves the document in its place where the page was about to leave.
                await route.abort("aborted")
            else:
                await route.fulfill(status=answer.status, headers=dict(answer.headers), body=answer.body)
            self.touch()

    async def _answer(self, request: Request) -> PageAnswer | None:
        future: asyncio.Future[PageAnswer | None] = asyncio.get_running_loop().create_future()
        self.waiting.add(future)
        try:
            headers, body = await request.all_headers(), request.post_data_buffer
            asked = PageRequest(request.url, request.method, headers, body, _kind(request))
            self.events.put(AskedRequest(asked, future))
            return await future
        finally:
            self.waiting.discard(future)
            self.touch()


def _kind(request: Request) -> str:
    """Return the kind of a request. The driver calls a preload of data `other`, which a later fetch then takes."""
    kind = request.resource_type
    if kind == "other" and request.headers.get("sec-fetch-dest", "empty") == "empty" and request.method == "GET":
        return "fetch"
    return kind


async def screenshot_of(page: BrowserPage, tab: Page) -> bytes:
    """Return a JPEG of the upper part of a page."""
    await tab.goto(page.url, wait_until="load", timeout=0)
    return await tab.screenshot(type="jpeg", quality=50)


async def document_of(page: BrowserPage, tab: Page, cdp: CDPSession) -> bytes:
    """Return the document of a page when it is complete by the rules of the site."""
    policy = page.policy
    document = _Document(page, cdp, (await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]["id"])
    await cdp.send("Performance.enable")
    await tab.goto(page.url, wait_until="commit", timeout=0)
    await document.settle()
    height = None
    for _ in range(policy.scroll):
        before, height = height, await document.evaluate(_SCROLL)
        if height == before:
            break
        await document.settle()
    for _ in range(MOST_CLICKS if policy.click_more else 0):
        if not await document.evaluate(_CLICK % json.dumps(policy.click_more)):
            break
        await document.settle()
    text = await document.evaluate(_TEXT % page.most_bytes)
    body = b"" if text is None else str(text).encode("utf-8", "replace")
    if text is None or len(body) > page.most_bytes:
        raise TooLarge(f"{page.url}: the drawn document has more than {page.most_bytes} bytes")
    return body


class _Document:
    """The document of a page in a tab, while scripts draw it."""

    def __init__(self, page: BrowserPage, cdp: CDPSession, frame: str) -> None:
        self._page, self._cdp, self._frame = page, cdp, frame
        self._spare_s = (1 - SETTLE_SHARE) * (page.clock.ends_at - time.monotonic())
        self._worked_s = 0.0

    async def evaluate(self, expression: str) -> Any:  # noqa: ANN401 (JSON of any shape)
        """Return the value of an expression of JavaScript."""
        # A world of its own: the page's scripts cannot change what is behind these names.
        world = await self._cdp.send("Page.createIsolatedWorld", {"frameId": self._frame, "worldName": "crawl"})
        terms = {"expression": expression, "contextId": world["executionContextId"], "returnByValue": True}
        return (await self._cdp.send("Runtime.evaluate", terms))["result"].get("value")

    async def settle(self) -> None:
        """Wait until the page is quiet and shows what the rules wait for, or until that is given up."""
        # Quiet is counted in looks that the page answered, not by the clock: on a busy machine the scripts had no turn
        # in the meantime. A look comes between two pieces of work, so the time that the page worked tells of them.
        page, quiet_s = self._page, self._page.policy.quiet_s
        looks, rests, active_at, looked_at = 0, 0, 0.0, time.monotonic()
        self._worked_s = 0.0
        while time.monotonic() < page.clock.deadline - self._spare_s:
            await asyncio.sleep(LOOK_EVERY_S)
            before_s, before = self._worked_s, looked_at
            is_there = await self._look()
            looked_at = time.monotonic()
            is_busy = self._worked_s - before_s > BUSY_SHARE * (looked_at - before)
            looks = 0 if page.waiting or page.active_at != active_at or is_there is None else looks + 1
            rests = 0 if is_busy or not looks else rests + 1
            active_at = page.active_at
            has_rest = is_there and rests * LOOK_EVERY_S >= quiet_s
            if has_rest or looks * LOOK_EVERY_S >= max(GIVE_UP_S, quiet_s):
                return

    async def _look(self) -> bool | None:
        """Note how long the page worked. Return whether what the rules wait for is there, None without an answer."""
        is_there = None
        with suppress(Exception):  # the document may be another in between
            is_there = await self.evaluate(_IS_THERE % json.dumps(self._page.policy.wait_for or "html"))
            metrics = (await self._cdp.send("Performance.getMetrics"))["metrics"]
            self._worked_s = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
        return is_there


def settle_future(future: asyncio.Future[PageAnswer | None], answer: PageAnswer | None) -> None:
    """Answer a waiting request, unless the page has ended meanwhile."""
    if not future.done():
        future.set_result(answer)
