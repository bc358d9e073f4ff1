"""Rendering: a fetched document drawn by the browser, and the requests of its scripts answered by our own client.

So address guard, allowed hosts, robots.txt, throttle, cookies, login and limits hold for them as for every request.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from crawl_tasks.errors import FetchError, ParseError
from crawl_tasks.fetch.browser import Browser
from crawl_tasks.fetch.browser_page import BrowserPage, PageAnswer, PageRequest
from crawl_tasks.fetch.browser_requests import KeptScripts, LostScripts, SlowRequests
from crawl_tasks.fetch.fetch_policy import FetchPolicy, RenderPolicy
from crawl_tasks.fetch.page_requests import Found, PageRequests, SendAs, browser_answer
from crawl_tasks.fetch.throttle import NO_THROTTLE, Clock, Throttle
from crawl_tasks.model import Fetched

PICTURE_S: Final = 5.0
MOST_PICTURE_BYTES: Final = 128 << 10
_UTF8_BOM = b"\xef\xbb\xbf"


class Rendering:
    """Draws documents in the browser of the process. Thread-safe."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._kept = KeptScripts()
        self._slow = SlowRequests()
        self._missing = LostScripts()

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
        requests = PageRequests(page, site, render, policy, clock, send, self._kept, self._slow, self._missing)
        try:
            drawn = BrowserPage(page.url, policy.user_agent, render, clock, policy.max_body_bytes)
            body = self._browser.draw(drawn, requests.answer)
            requests.note_others(drawn.count, drawn.frames)
        except Found:
            return requests.result(requests.awaited.headers, requests.awaited.body)
        if render.response:
            raise ParseError(f"{page.url} did not ask for {render.response!r}, which `render.response` names")
        # The mark outranks a charset of the site file: that one is of the pages as they come.
        return requests.result({**page.headers, "content-type": "text/html; charset=utf-8"}, _UTF8_BOM + body)

    def screenshot(self, page: Fetched, site: str) -> bytes:
        """Return a picture (JPEG) of a drawn document, empty for one that is large or cannot be drawn again.

        The document is the one that rules read, without the secrets of a login. Its scripts do not run, and nothing is
        asked for: style sheets are those that are kept.
        """

        def answer(ask: PageRequest, turn: Throttle) -> PageAnswer | None:
            return browser_answer(page) if ask.kind == "document" else self._kept.get(site, ask.url)

        clock = Clock(time.monotonic() + PICTURE_S, NO_THROTTLE)
        with suppress(FetchError):
            drawn = BrowserPage(page.url, "", RenderPolicy(), clock, MOST_PICTURE_BYTES, is_picture=True)
            picture = self._browser.draw(drawn, answer)
            return picture if len(picture) <= MOST_PICTURE_BYTES else b""
        return b""

    def close(self) -> None:
        """End the browser."""
        self._browser.close()
