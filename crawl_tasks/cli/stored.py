"""What the database holds, counted now and then beside a crawl, and never so often that it costs much."""

from __future__ import annotations

import time
from typing import Self

from crawl_tasks.monitor.progress import Stored
from crawl_tasks.store.known import counts
from crawl_tasks.store.upsert import Store

LEAST_PAUSE_S = 1.0
SHARE = 20
"""Counting may take one part in so many of the time."""


class StoredCounts:
    """Counts posts and comments of some sites. Opening it creates the tables, so that a bad database is told early."""

    def __init__(self, database_url: str, sites: list[str]) -> None:
        self._store = Store(database_url).open()
        self._sites = set(sites)
        self._last = Stored(0, 0)
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def now(self) -> Stored:
        """Count."""
        rows = [row for row in counts(self._store) if row.site in self._sites]
        return Stored(sum(row.fetched_posts for row in rows), sum(row.comments for row in rows))

    def lately(self) -> Stored:
        """Give a recent count."""
        started = time.monotonic()
        if started >= self._next:
            self._last = self.now()
            took = time.monotonic() - started
            self._next = started + max(LEAST_PAUSE_S, SHARE * took)
        return self._last
