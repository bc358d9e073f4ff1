"""Marks: the growing counters of a moment, kept in Redis, from which all places compute the same rates."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import orjson

from crawl_tasks.errors import AccessDenied, ArchiveFailed, BackendError, Challenged, Hung, ParseError
from crawl_tasks.frontier.admin.history_store import MarksStore
from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS, Histogram, read_histogram
from crawl_tasks.model import Stage
from crawl_tasks.monitor.site_snapshot import SiteSnapshot

if TYPE_CHECKING:
    from crawl_tasks.frontier.frontier import Frontier

WINDOW_MS = 900_000
"""Least time between the two snapshots of a rate, in milliseconds. Marks that are twice as old are no use."""

STEPS: Final = 3
"""Marks that are kept within a window. The oldest one is at most a step older than the window."""

MOST_UNPACKED: Final = 64 << 20
"""Bytes of kept marks at most. Those of 1,000 sites have 60 kB packed, and anybody may write others to Redis."""


@dataclass(frozen=True, slots=True)
class SiteMarks:
    """The growing counters of a site, or their growth within a window."""

    freshness: Histogram
    attempts: int
    failed: int
    unreadable: int
    denied: int
    unarchived: int
    hung: int
    done: int
    items: int
    late_slots: int
    comments: int
    restored: int


@dataclass(frozen=True, slots=True)
class Marks:
    """The counters of a snapshot that a later one is compared with."""

    at_ms: int
    outbox: int
    sites: Mapping[str, SiteMarks]
    waits: Mapping[Stage, Histogram]


_COUNTERS: Final = tuple(field.name for field in fields(SiteMarks) if field.name != "freshness")


def marks_of_site(site: SiteSnapshot) -> SiteMarks:
    """Return the counters of a site."""
    failed = site.failed
    return SiteMarks(
        attempts=site.counts.count("attempts"),
        failed=sum(failed.values()),
        unreadable=failed.get(ParseError.reason, 0),
        denied=failed.get(AccessDenied.reason, 0) + failed.get(Challenged.reason, 0),
        unarchived=failed.get(ArchiveFailed.reason, 0),
        hung=failed.get(Hung.reason, 0),
        done=site.counts.done,
        items=site.items,
        late_slots=site.stat("late_slots"),
        comments=sum(site.stat(f"comment:{change}") for change in ("new", "filled", "changed", "unchanged")),
        restored=site.stat("comment:restored"),
        freshness=site.freshness,
    )


def growth(now: SiteMarks, before: SiteMarks) -> SiteMarks:
    """Return the growth of the counters of a site."""
    grown = [getattr(now, name) - getattr(before, name) for name in _COUNTERS]
    return SiteMarks(now.freshness.since(before.freshness), *grown)


NOTHING: Final = SiteMarks(read_histogram({}, "fresh", AGES_S), *(0 for _ in _COUNTERS))
"""The counters of a site that did nothing yet."""


class KeptMarks:
    """The marks of one cell in Redis, for one process. A Redis that fails costs the rates, no error."""

    def __init__(self, frontier: Frontier) -> None:
        self._store = MarksStore(frontier)
        self._read_at_ms = self._kept_at_ms = 0
        self._before: Marks | None = None

    def before(self, now_ms: int) -> Marks | None:
        """Return the marks of a window ago, None without any. They are read from Redis a few times in a window."""
        if now_ms - self._read_at_ms >= WINDOW_MS // STEPS // 4:
            with suppress(BackendError):
                self._before, self._read_at_ms = unpacked(self._store.oldest()), now_ms
        age_ms = now_ms - self._before.at_ms if self._before else 0
        return self._before if WINDOW_MS <= age_ms <= 2 * WINDOW_MS else None

    def keep(self, at_ms: int, marks: Callable[[], Marks]) -> None:
        """Keep the marks of a moment, unless this or another process has kept some within a step."""
        step_ms = WINDOW_MS // STEPS
        if at_ms - self._kept_at_ms >= step_ms:
            with suppress(BackendError):
                self._store.keep(packed(marks()), step_ms, STEPS + 1)
                self._kept_at_ms = at_ms


_KEPT: WeakKeyDictionary[Frontier, KeptMarks] = WeakKeyDictionary()


def kept_marks(frontier: Frontier) -> KeptMarks:
    """Return the marks of a cell as this process has read them, so that each look does not read them anew."""
    return _KEPT.setdefault(frontier, KeptMarks(frontier))


def packed(marks: Marks) -> bytes:
    """Return marks as a text, for `unpacked`."""
    sites = {
        name: [*(getattr(site, counter) for counter in _COUNTERS), *site.freshness.counts, site.freshness.total]
        for name, site in marks.sites.items()
    }
    waits = {stage.value: [*wait.counts, wait.total] for stage, wait in marks.waits.items()}
    return zlib.compress(orjson.dumps([marks.at_ms, marks.outbox, sites, waits]), 1)


def unpacked(text: bytes) -> Marks | None:
    """Return packed marks, None for those of a version with other counters."""
    try:
        read = zlib.decompressobj().decompress(text, MOST_UNPACKED)
        at_ms, outbox, sites, waits = orjson.loads(read)
        return Marks(
            at_ms,
            outbox,
            {name: _site_marks(row) for name, row in sites.items()},
            {Stage(stage): _histogram(TIMES_MS, row) for stage, row in waits.items()},
        )
    except (zlib.error, LookupError, TypeError, ValueError):
        return None


def _site_marks(row: list[int]) -> SiteMarks:
    return SiteMarks(_histogram(AGES_S, row[len(_COUNTERS) :]), *row[: len(_COUNTERS)])


def _histogram(bounds: tuple[int, ...], row: list[int]) -> Histogram:
    if len(row) != len(bounds) + 2:
        raise ValueError(row)
    return Histogram(bounds, row[:-1], row[-1])
