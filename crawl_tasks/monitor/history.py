"""The history of the last hour: one reading a minute of each site, in the memory of this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.monitor.snapshot import Snapshot

MINUTES = 60
_STEP_MS = 60_000

ALL = ""
"""The name under which the sum over all sites is kept."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters of one moment. The difference of two readings is the work between them."""

    at_ms: int
    pages: int
    posts: int
    comments: int
    failed: int
    open: int
    freshness: Histogram


class History:
    """Readings by site, of the last hour or of a whole crawl. Not thread-safe: the caller of `note` locks.

    Readings of the last hour are a minute apart. The history of a whole crawl halves its readings, and doubles the step
    between them, whenever there are too many.
    """

    def __init__(self, step_ms: int = _STEP_MS, most: int = MINUTES + 1, *, is_whole: bool = False) -> None:
        self._step_ms = step_ms
        self._most = most
        self._is_whole = is_whole
        self._readings: dict[str, list[Reading]] = {}

    def note(self, snapshot: Snapshot) -> None:
        """Add a snapshot. Of the snapshots within a step, the last counts."""
        for site in snapshot.sites:
            self._add(site.name, total_reading(replace(snapshot, sites=(site,))))
        self._add(ALL, total_reading(snapshot))
        # Sites that are no longer published: their readings would stay for ever.
        for name in self._readings.keys() - {site.name for site in snapshot.sites} - {ALL}:
            del self._readings[name]
        if len(self._readings[ALL]) > self._most:
            self._make_room()

    def of(self, name: str = ALL) -> Sequence[Reading]:
        """Return the readings of a site, or of all together, oldest first."""
        return tuple(self._readings.get(name, ()))

    def per_minute(self, name: str, field: str) -> list[float]:
        """Return the rise of a counter per minute, for each step of the hour."""
        steps, count = list(pairwise(self.of(name))), attrgetter(field)
        if len(steps) > 1 and steps[-1][1].at_ms - steps[-1][0].at_ms < self._step_ms / 2:
            # Too short for a rate: one page in a second would show as 60 a minute.
            steps.pop()
        # Never below 0: a rebuilt ledger begins to count at 0 again.
        return [
            max(0, count(after) - count(before)) * 60_000 / max(1, after.at_ms - before.at_ms)
            for before, after in steps
        ]

    def rate(self, name: str, field: str) -> float | None:
        """Return the rise of a counter per minute over the whole history, None before the second reading."""
        some, count = self.of(name), attrgetter(field)
        if len(some) < 2 or some[-1].at_ms == some[0].at_ms:
            return None
        return float(max(0, count(some[-1]) - count(some[0])) * 60_000 / (some[-1].at_ms - some[0].at_ms))

    def freshness(self, name: str = ALL) -> Histogram | None:
        """Return the freshness of the items stored within the hour, None before the second reading."""
        some = self.of(name)
        return some[-1].freshness.since(some[0].freshness) if len(some) > 1 else None

    def rose(self, name: str, field: str) -> int:
        """Return the rise of a counter within the hour."""
        some, count = self.of(name), attrgetter(field)
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
        # Every second one from the first on, so that the beginning of a crawl stays on the chart.
        for name, some in self._readings.items():
            self._readings[name] = some[::2] if self._is_whole else some[-self._most :]


def total_reading(snapshot: Snapshot) -> Reading:
    """Return the counters of all sites together."""
    return Reading(
        at_ms=snapshot.at_ms,
        pages=snapshot.done,
        posts=snapshot.total("post:new"),
        comments=snapshot.total("comment:new"),
        failed=snapshot.failed,
        open=snapshot.open,
        freshness=snapshot.freshness(),
    )
