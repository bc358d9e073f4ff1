"""The HTTP probe: pages of an unknown forum, one after the other, each requested once, few in all."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Self

from crawl_tasks.errors import FetchError
from crawl_tasks.fetch.fetch_policy import FetchPolicy, RenderPolicy
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.model import Fetched, Request, Stage

MOST_PAGES = 36
PUBLIC_PACE_S = 1.0


class HttpProbe:
    """Fetches through the crawl's own fetcher: robots.txt, address checks and limits hold here too."""

    def __init__(self, fetcher: Fetcher, policy: FetchPolicy, *, pace_s: float) -> None:
        """Make a probe. `pace_s` is the pause between two requests, unless robots.txt has a longer Crawl-delay."""
        self._fetcher = fetcher
        self._policy = policy
        self._pace_s = pace_s
        self._seen: dict[str, Fetched | FetchError] = {}

    @property
    def asked(self) -> list[str]:
        """Every requested address, in order."""
        return list(self._seen)

    def has(self, url: str) -> bool:
        """Return whether a page is here already, so that it costs no request."""
        return isinstance(self._seen.get(url), Fetched)

    def page(self, url: str) -> Fetched:
        """Return a page, which is fetched at most once.

        Raises:
            FetchError: the page cannot be fetched, or would be one too many.
        """
        known = self._seen.get(url)
        if known is None:
            known = self._seen[url] = self._ask(url)
        if isinstance(known, FetchError):
            raise known
        return known

    def drawing(self) -> Self:
        """Let a browser draw all pages from now on, and return this probe without the pages so far."""
        self._policy = replace(self._policy, render={Stage.LIST: RenderPolicy()})
        self._seen.clear()
        return self

    def crawl_delay_s(self, url: str) -> float | None:
        """Return the Crawl-delay of the address's robots.txt in seconds, after a first fetch from that host."""
        return self._fetcher.crawl_delay_s(url, self._policy)

    def _ask(self, url: str) -> Fetched | FetchError:
        if len(self._seen) >= MOST_PAGES:
            raise FetchError(f"{url} would be request {MOST_PAGES + 1}; a survey makes {MOST_PAGES} at most")
        if self._seen:
            # At most 30 s: a person waits while up to 36 pages are fetched.
            time.sleep(max(self._pace_s, min(self.crawl_delay_s(url) or 0.0, 30.0)))
        try:
            return self._fetcher.fetch(Request("survey", Stage.LIST, "page", url), self._policy)
        except FetchError as error:
            return error
