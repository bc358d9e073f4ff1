"""A window: a snapshot with the counters of an earlier one, from which rates are computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.marks import NOTHING, Marks, SiteMarks, growth, marks_of_site
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot

RESTS_S = 60
"""Cooldown from which on a standstill is intended, in seconds: quiet hours, or a spent budget."""


@dataclass(frozen=True)
class Window:
    """A snapshot, with the counters of an earlier one where there is one."""

    snapshot: Snapshot

    @property
    def before(self) -> Marks | None:
        """Return the counters of the earlier moment."""
        return self.snapshot.before

    @property
    def minutes(self) -> float:
        """Return the length of the window in minutes, 0 without one."""
        return (self.snapshot.at_ms - self.before.at_ms) / 60_000 if self.before else 0.0

    @property
    def span(self) -> str:
        """Return the length of the window as a text."""
        return duration(60 * self.minutes)

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
        return [(site, growth(marks_of_site(site), at)) for site in self.active if (at := marks[site.name])]

    @staticmethod
    def _at_birth(site: SiteSnapshot, before: Marks) -> SiteMarks | None:
        """Return the counters of a site that began within the window, None for one that came from elsewhere."""
        return NOTHING if site.counts.count("since") >= before.at_ms else None

    def knew(self, site: SiteSnapshot) -> bool:
        """Return whether the site was there for the whole window."""
        return self.before is not None and site.name in self.before.sites

    def is_resting(self, site: SiteSnapshot) -> bool:
        """Return whether the standstill of a site is intended."""
        # A site that fails is asked more slowly, and rests longer by itself.
        return site.rests_s(self.snapshot.at_ms) > RESTS_S * site.slowdown
