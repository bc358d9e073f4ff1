"""The idle exit of a worker: the process ends when it had no page for a while and nothing is open anywhere."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable

from crawl_tasks.errors import CrawlError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.snapshot import take_snapshot

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0


class IdleExit:
    """The idle exit of one process. `end` asks the process to end, by default by TERM: its pages are finished."""

    def __init__(
        self,
        frontier: Frontier,
        after_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        end: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGTERM),
    ) -> None:
        self._frontier = frontier
        self._after_s = after_s
        self._clock = clock
        self._end = end
        self._last = clock()
        self._stop = threading.Event()

    def start(self) -> None:
        """Look once a second in a thread of its own, if an idle exit is set."""
        if self._after_s:
            self._last = self._clock()
            threading.Thread(target=self._run, name="idle-exit", daemon=True).start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()

    def note(self) -> None:
        """Note that the process has a page."""
        self._last = self._clock()

    def is_idle(self) -> bool:
        """Return whether the process had no page for long enough, with nothing open at any site that may run.

        Raises:
            BackendError: Redis fails.
        """
        if self._clock() - self._last < self._after_s:
            return False
        snapshot = take_snapshot(self._frontier)
        # A paused site keeps its requests, perhaps for weeks.
        return not snapshot.outbox and not any(site.counts.open for site in snapshot.sites if not site.is_paused)

    def _run(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            try:
                if self.is_idle():
                    log.info("idle, the worker ends", extra={"idle_s": self._after_s})
                    self._end()
                    return
            except CrawlError as error:
                log.debug("cannot look whether anything is open", extra={"error": str(error)})
