"""Beside the flow: what an operator is told of a server that fails: its beginning, a count now and then, its end.

Not each page that it fails.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

COUNT_EVERY_S = 60.0


class Outage:
    """The times at which one server is away, in the log of one process. Thread-safe."""

    def __init__(self, log: logging.Logger, what: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a server that works.

        Args:
            log: where to tell.
            what: the line that says what fails and what follows from it.
            clock: gives seconds.
        """
        self._log = log
        self._what = what
        self._clock = clock
        self._lock = threading.Lock()
        self._began: float | None = None
        self._count_at = 0.0
        self._failures = 0

    def fail(self, error: Exception) -> None:
        """Note one more failure: the first is told at once, further ones by their number, once a minute."""
        with self._lock:
            now = self._clock()
            self._failures += 1
            if self._began is None:
                self._began, said = now, {"error": str(error)}
            elif now >= self._count_at:
                said = {"error": str(error), "failures": str(self._failures), "for_s": f"{now - self._began:.0f}"}
            else:
                return
            self._count_at = now + COUNT_EVERY_S
        self._log.error(self._what, extra=said)

    def end(self) -> None:
        """Note that the server did its part; where it had failed, say for how long."""
        if self._began is None:
            return
        with self._lock:
            if self._began is None:
                return
            lasted, failures = self._clock() - self._began, self._failures
            self._began, self._failures = None, 0
        self._log.warning("works again", extra={"after_s": f"{lasted:.1f}", "failures": failures, "what": self._what})


__all__ = ["COUNT_EVERY_S", "Outage"]
