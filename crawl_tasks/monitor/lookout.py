"""Snapshots again and again, for whoever keeps watching: a site that has not changed since is not read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot, forgotten_boards, site_snapshot
from crawl_tasks.queues import QUEUES

KEPT_MS: Final = 300_000
"""A site is read anew after this time though no script said that it changed."""

KEPT_BY_CALENDAR_MS: Final = 60_000
"""The same where quiet hours or a day's budget open and close the gate: time alone changes such a site."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A site as it was read: what its count of changes was before, and until when that may be said again."""

    site: SiteSnapshot
    changes: bytes | None
    until_ms: int


class Lookout:
    """Looks at all sites. Not thread-safe: whoever looks also locks."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._seen: dict[str, _Sighting] = {}
        self._redis = ""

    def look(self) -> Snapshot:
        """Take a snapshot; sites that did not change are the very objects of the last one.

        Raises:
            BackendError: Redis does not answer.
        """
        redis, changes = self._frontier.changes()  # first: what changes from now on is read again the next time
        vitals = self._frontier.vitals(QUEUES)
        seen = self._seen if redis == self._redis else {}
        forgotten = forgotten_boards(vitals)
        names = self._frontier.sites.names()
        stale = [
            name
            for name in names
            if name in forgotten or not _holds(seen.get(name), changes.get(name.encode()), vitals.at_ms)
        ]
        for census in self._frontier.censuses(stale):
            site = site_snapshot(census, forgotten.get(census.site, []))
            until_ms = 0 if site.name in forgotten else vitals.at_ms + _kept_ms(site)
            seen[census.site] = _Sighting(site, changes.get(census.site.encode()), until_ms)
        self._seen, self._redis = {name: seen[name] for name in names}, redis
        return Snapshot(tuple(self._seen[name].site for name in names), vitals)


def _holds(sighting: _Sighting | None, changes: bytes | None, now_ms: int) -> bool:
    return sighting is not None and changes is not None and sighting.changes == changes and now_ms < sighting.until_ms


def _kept_ms(site: SiteSnapshot) -> int:
    """Say for how long a site stays as it was read, as long as no script changes it."""
    boards, fields = site.boards, site.census.fields
    if boards.overdue != boards.late:
        return 0  # more of them become late by waiting
    if fields.get("quiet") or fields.get("daily_budget", "0") != "0":
        return KEPT_BY_CALENDAR_MS
    return KEPT_MS
