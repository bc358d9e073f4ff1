"""What an installation looks like at one moment; everything that shows or judges a crawl starts from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crawl_tasks.frontier.census import Census
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.gauges import BoardState
from crawl_tasks.model import Stage
from crawl_tasks.queues import QUEUES

LATE_MS = 60_000
"""A board that has been due for longer, and is not being scanned, is late."""

_FAILED = "failed:"
_GONE = "gone:"


@dataclass(frozen=True, slots=True)
class Boards:
    """A site's boards: how many there are, are due, are late, are being scanned, were never scanned."""

    total: int
    due: int
    late: int
    scanning: int
    unscanned: int


@dataclass(frozen=True, slots=True)
class SiteSnapshot:
    """One site. `failed` counts failed attempts by reason, `gone` pages that no longer exist."""

    name: str
    is_paused: bool
    census: Census
    boards: Boards
    failed: Mapping[str, int]
    gone: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All sites at about one moment; each site is counted at exactly one. `outbox` counts pages not stored yet."""

    at_ms: int
    sites: tuple[SiteSnapshot, ...]
    queues: Mapping[str, int]
    outbox: int

    @property
    def done(self) -> int:
        """Count the pages that ended well."""
        return sum(site.census.done for site in self.sites)

    @property
    def open(self) -> int:
        """Count the requests that still have to be worked on."""
        return sum(site.census.open for site in self.sites)

    @property
    def failed(self) -> int:
        """Count the attempts that failed."""
        return sum(sum(site.failed.values()) for site in self.sites)

    @property
    def given_up(self) -> int:
        """Count the requests that wait for a person: dead or parked."""
        return sum(site.census.dead + site.census.parked for site in self.sites)

    def done_of(self, stage: Stage) -> int:
        """Count the pages of a stage that ended well."""
        return sum(site.census.stages[stage].done for site in self.sites)


def take_snapshot(frontier: Frontier, sites: Sequence[str] = ()) -> Snapshot:
    """Look at the sites that were named, or all that are published.

    Raises:
        ConfigError: a site is not published.
        RedisUnreachable: Redis does not answer.
    """
    now = frontier.clock_ms()
    return Snapshot(
        at_ms=now,
        sites=tuple(_look_at(frontier, name, now) for name in sites or frontier.sites()),
        queues=frontier.queue_sizes(QUEUES),
        outbox=frontier.outbox_size(),
    )


def _look_at(frontier: Frontier, name: str, now_ms: int) -> SiteSnapshot:
    census = frontier.census(name)
    counters = census.fields
    return SiteSnapshot(
        name=name,
        is_paused=counters.get("paused") == "1",
        census=census,
        boards=tally(frontier.boards(name), now_ms),
        failed={key.removeprefix(_FAILED): int(n) for key, n in sorted(counters.items()) if key.startswith(_FAILED)},
        gone=sum(int(n) for key, n in counters.items() if key.startswith(_GONE)),
    )


def tally(boards: Sequence[BoardState], now_ms: int) -> Boards:
    """Count boards by where they stand."""
    waiting = [board for board in boards if board.open_pages == 0]
    return Boards(
        total=len(boards),
        due=sum(board.due_at_ms <= now_ms for board in waiting),
        late=sum(board.due_at_ms <= now_ms - LATE_MS for board in waiting),
        scanning=len(boards) - len(waiting),
        unscanned=sum(board.scanned_at_ms == 0 for board in boards),
    )
