"""Redis' clock as this process reads its own, and how long this process takes until it sends.

As the network time protocol does (RFC 5905, 8): a reply was written between the asking and the answer, and halfway on a
path that takes as long there as back. Of all replies the one with the shortest round trip says it best. A path that
takes longer one way is off by half the difference, the same for all processes behind it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

BURST = 6
"""Looks at the clock before the first turn. The first one opens a connection as well."""

DRIFT = 1e-4
"""Seconds by which two clocks may part in a second: five times what quartz does, so that an estimate is renewed."""

MOST_S = 0.25
"""What a process says of itself at most. What takes longer now and then is no habit."""


class Expectile:
    """A running estimate above most of its samples: each pulls it up by one share of the way, or down by another."""

    def __init__(self, up: float, down: float) -> None:
        self._up, self._down = up, down
        self.value = 0.0

    def note(self, sample: float) -> None:
        """Heed a sample."""
        away = min(sample, MOST_S) - self.value
        self.value += away * (self._up if away > 0 else self._down)


class GateClock:
    """What a process must know to keep a turn that begins at an instant of Redis' clock. Thread-safe.

    Samples of several threads may overwrite one another: each is as good as the next.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Seconds by which Redis is ahead, how wrong that may be, and when it was learned.
        self._estimate: tuple[float, float, float] | None = None
        # About 19 of 20 pages are ready in time, and 49 of 50 awake: a late one costs a script and a turn.
        self._ready = Expectile(0.2, 0.01)
        self._late = Expectile(0.5, 0.01)

    @property
    def ready_ms(self) -> int:
        """How long after a turn is given most requests are ready to be sent, in ms."""
        return int(self._ready.value * 1000) + 1

    @property
    def slack_ms(self) -> int:
        """How long after a turn's beginning most requests that were ready are sent, in ms."""
        return int(self._late.value * 1000) + 1

    def settle(self, read_us: Callable[[], int]) -> None:
        """Look at Redis' clock some times in a row, unless that was done."""
        if self._estimate is not None:
            return
        with self._lock:
            if self._estimate is not None:
                return
            samples = []
            for _ in range(BURST):
                asked_at = time.monotonic()
                redis_us = read_us()
                samples.append((time.monotonic() - asked_at, asked_at, redis_us))
            trip_s, asked_at, redis_us = min(samples)
            self._ready.value = min(trip_s, MOST_S)
            self.note(asked_at, asked_at + trip_s, redis_us)

    def note(self, asked_at: float, answered_at: float, redis_us: int) -> None:
        """Heed what Redis' clock said between two moments of `time.monotonic`."""
        doubt_s = (answered_at - asked_at) / 2
        ahead_s = redis_us / 1e6 - (asked_at + answered_at) / 2
        if self._estimate is not None:
            known_s, known_doubt_s, at = self._estimate
            known_doubt_s += DRIFT * (answered_at - at)
            # Farther apart than both may be wrong: one of the clocks was set, or another Redis answers.
            is_another = abs(ahead_s - known_s) > doubt_s + known_doubt_s
            if doubt_s > known_doubt_s and not is_another:
                return
        self._estimate = ahead_s, doubt_s, answered_at

    def local(self, redis_ms: float) -> float:
        """Translate an instant of Redis' clock to seconds of `time.monotonic`; `settle` comes first."""
        if self._estimate is None:
            raise RuntimeError("the gate's clock was not settled")
        return redis_ms / 1000 - self._estimate[0]

    def note_ready(self, seconds: float) -> None:
        """Heed how long after a turn was given its request was ready."""
        self._ready.note(seconds)

    def note_late(self, seconds: float) -> None:
        """Heed how long after a turn's beginning a request that was ready before was sent."""
        self._late.note(seconds)
