"""The exporter's one look at the crawl: taken when somebody asks, at most every few seconds, shared by all who ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from crawl_tasks.monitor.snapshot import Snapshot

FRESH_S = 2.0


class Look:
    """Takes snapshots. Thread-safe; whoever asks while one is taken waits for it."""

    def __init__(self, take: Callable[[], Snapshot], fresh_s: float = FRESH_S) -> None:
        self._take = take
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._last: Snapshot | None = None
        self._until = 0.0

    def now(self) -> Snapshot:
        """Give a snapshot that is at most a few seconds old.

        Raises:
            BackendError: Redis does not answer.
        """
        with self._lock:
            if self._last is None or time.monotonic() >= self._until:
                self._last = self._take()
                self._until = time.monotonic() + self._fresh_s
            return self._last
