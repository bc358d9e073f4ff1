"""The slot clock: the offset between Redis' clock and the local one, and this process' delays before sending.

The offset is found as in the network time protocol (RFC 5905, section 8). Redis wrote a reply between the sending of
the command and the arrival of the reply, halfway where the path takes as long there as back. The reply with the
shortest round trip is the most exact. On an asymmetric path the offset is wrong by half the difference, equally for all
processes behind the same path.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

BURST = 6
"""The number of looks at Redis' clock before the first slot. The first look opens a connection as well."""

DRIFT = 1e-4
"""The drift between two clocks, in seconds a second: five times that of quartz, so that an estimate is renewed."""

MOST_S = 0.25
"""The largest sample of a delay, in seconds. A rare longer one must not stretch all later slots."""


class Expectile:
    """A running expectile: each sample pulls the value up by one share of the difference, or down by a smaller one."""

    def __init__(self, up: float, down: float) -> None:
        self._up, self._down = up, down
        self.value = 0.0

    def note(self, sample: float) -> None:
        """Take a sample into the estimate."""
        away = min(sample, MOST_S) - self.value
        self.value += away * (self._up if away > 0 else self._down)


class SlotClock:
    """Redis' clock and this process' usual delays, so that a request hits a slot of Redis' clock. Thread-safe.

    Samples of several threads may overwrite one another: each is as good as the next.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Seconds by which Redis is ahead, the largest error of that number, and the local time of the measurement.
        self._estimate: tuple[float, float, float] | None = None
        # About 19 of 20 pages are ready in time, and 49 of 50 awake in time: a late one costs a script and a slot.
        self._ready = Expectile(0.2, 0.01)
        self._late = Expectile(0.5, 0.01)

    @property
    def ready_ms(self) -> int:
        """The time from a reservation until most requests are ready to be sent, in ms."""
        return int(self._ready.value * 1000) + 1

    @property
    def slack_ms(self) -> int:
        """The time from the beginning of a slot until most waiting requests are sent, in ms."""
        return int(self._late.value * 1000) + 1

    def settle(self, read_us: Callable[[], int]) -> None:
        """Look at Redis' clock BURST times in a row, once in a process."""
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
            # The shortest round trip leaves the least room for error (the clock filter of RFC 5905, section 10).
            trip_s, asked_at, redis_us = min(samples)
            self._ready.value = min(trip_s, MOST_S)
            self.note(asked_at, asked_at + trip_s, redis_us)

    def note(self, asked_at: float, answered_at: float, redis_us: int) -> None:
        """Take in a reading of Redis' clock (us) that was made between two moments of `time.monotonic` (s)."""
        doubt_s = (answered_at - asked_at) / 2
        ahead_s = redis_us / 1e6 - (asked_at + answered_at) / 2
        if self._estimate is not None:
            known_s, known_doubt_s, at = self._estimate
            # An old estimate gets worse by the drift, so that a newer reading takes its place in the end.
            known_doubt_s += DRIFT * (answered_at - at)
            # A difference beyond both errors means that a clock was set, or that another Redis answers.
            is_another = abs(ahead_s - known_s) > doubt_s + known_doubt_s
            if doubt_s > known_doubt_s and not is_another:
                return
        self._estimate = ahead_s, doubt_s, answered_at

    def local(self, redis_ms: float) -> float:
        """Return an instant of Redis' clock (ms) as seconds of `time.monotonic`. `settle` comes first."""
        if self._estimate is None:
            raise RuntimeError("the gate's clock was not settled")
        return redis_ms / 1000 - self._estimate[0]

    def note_ready(self, seconds: float) -> None:
        """Take in the seconds from the reservation of a slot until its request was ready."""
        self._ready.note(seconds)

    def note_late(self, seconds: float) -> None:
        """Take in the seconds from the beginning of a slot until a request that was waiting was sent."""
        self._late.note(seconds)
