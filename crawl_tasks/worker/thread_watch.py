"""The watch over threads of which far fewer replies are stored than their lists count, as the crawl goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Protocol

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Items

SETTLES_S = 5.0
"""Seconds after the last page of a thread at which its replies are counted."""

_AT_ONCE = 500
_MOST = 20_000


class ThreadCount(Protocol):
    """A thread with the replies that its list counts and those that are stored."""

    @property
    def post_id(self) -> str:
        """Return the id of the thread."""

    @property
    def is_short(self) -> bool:
        """Return whether far fewer are stored than listed."""

    def __str__(self) -> str:
        """Return the numbers and the address."""


CountThreads = Callable[[str, Collection[str]], Sequence[ThreadCount]]


class ThreadWatch:
    """The watch of a storing worker over the threads that it writes. Used by one thread at a time."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._written: dict[tuple[str, str], float] = {}
        self._short: set[tuple[str, str]] = set()

    def note(self, items: Items, now: float) -> None:
        """Remember the threads of a page. A row of a list is news only of a thread that was short."""
        keys = {post.post_id for post in items.posts if post.is_page or (items.site, post.post_id) in self._short}
        keys |= {comment.post_id for comment in items.comments}
        for key in keys:
            self._written.pop((items.site, key), None)
            if len(self._written) < _MOST:
                self._written[items.site, key] = now

    def look(self, count: CountThreads, texts: Mapping[str, str], now: float) -> None:
        """Count the replies of threads that were written a while ago, and note those that are short, or no more.

        `texts` are the published texts of the sites.
        """
        due: dict[str, list[str]] = {}
        for (site, key), at in list(self._written.items())[:_AT_ONCE]:
            if at + SETTLES_S <= now:
                due.setdefault(site, []).append(key)
                del self._written[site, key]
        for site, keys in due.items():
            if reads_comments(texts.get(site, "")):
                self._note(site, count(site, keys), keys)

    def _note(self, site: str, found: Iterable[ThreadCount], keys: Iterable[str]) -> None:
        short = {thread.post_id: str(thread) for thread in found if thread.is_short}
        whole = {key for key in keys if key not in short and (site, key) in self._short}
        if short or whole:
            self._short |= {(site, key) for key in short}
            self._short -= {(site, key) for key in whole}
            # A note is not worth the pages, which are stored.
            with suppress(BackendError):
                self._frontier.sites.note_threads(site, {**short, **dict.fromkeys(whole, "")})


@lru_cache(maxsize=64)
def reads_comments(text: str) -> bool:
    """Return whether a published site reads the replies of its threads."""
    site = json.loads(text) if text else {}
    post = site.get("post") or {}
    return bool(site.get("comment") or post.get("comments") or post.get("parser"))
