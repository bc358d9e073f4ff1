"""A window: a snapshot with the counters of an earlier one, from which rates are computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

from crawl_tasks.errors import AccessDenied, ArchiveFailed, Hung, ParseError
from crawl_tasks.frontier.histogram import AGES_S, Histogram, read_histogram
from crawl_tasks.model import Stage
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot

WINDOW_MS = 900_000
"""Time between the two snapshots of a rate, in milliseconds."""

RESTS_S = 60
"""Cooldown from which on a standstill is intended, in seconds: quiet hours, or a spent budget."""


@dataclass(frozen=True, slots=True)
class SiteMarks:
    """The growing counters of a site, or their growth within a window."""

    attempts: int
    failed: int
    unreadable: int
    denied: int
    unarchived: int
    hung: int
    done: int
    items: int
    freshness: Histogram
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
    cells: Mapping[str, Marks] = field(default_factory=dict)


def marks_of(snapshot: Snapshot) -> Marks:
    """Return the counters of a snapshot."""
    waits = {stage: snapshot.times("wait", stage) for stage in Stage}
    sites = {site.name: _marks_of_site(site) for site in snapshot.sites}
    cells = {part.cell: marks_of(part) for part in snapshot.parts}
    return Marks(snapshot.at_ms, snapshot.outbox, sites, waits, cells)


def _marks_of_site(site: SiteSnapshot) -> SiteMarks:
    failed = site.failed
    return SiteMarks(
        attempts=site.counts.count("attempts"),
        failed=sum(failed.values()),
        unreadable=failed.get(ParseError.reason, 0),
        denied=failed.get(AccessDenied.reason, 0),
        unarchived=failed.get(ArchiveFailed.reason, 0),
        hung=failed.get(Hung.reason, 0),
        done=site.counts.done,
        items=site.items,
        freshness=site.freshness,
        late_slots=site.stat("late_slots"),
        comments=sum(site.stat(f"comment:{change}") for change in ("new", "filled", "changed", "unchanged")),
        restored=site.stat("comment:restored"),
    )


@dataclass(frozen=True)
class Window:
    """A snapshot, with the counters of an earlier one where there is one."""

    snapshot: Snapshot
    before: Marks | None = None

    @cached_property
    def active(self) -> list[SiteSnapshot]:
        """Return the sites that no operator has paused."""
        return [site for site in self.snapshot.sites if not site.is_paused]

    @cached_property
    def growth(self) -> list[tuple[SiteSnapshot, SiteMarks]]:
        """Return the growth of the counters of each active site."""
        before = self.before
        if before is None:
            return []
        marks = {site.name: before.sites.get(site.name) or self._at_birth(site, before) for site in self.active}
        return [(site, _growth(_marks_of_site(site), at)) for site in self.active if (at := marks[site.name])]

    @staticmethod
    def _at_birth(site: SiteSnapshot, before: Marks) -> SiteMarks | None:
        """Return the counters of a site that began within the window, None for one that came from elsewhere."""
        return NOTHING if site.counts.count("since") >= before.at_ms else None

    def knew(self, site: SiteSnapshot) -> bool:
        """Return whether the site was there for the whole window."""
        return self.before is not None and site.name in self.before.sites

    def is_resting(self, site: SiteSnapshot) -> bool:
        """Return whether the standstill of a site is intended."""
        return site.rests_s(self.snapshot.at_ms) > RESTS_S


_COUNTERS = tuple(one.name for one in fields(SiteMarks) if one.name != "freshness")


def _growth(now: SiteMarks, before: SiteMarks) -> SiteMarks:
    grown = {name: getattr(now, name) - getattr(before, name) for name in _COUNTERS}
    return SiteMarks(freshness=now.freshness.since(before.freshness), **grown)


NOTHING = SiteMarks(freshness=read_histogram({}, "fresh", AGES_S), **dict.fromkeys(_COUNTERS, 0))
