"""The story of a crawl on one machine: publish, start the processes, scan, watch until idle or Ctrl-C, sum up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from crawl_tasks.cli.standing import require_ledger
from crawl_tasks.cli.station import Station
from crawl_tasks.cli.stored import StoredCounts
from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.gauges import BoardState
from crawl_tasks.local.jobs import FLOWER_PORT, Workers, beat_job, flower_job, worker_jobs
from crawl_tasks.local.ports import port_near
from crawl_tasks.model import FULL_REACH, Reach
from crawl_tasks.monitor.progress import Progress, Stored
from crawl_tasks.monitor.snapshot import Snapshot, take_snapshot
from crawl_tasks.publishing import publish_site
from crawl_tasks.sites.address import Addresses
from crawl_tasks.sites.schema import Board, Site
from crawl_tasks.sites.start import first_page

LOOK_EVERY_S = 0.25
SILENCE_ALLOWED_S = 60.0
"""How long Redis or the database may be away before the crawl ends; the workers wait as long."""


class Finish(StrEnum):
    """Why a crawl ended."""

    IDLE = "idle"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to crawl, and with what. Without `has_workers`, those that a person starts do the work.

    With `boards` or a `reach`, each of these boards (all, if none is named) is walked once, and no other scan starts.
    """

    sites: Sequence[Site]
    workers: Workers = field(default_factory=Workers)
    has_workers: bool = True
    has_flower: bool = False
    until_idle: bool = False
    boards: Sequence[str] = ()
    reach: Reach = FULL_REACH

    @property
    def is_limited(self) -> bool:
        """Say whether this crawl is one walk over some boards, with an end, and not the watch over all."""
        return bool(self.boards) or self.reach != FULL_REACH

    def scanned(self, board: str) -> bool:
        """Say whether this crawl looks at a board."""
        return not self.boards or board in self.boards

    def of(self, sites: Sequence[Site]) -> Plan:
        """Give the same plan for other sites."""
        return replace(self, sites=sites)


@dataclass(frozen=True, slots=True)
class Start:
    """How things stood when the crawl began; the summary tells the difference."""

    at: float
    snapshot: Snapshot
    stored: Stored


def start_processes(station: Station, plan: Plan) -> str:
    """Start what the plan has of workers, beat and Flower; give Flower's address, or nothing."""
    if plan.has_workers:
        for job in worker_jobs(plan.workers, with_events=plan.has_flower):
            station.crew.start(job)
        if not plan.is_limited:
            station.crew.start(beat_job())
    if not plan.has_flower:
        return ""
    port = port_near(FLOWER_PORT)
    station.crew.start(flower_job(port))
    return f"http://127.0.0.1:{port}"


def begin(station: Station, plan: Plan, stored: StoredCounts) -> Start:
    """Publish the sites, and have every board scanned once when the plan ends at idle."""
    frontier = station.frontier
    require_ledger(station.settings, frontier)
    for site in plan.sites:
        publish_site(frontier, site, station.settings.contact)
    start = Start(time.monotonic(), take_snapshot(frontier, [site.name for site in plan.sites]), stored.now())
    if plan.is_limited:
        for site in plan.sites:
            walk(frontier, site, plan)
        return start
    if plan.until_idle:
        for site in plan.sites:
            scan_all(frontier, site)
    frontier.produce()  # beat's first look comes seconds later
    return start


def scan_all(frontier: Frontier, site: Site) -> int:
    """Ask for a scan of every board that is not due yet; those that are, produce admits. Give how many."""
    addresses, now = Addresses(site), frontier.clock_ms()
    waiting = {state.board for state in frontier.boards(site.name) if state.open_pages == 0 and state.due_at_ms > now}
    scans = [first_page(site, board, addresses, f"run{now}") for board in site.boards if board.id in waiting]
    return frontier.admit(site.name, scans).new if scans else 0


def walk(frontier: Frontier, site: Site, plan: Plan) -> int:
    """Ask for one walk over the plan's boards, as far as its reach goes; give how many began.

    Raises:
        SiteError: a board has no address.
    """
    addresses, mark = Addresses(site), f"run{frontier.clock_ms()}"
    known = {board.id: board for board in site.boards}
    wanted = plan.boards or list(known)
    scans = [first_page(site, known.get(name) or Board(id=name), addresses, mark) for name in wanted]
    return frontier.admit(site.name, [scan._replace(reach=plan.reach) for scan in scans]).new if scans else 0


def watch(station: Station, plan: Plan, start: Start, stored: StoredCounts, progress: Progress) -> Finish:
    """Show the progress until the plan's end; only a KeyboardInterrupt ends a crawl without one.

    Raises:
        BackendError: Redis or the database was away for too long.
        CrawlError: a process died that the crawl cannot do without.
    """
    names = [site.name for site in plan.sites]
    answered = time.monotonic()
    while True:
        station.crew.watch()
        try:
            snapshot = take_snapshot(station.frontier, names)
            progress.show(snapshot, stored.lately())
            if plan.until_idle and is_idle(snapshot, station.frontier, start.snapshot.at_ms, plan.scanned):
                return Finish.IDLE
            answered = time.monotonic()
        except BackendError as error:
            if time.monotonic() - answered > SILENCE_ALLOWED_S:
                raise
            progress.say(f"waiting: {error}")
        time.sleep(LOOK_EVERY_S)


def is_idle(
    snapshot: Snapshot, frontier: Frontier, since_ms: int, scanned: Callable[[str], bool] = lambda _: True
) -> bool:
    """Say whether all `scanned` boards were so since, nothing is open, all is stored; paused sites do not count."""
    active = [site for site in snapshot.sites if not site.is_paused]
    if snapshot.outbox or any(site.census.open for site in active):
        return False
    return all(
        _is_settled(board, since_ms) for site in active for board in frontier.boards(site.name) if scanned(board.board)
    )


def _is_settled(board: BoardState, since_ms: int) -> bool:
    """A scan that is not over while nothing is open hangs on a parked list page, and waits for a person."""
    return board.scanned_at_ms >= since_ms or board.open_pages > 0
