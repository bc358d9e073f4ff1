"""What the last hour was like: one reading a minute of each site, kept in this process; begins anew with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot

MINUTES = 60
_STEP_MS = 60_000

ALL = ""
"""The name under which the sum over all sites is kept."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters at one moment; what happened is the difference of two."""

    at_ms: int
    pages: int
    posts: int
    comments: int
    failed: int
    open: int
    freshness: Histogram


class History:
    """Readings by site. Not thread-safe: whoever notes also locks.

    Those of the last hour, a minute apart; or, where a whole crawl is to be kept, all of it: whenever there are too
    many, every second one is dropped and the step doubles.
    """

    def __init__(self, step_ms: int = _STEP_MS, most: int = MINUTES + 1, *, is_whole: bool = False) -> None:
        self._step_ms = step_ms
        self._most = most
        self._is_whole = is_whole
        self._readings: dict[str, list[Reading]] = {}

    def note(self, snapshot: Snapshot) -> None:
        """Take a snapshot into account; of those within a step, the last counts."""
        for site in snapshot.sites:
            self._add(site.name, reading(site, snapshot.at_ms))
        self._add(ALL, total_reading(snapshot))
        for name in self._readings.keys() - {site.name for site in snapshot.sites} - {ALL}:
            del self._readings[name]
        if len(self._readings[ALL]) > self._most:
            self._make_room()

    def of(self, name: str = ALL) -> Sequence[Reading]:
        """Give the readings of a site, or of all together, oldest first."""
        return tuple(self._readings.get(name, ()))

    def per_minute(self, name: str, count: Callable[[Reading], int]) -> list[float]:
        """Give how much a counter rose per minute, for each step of the hour."""
        steps = list(pairwise(self.of(name)))
        if len(steps) > 1 and steps[-1][1].at_ms - steps[-1][0].at_ms < self._step_ms / 2:
            steps.pop()  # too short to tell a rate
        return [
            max(0, count(after) - count(before)) * 60_000 / max(1, after.at_ms - before.at_ms)
            for before, after in steps
        ]

    def rate(self, name: str, count: Callable[[Reading], int]) -> float | None:
        """Give how much a counter rose per minute over all that is kept; None before the second reading."""
        some = self.of(name)
        if len(some) < 2 or some[-1].at_ms == some[0].at_ms:
            return None
        return max(0, count(some[-1]) - count(some[0])) * 60_000 / (some[-1].at_ms - some[0].at_ms)

    def freshness(self, name: str = ALL) -> Histogram | None:
        """Give the freshness of what was stored within the hour; None before the second reading."""
        some = self.of(name)
        return some[-1].freshness.since(some[0].freshness) if len(some) > 1 else None

    def rose(self, name: str, count: Callable[[Reading], int]) -> int:
        """Give how much a counter rose within the hour."""
        some = self.of(name)
        return max(0, count(some[-1]) - count(some[0])) if some else 0

    def _add(self, name: str, now: Reading) -> None:
        some = self._readings.setdefault(name, [])
        # The last reading moves on until its step is full, so that the newest numbers always show.
        if len(some) > 1 and some[-1].at_ms - some[-2].at_ms < self._step_ms:
            some.pop()
        some.append(now)

    def _make_room(self) -> None:
        if self._is_whole:
            self._step_ms *= 2
        for name, some in self._readings.items():
            self._readings[name] = some[::2] if self._is_whole else some[-self._most :]


def reading(site: SiteSnapshot, at_ms: int) -> Reading:
    """Read a site's counters."""
    return Reading(
        at_ms=at_ms,
        pages=site.census.done,
        posts=site.stat("post:new"),
        comments=site.stat("comment:new"),
        failed=sum(site.failed.values()),
        open=site.census.open,
        freshness=site.freshness,
    )


def total_reading(snapshot: Snapshot) -> Reading:
    """Read the counters of all sites together."""
    return Reading(
        at_ms=snapshot.at_ms,
        pages=snapshot.done,
        posts=snapshot.total("post:new"),
        comments=snapshot.total("comment:new"),
        failed=snapshot.failed,
        open=snapshot.open,
        freshness=snapshot.freshness(),
    )
