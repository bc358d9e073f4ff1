"""The counts of stored posts and comments during a crawl, read so seldom that counting costs little."""

from __future__ import annotations

import time
from typing import Self

from crawl_tasks.monitor.snapshot import Stored
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.queries import counts
from crawl_tasks.store.thread_counts import ThreadCount
from crawl_tasks.store.upsert import Store

COUNT_PAUSE_S = 1.0
COUNT_SHARE = 20
"""The inverse share of time that counting may take: one part in twenty."""


class StoredCounts:
    """The counts of stored posts and comments of some sites, read so seldom that counting costs little."""

    def __init__(self, database_url: str, sites: list[str]) -> None:
        # `open` creates the tables: a database that cannot be used ends the command before any process starts.
        self._store = Store(database_url).open()
        self._sites = set(sites)
        self._last = Stored(0, 0)
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def now(self) -> Stored:
        """Return a count of this moment."""
        rows = [row for row in counts(self._store) if row.site in self._sites]
        return Stored(sum(row.fetched_posts for row in rows), sum(row.comments for row in rows))

    def short_threads(self, site: Site) -> list[ThreadCount]:
        """Return the threads with fewer replies than their lists count, the worst first."""
        counted = self._store.thread_counts(site.name, rules=site.count_rules)
        return sorted((thread for thread in counted if thread.is_short), key=lambda row: row.stored - row.listed)

    def lately(self) -> Stored:
        """Return a recent count."""
        started = time.monotonic()
        if started >= self._next:
            self._last = self.now()
            # Counting takes longer as the database grows, so the pause is a multiple of the last count.
            took = time.monotonic() - started
            self._next = started + max(COUNT_PAUSE_S, COUNT_SHARE * took)
        return self._last
