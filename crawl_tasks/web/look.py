"""The exporter's one look at the crawl: shared by all who ask, remembered for an hour."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from crawl_tasks.errors import CrawlError
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.snapshot import Snapshot

log = logging.getLogger(__name__)

FRESH_S = 2.0
LOOK_EVERY_S = 20.0
"""For the history. A Prometheus that asks more often spares us this."""


class Look:
    """Takes snapshots. Thread-safe; whoever asks while one is taken waits for it."""

    def __init__(self, take: Callable[[], Snapshot], fresh_s: float = FRESH_S) -> None:
        self._take = take
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._last: Snapshot | None = None
        self._taken_at = 0.0
        self._stop = threading.Event()
        self.history = History()

    def now(self, at_most_s: float | None = None) -> Snapshot:
        """Give a snapshot that is at most so old, a few seconds by default.

        Raises:
            BackendError: Redis does not answer.
        """
        with self._lock:
            allowed_s = self._fresh_s if at_most_s is None else at_most_s
            if self._last is None or time.monotonic() - self._taken_at >= allowed_s:
                self._last = self._take()
                self._taken_at = time.monotonic()
                self.history.note(self._last)
            return self._last

    def forget(self) -> None:
        """Let the next who asks see what an action has just changed."""
        with self._lock:
            self._last = None

    def keep(self) -> None:
        """Look now and then, for the history, until `stop`."""
        while not self._stop.wait(LOOK_EVERY_S if self._last else 0.0):
            try:
                self.now(LOOK_EVERY_S / 2)
            except CrawlError as error:
                log.error("cannot look", extra={"error": str(error)})
                self._stop.wait(LOOK_EVERY_S)

    def stop(self) -> None:
        """End `keep`."""
        self._stop.set()
