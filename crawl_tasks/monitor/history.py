"""The history of the last hour: one reading a minute of each site, in memory, and in Redis for the next process."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import orjson

from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS, Histogram
from crawl_tasks.model import Stage
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot

MINUTES = 60
MOST_UNPACKED = 64 << 20
"""Bytes of a kept reading at most. That of 1,000 sites has 55 kB packed, and anybody may write another to Redis."""
_STEP_MS = 60_000

ALL = ""
"""The name under which the sum over all sites is kept."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters of one moment. The difference of two readings is the work between them.

    `stages` counts the pages of each stage. `fetch` has the fetch times of each stage, only over all sites.
    """

    at_ms: int
    stages: tuple[int, ...]
    posts: int
    comments: int
    failed: int
    open: int
    freshness: Histogram
    fetch: tuple[Histogram, ...] = ()

    @property
    def pages(self) -> int:
        """Count the pages of all stages."""
        return sum(self.stages)


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
            self._add(site.name, reading(site, snapshot.at_ms))
        self._add(ALL, total_reading(snapshot))
        # Sites that are no longer published: their readings would stay for ever.
        for name in self._readings.keys() - {site.name for site in snapshot.sites} - {ALL}:
            del self._readings[name]
        if len(self._readings[ALL]) > self._most:
            self._make_room()

    def packed(self) -> bytes:
        """Return the last reading of each site as one text, for `restore`."""
        return zlib.compress(
            orjson.dumps({name: _row(readings[-1]) for name, readings in self._readings.items() if readings})
        )

    def restore(self, texts: Iterable[bytes]) -> None:
        """Begin with the readings that another process packed, oldest first. Texts of another version are left out."""
        for text in texts:
            try:
                read = {
                    name: _reading(row)
                    for name, row in orjson.loads(zlib.decompressobj().decompress(text, MOST_UNPACKED)).items()
                }
            except (zlib.error, LookupError, TypeError, ValueError):
                continue
            for name, reading in read.items():
                self._readings.setdefault(name, []).append(reading)

    def of(self, name: str = ALL) -> Sequence[Reading]:
        """Return the readings of a site, or of all together, oldest first."""
        return tuple(self._readings.get(name, ()))

    def per_minute(self, name: str, count: Callable[[Reading], int]) -> list[float]:
        """Return the rise of a counter per minute, for each step of the hour."""
        steps = list(pairwise(self.of(name)))
        if len(steps) > 1 and steps[-1][1].at_ms - steps[-1][0].at_ms < self._step_ms / 2:
            # Too short for a rate: one page in a second would show as 60 a minute.
            steps.pop()
        # Never below 0: a rebuilt ledger begins to count at 0 again.
        return [
            max(0, count(after) - count(before)) * 60_000 / max(1, after.at_ms - before.at_ms)
            for before, after in steps
        ]

    def rate(self, name: str, count: Callable[[Reading], int]) -> float | None:
        """Return the rise of a counter per minute over the whole history, None before the second reading."""
        readings = self.of(name)
        if len(readings) < 2 or readings[-1].at_ms == readings[0].at_ms:
            return None
        return max(0, count(readings[-1]) - count(readings[0])) * 60_000 / (readings[-1].at_ms - readings[0].at_ms)

    def freshness(self, name: str = ALL) -> Histogram | None:
        """Return the freshness of the items stored within the hour, None before the second reading."""
        readings = self.of(name)
        return readings[-1].freshness.since(readings[0].freshness) if len(readings) > 1 else None

    def rose(self, name: str, count: Callable[[Reading], int]) -> int:
        """Return the rise of a counter within the hour."""
        readings = self.of(name)
        return max(0, count(readings[-1]) - count(readings[0])) if readings else 0

    def _add(self, name: str, now: Reading) -> None:
        readings = self._readings.setdefault(name, [])
        # The last reading moves on until its step is full, so that the newest numbers always show.
        if len(readings) > 1 and readings[-1].at_ms - readings[-2].at_ms < self._step_ms:
            readings.pop()
        readings.append(now)

    def _make_room(self) -> None:
        if self._is_whole:
            self._step_ms *= 2
        # Every second one from the first on, so that the beginning of a crawl stays on the chart.
        for name, readings in self._readings.items():
            self._readings[name] = readings[::2] if self._is_whole else readings[-self._most :]


def reading(site: SiteSnapshot, at_ms: int) -> Reading:
    """Return the counters of a site."""
    return Reading(
        at_ms=at_ms,
        stages=tuple(site.counts.stages[stage].done for stage in Stage),
        posts=site.stat("post:new"),
        comments=site.stat("comment:new"),
        failed=sum(site.failed.values()),
        open=site.counts.open,
        freshness=site.freshness,
    )


def total_reading(snapshot: Snapshot) -> Reading:
    """Return the counters of all sites together."""
    return Reading(
        at_ms=snapshot.at_ms,
        stages=tuple(snapshot.done_of(stage) for stage in Stage),
        posts=snapshot.total("post:new"),
        comments=snapshot.total("comment:new"),
        failed=snapshot.failed,
        open=snapshot.open,
        freshness=snapshot.freshness(),
        fetch=tuple(snapshot.times("fetch", stage) for stage in Stage),
    )


def _row(reading: Reading) -> list[object]:
    numbers = [reading.at_ms, *reading.stages, reading.posts, reading.comments, reading.failed, reading.open]
    return [numbers, *([*histogram.counts, histogram.total] for histogram in (reading.freshness, *reading.fetch))]


def _reading(row: Sequence[Sequence[int]]) -> Reading:
    """Return a packed reading.

    Raises:
        ValueError: another version with other stages or bounds packed it.
    """
    (at_ms, *stages, posts, comments, failed, open_), *counts = row
    bounds = (AGES_S, *(TIMES_MS for _ in counts[1:]))
    if len(stages) != len(Stage) or any(len(b) + 2 != len(c) for b, c in zip(bounds, counts, strict=True)):
        raise ValueError(row)
    freshness, *fetch = (Histogram(b, c[:-1], c[-1]) for b, c in zip(bounds, counts, strict=True))
    return Reading(at_ms, tuple(stages), posts, comments, failed, open_, freshness, tuple(fetch))
