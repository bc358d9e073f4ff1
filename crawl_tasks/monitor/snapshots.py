"""A reader of snapshots for watchers, which reads only the sites that changed since the last snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.monitor.site_snapshot import SiteSnapshot, site_snapshot
from crawl_tasks.monitor.snapshot import Snapshot, forgotten_boards
from crawl_tasks.queues import QUEUES

KEPT_MS: Final = 300_000
"""Time after which a site is read anew though no script counted a change, in milliseconds."""

KEPT_BY_CALENDAR_MS: Final = 60_000
"""The same for a site with quiet hours or a daily budget, which changes by time alone."""


@dataclass(frozen=True, slots=True)
class _SeenSite:
    """A site as read, with its count of changes before the read and the end of its validity."""

    site: SiteSnapshot
    changes: bytes | None
    until_ms: int


class Snapshots:
    """The reader of snapshots of all sites. Not thread-safe: the caller of `look` locks."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._inspector = Inspector(frontier)
        self._seen: dict[str, _SeenSite] = {}
        self._redis = ""

    def look(self) -> Snapshot:
        """Return a snapshot. Sites that did not change are the same objects as in the last snapshot.

        Raises:
            BackendError: Redis does not answer.
        """
        # Before the sites: a site that changes between the two reads is read once too often, and never too seldom.
        redis, changes = self._inspector.changes()
        health = self._inspector.health(QUEUES)
        # Counts of changes of another Redis, as after a restart without its data, mean nothing.
        seen = self._seen if redis == self._redis else {}
        forgotten = forgotten_boards(health)
        names = self._frontier.sites.names()
        stale = [
            name
            for name in names
            if name in forgotten or not _is_valid(seen.get(name), changes.get(name.encode()), health.at_ms)
        ]
        for counts in self._inspector.count_all(stale):
            site = site_snapshot(counts, forgotten.get(counts.site, []))
            until_ms = 0 if site.name in forgotten else health.at_ms + _kept_ms(site)
            seen[counts.site] = _SeenSite(site, changes.get(counts.site.encode()), until_ms)
        self._seen, self._redis = {name: seen[name] for name in names}, redis
        return Snapshot(tuple(self._seen[name].site for name in names), health, self._frontier.cell)


def _is_valid(cached: _SeenSite | None, changes: bytes | None, now_ms: int) -> bool:
    return cached is not None and changes is not None and cached.changes == changes and now_ms < cached.until_ms


def _kept_ms(site: SiteSnapshot) -> int:
    """Return for how many ms a site is valid while no script changes the site."""
    boards, fields = site.boards, site.counts.fields
    if boards.overdue != boards.late:
        # More of them become late by mere waiting.
        return 0
    if fields.get("quiet") or fields.get("daily_budget", "0") != "0":
        return KEPT_BY_CALENDAR_MS
    return KEPT_MS
