"""The cache of the latest snapshot: shared by all requests to the exporter, with the history of the last hour."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from crawl_tasks.errors import CrawlError
from crawl_tasks.frontier.admin.history_store import HistoryStore
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.snapshot import Snapshot

log = logging.getLogger(__name__)

FRESH_S = 2.0
LOOK_EVERY_S = 20.0
"""Time between two snapshots for the history, in seconds. Scrapes at shorter intervals make them unnecessary."""


class SnapshotCache:
    """The cache of one exporter. Thread-safe. Callers wait while a snapshot is being taken, and share the result."""

    def __init__(
        self, take: Callable[[], Snapshot], fresh_s: float = FRESH_S, charts: HistoryStore | None = None
    ) -> None:
        """Make a cache, with the readings that other exporters left in `charts`, where `keep` leaves readings too."""
        self._take = take
        self._fresh_s = fresh_s
        self._charts = charts or HistoryStore()
        self._lock = threading.Lock()
        self._last: Snapshot | None = None
        self._taken_at = 0.0
        self._stop = threading.Event()
        self.history = History()
        self.history.restore(self._charts.kept())

    def now(self, at_most_s: float | None = None) -> Snapshot:
        """Return a snapshot of at most this age in seconds, two by default.

        Raises:
            BackendError: Redis does not answer.
        """
        # Taken with the lock held: two browsers and a Prometheus that come together cost Redis one snapshot.
        with self._lock:
            allowed_s = self._fresh_s if at_most_s is None else at_most_s
            if self._last is None or time.monotonic() - self._taken_at >= allowed_s:
                self._last = self._take()
                self._taken_at = time.monotonic()
                self.history.note(self._last)
            return self._last

    def forget(self) -> None:
        """Drop the snapshot, so that the next caller sees the result of an action."""
        with self._lock:
            self._last = None

    def keep(self) -> None:
        """Take a snapshot every LOOK_EVERY_S for the history, until `stop`."""
        while not self._stop.wait(LOOK_EVERY_S if self._last else 0.0):
            try:
                # A scrape within the last half of the time has filled the history already.
                self.now(LOOK_EVERY_S / 2)
                with self._lock:
                    reading = self.history.packed()
                self._charts.keep(reading)
            except CrawlError as error:
                log.error("cannot look", extra={"error": str(error)})
                self._stop.wait(LOOK_EVERY_S)

    def stop(self) -> None:
        """End `keep`."""
        self._stop.set()
