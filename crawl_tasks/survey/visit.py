"""Before step 1, survey: pages of a forum nobody knows yet, one after the other, each asked for once, few in all."""

from __future__ import annotations

import time
from collections.abc import Callable

from crawl_tasks.errors import FetchError
from crawl_tasks.fetch.download import Fetcher, FetchPolicy
from crawl_tasks.model import Fetched, Request, Stage

MOST_PAGES = 36
PUBLIC_PACE_S = 1.0


class Visitor:
    """Fetches through the crawl's own fetcher: robots.txt, address checks and limits hold here too."""

    def __init__(
        self,
        fetcher: Fetcher,
        policy: FetchPolicy,
        *,
        pace_s: float,
        most: int = MOST_PAGES,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Make a visitor; `pace_s` lies between two requests, a longer Crawl-delay of robots.txt is kept."""
        self._fetcher = fetcher
        self._policy = policy
        self._pace_s = pace_s
        self._most = most
        self._wait = wait
        self._seen: dict[str, Fetched | FetchError] = {}

    @property
    def asked(self) -> list[str]:
        """Every address that was asked for, in order."""
        return list(self._seen)

    def page(self, url: str) -> Fetched:
        """Give a page, which is fetched at most once.

        Raises:
            FetchError: it cannot be had, or would be one page too many.
        """
        known = self._seen.get(url)
        if known is None:
            known = self._seen[url] = self._ask(url)
        if isinstance(known, FetchError):
            raise known
        return known

    def crawl_delay_s(self, url: str) -> float | None:
        """Give the Crawl-delay of the address's robots.txt, once a page of it was fetched."""
        return self._fetcher.crawl_delay_s(url, self._policy)

    def _ask(self, url: str) -> Fetched | FetchError:
        if len(self._seen) >= self._most:
            raise FetchError(f"{url} would be request {self._most + 1}; a survey makes {self._most} at most")
        if self._seen:
            self._wait(max(self._pace_s, min(self.crawl_delay_s(url) or 0.0, 30.0)))
        try:
            return self._fetcher.fetch(Request("survey", Stage.LIST, "page", url), self._policy)
        except FetchError as error:
            return error
