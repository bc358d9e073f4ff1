"""The watch over threads of which fewer replies are stored than their lists count, as the crawl goes on."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Protocol

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Items, Request
from crawl_tasks.model.reply_counts import CountRules

SETTLES_S = 5.0
"""Seconds after the last page of a thread at which its replies are counted."""

MOST_WRITTEN = 50_000
"""Threads that wait for their count. Each store task counts all that are due."""

log = logging.getLogger(__name__)


class ThreadCount(Protocol):
    """A thread with the replies that its list counts and those that are stored."""

    @property
    def post_id(self) -> str:
        """Return the id of the thread."""

    @property
    def is_short(self) -> bool:
        """Return whether fewer are stored than listed."""

    def __str__(self) -> str:
        """Return the numbers and the address."""

    def again(self, site: str, /) -> Request | None:
        """Return the request that reads it once more, None for one that was looked at twice."""


class CountThreads(Protocol):
    """The count of the replies of threads of a site."""

    def __call__(self, site: str, keys: Collection[str], rules: CountRules, /) -> Sequence[ThreadCount]:
        """Return the threads at rest. What is listed for one of which so many pages were read counts nothing."""


class ThreadWatch:
    """The watch of a storing worker over the threads that it writes. Used by one thread at a time.

    Which threads are short is in the ledger, for all workers. Each acknowledgement of pages tells it anew.
    """

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._written: dict[tuple[str, str], float] = {}
        """The threads and when they were written, the oldest first."""
        self._short: dict[str, frozenset[str]] = {}

    def note(self, batch: Iterable[Items], short: Mapping[str, frozenset[str]], now: float) -> None:
        """Remember the threads of some pages. A row of a list is news only of a thread that is short."""
        for items in batch:
            known = self._short[items.site] = short.get(items.site, frozenset())
            read = {post.post_id for post in items.posts if post.is_page}
            read |= {comment.post_id for comment in items.comments}
            for key in read:
                self._written.pop((items.site, key), None)
                self._written[items.site, key] = now
            # Where a board is scanned every few seconds, its rows must not put the count off for ever.
            for key in known & {post.post_id for post in items.posts}:
                self._written.setdefault((items.site, key), now)
        if (over := len(self._written) - MOST_WRITTEN) > 0:
            log.warning("threads are stored faster than their replies are counted", extra={"uncounted": over})
            for thread in list(self._written)[:over]:
                del self._written[thread]

    def look(self, count: CountThreads, texts: Mapping[str, str], now: float) -> None:
        """Count the replies of threads that were written a while ago, and note those that are short, or no more.

        `texts` are the published texts of the sites. Threads that cannot be counted now, or not noted, are kept.
        """
        due: dict[str, list[str]] = {}
        for (site, key), at in self._written.items():
            if at + SETTLES_S > now:
                break
            due.setdefault(site, []).append(key)
        for site, keys in due.items():
            # A note is not worth the pages, which are stored.
            with suppress(BackendError):
                rules = count_rules(texts.get(site, ""))
                if rules is not None:
                    self._note(site, count(site, keys, rules))
                for key in keys:
                    del self._written[site, key]

    def _note(self, site: str, threads: Sequence[ThreadCount]) -> None:
        """Note threads, of which new short ones are read again. One that is not at rest is not here, and stays so."""
        short = [thread for thread in threads if thread.is_short]
        known = self._short.get(site, frozenset())
        whole = [thread.post_id for thread in threads if thread.post_id in known and not thread.is_short]
        if short or whole:
            texts = {thread.post_id: str(thread) for thread in short}
            again = [request for thread in short if (request := thread.again(site))]
            self._frontier.sites.note_threads(site, {**texts, **dict.fromkeys(whole, "")}, again)


@lru_cache(maxsize=64)
def count_rules(text: str) -> CountRules | None:
    """Return what a published site says of reply counts, None where it reads no comments."""
    site = json.loads(text) if text else {}
    post, comment = site.get("post") or {}, site.get("comment") or {}
    if not (comment or post.get("comments") or post.get("parser")):
        return None
    return CountRules(comment.get("max_pages"), bool((site.get("list") or {}).get("counts_hidden")))
