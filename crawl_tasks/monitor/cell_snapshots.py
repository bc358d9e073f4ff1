"""Snapshots of several cells, joined to one of the installation, and the reader of one cell for watchers.

The reader reads only the sites that changed since its last snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import Health, ProcessHealth
from crawl_tasks.monitor.marks import kept_marks
from crawl_tasks.monitor.site_snapshot import SiteSnapshot, site_snapshot
from crawl_tasks.monitor.snapshot import DownCell, Snapshot, forgotten_boards, take_snapshot
from crawl_tasks.queues import QUEUES

KEPT_MS: Final = 300_000
"""Time after which a site is read anew though no script counted a change, in milliseconds."""

KEPT_BY_CALENDAR_MS: Final = 60_000
"""The same for a site with quiet hours or a daily budget, which changes only by time."""


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
        self._marks = kept_marks(frontier)

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
        sites = tuple(self._seen[name].site for name in names)
        snapshot = Snapshot(sites, health, self._frontier.cell, before=self._marks.before(health.at_ms))
        self._marks.keep(snapshot.at_ms, snapshot.marks)
        return snapshot


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


def snapshot_cells(cells: Cells, sites: Mapping[str, Frontier] | None = None) -> Snapshot:
    """Return a snapshot of these sites, or of all published ones, with the state of all cells.

    Raises:
        ConfigError: a site is not published any more.
        RedisUnreachable: no cell answers.
    """

    def take(frontier: Frontier) -> Snapshot:
        names = frontier.sites.names() if sites is None else [name for name, home in sites.items() if home is frontier]
        # Without names a snapshot would be of all sites.
        taken = take_snapshot(frontier, names)
        return taken if names else Snapshot((), taken.health, taken.cell)

    parts = cells.ask_each(take)
    joined = join(list(parts.values()), [DownCell(name, str(error)) for name, error in cells.down.items()])
    return replace(joined, is_at_rest=True) if cells.is_at_rest else joined


def keep_marks(cells: Cells, snapshot: Snapshot) -> None:
    """Keep the counters of a snapshot of `snapshot_cells`, from which later ones compute rates."""
    for part in snapshot.parts or (snapshot,):
        kept_marks(cells.by_name[part.cell]).keep(part.at_ms, part.marks)


class CellSnapshots:
    """The reader of snapshots of all cells for watchers. Not thread-safe: the caller of `look` locks."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._readers = {name: Snapshots(frontier) for name, frontier in cells.by_name.items()}
        self._seen: dict[str, tuple[str, ...]] = {}

    def look(self) -> Snapshot:
        """Return a snapshot. Sites that did not change are the same objects as in the last snapshot.

        Raises:
            BackendError: no cell answers, or one refuses.
        """
        parts = self._cells.ask_each(lambda frontier: self._readers[frontier.cell].look())
        self._seen |= {name: tuple(site.name for site in part.sites) for name, part in parts.items()}
        down = [DownCell(name, str(error), self._seen.get(name, ())) for name, error in self._cells.down.items()]
        return join(list(parts.values()), down)


def join(parts: Sequence[Snapshot], down: Sequence[DownCell] = ()) -> Snapshot:
    """Return the snapshot of an installation from those of its cells that answer. One alone stays as it is."""
    if len(parts) == 1 and not down:
        return parts[0]
    sites = sorted((site for part in parts for site in part.sites), key=lambda site: site.name)
    return Snapshot(tuple(sites), _joined([part.health for part in parts]), "", tuple(parts), tuple(down))


def _joined(all_: Sequence[Health]) -> Health:
    """Return the state of several cells as one: sums, and of times the one that is worse."""

    def total(value: Callable[[Health], int]) -> int:
        return sum(map(value, all_))

    def counted(value: Callable[[Health], Mapping[str, int]]) -> Mapping[str, int]:
        return sum((Counter(value(health)) for health in all_), Counter[str]())

    def texts(value: Callable[[Health], str]) -> str:
        return "; ".join(dict.fromkeys(filter(None, map(value, all_))))

    limits = [health.max_memory_bytes for health in all_]
    return Health(
        at_ms=max(health.at_ms for health in all_),
        counters=counted(lambda health: health.counters),
        queues={name: sum(health.queues.get(name, 0) for health in all_) for name in all_[0].queues},
        outbox=total(lambda health: health.outbox),
        processes=tuple(process for health in all_ for process in health.processes),
        produced_at_ms=min(health.produced_at_ms for health in all_),
        forgotten=tuple(board for health in all_ for board in health.forgotten),
        memory_bytes=total(lambda health: health.memory_bytes),
        # Without a limit in one cell there is none for all.
        max_memory_bytes=sum(limits) if all(limits) else 0,
        starts=counted(lambda health: health.starts),
        claims=total(lambda health: health.claims),
        rejected=total(lambda health: health.rejected),
        halted=texts(lambda health: health.halted),
        only=tuple(sorted({name for health in all_ for name in health.only})),
        eviction=texts(lambda health: health.eviction),
        oldest_item_at_ms=min(filter(None, (health.oldest_item_at_ms for health in all_)), default=0),
        outbox_max=total(lambda health: health.outbox_max),
        refusal=texts(lambda health: health.refusal),
        process_health=_joined_processes([health.process_health for health in all_]),
    )


def _joined_processes(all_: Sequence[ProcessHealth]) -> ProcessHealth:
    # A sender of alerts notes its looks in one cell, and in another one while that is away.
    last = max(all_, key=lambda health: health.alerts_at_ms)
    births = {name: at for health in all_ for name, at in health.births.items()}
    return replace(last, births=births, starts=sum(health.starts for health in all_))
