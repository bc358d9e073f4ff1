"""A crawl on one machine from start to end: publish, start the processes, scan, watch until idle or Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.util import find_spec
from typing import Protocol

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.fetch.browser import missing
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import BoardState
from crawl_tasks.local.error_logs import ErrorLogs
from crawl_tasks.local.jobs import FLOWER_PORT, Workers, beat_job, flower_job, in_cell, worker_jobs
from crawl_tasks.local.redis_server import port_near
from crawl_tasks.model import FULL_REACH, Reach, Stage, State
from crawl_tasks.model.own_counters import take_counted
from crawl_tasks.monitor.cell_snapshots import keep_marks, snapshot_cells
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.installation_kinds import LOST_LEDGER
from crawl_tasks.monitor.progress_watchdog import ProgressWatchdog
from crawl_tasks.monitor.snapshot import Snapshot, Stored
from crawl_tasks.operate.ledger import require_ledger
from crawl_tasks.operate.local_environment import LocalEnvironment
from crawl_tasks.operate.only_sites import OnlySites
from crawl_tasks.operate.problem_log import ProblemLog
from crawl_tasks.operate.publish import PublishResult, publish_all
from crawl_tasks.operate.removal import removed_sites
from crawl_tasks.operate.stored_counts import StoredCounts
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.schema import Board, Site
from crawl_tasks.sites.start_entry import first_page
from crawl_tasks.worker.hook_runner import HANGS_AFTER_S, HookRunner

LOOK_EVERY_S = 0.25
SILENCE_ALLOWED_S = 60.0
"""Outage of Redis or the database that ends the crawl, in seconds. The workers wait as long."""
HOW_TO_RECOVER = "crawl-tasks recover (CRAWL_RECOVER=auto does so by itself); the run goes on after it"


class ProgressReport(AbstractContextManager[object], Protocol):
    """The report of a crawl while it runs, as on a terminal, which it holds as a context."""

    def say(self, line: str) -> None:
        """Show a line that stays."""

    def show(self, snapshot: Snapshot, stored: Stored | None = None) -> None:
        """Show the state of this moment in place of the last one."""


class Finish(StrEnum):
    """The reason for which a crawl ended."""

    IDLE = "idle"
    INTERRUPTED = "interrupted"
    STANDSTILL = "standstill"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a crawl: sites, processes and end. Without `has_workers` a person starts the workers.

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
        """Return whether this crawl is one walk over some boards, and not a watch over all of them."""
        return bool(self.boards) or self.reach != FULL_REACH

    def scanned(self, board: str) -> bool:
        """Return whether this crawl scans a board."""
        return not self.boards or board in self.boards

    def of(self, sites: Sequence[Site]) -> Plan:
        """Return the same plan for other sites."""
        return replace(self, sites=sites)


@dataclass(frozen=True, slots=True)
class Start:
    """The state at the beginning of a crawl, with which the summary compares the end."""

    at: float
    snapshot: Snapshot
    stored: Stored


def start_processes(local: LocalEnvironment, plan: Plan) -> str:
    """Start the workers, beat and Flower of a plan. Return the address of Flower, or an empty text."""
    if plan.has_flower and find_spec("flower") is None:
        raise ConfigError("--flower needs a package: pip install 'crawl-tasks[flower]'")
    if plan.has_workers:
        # Before the first worker: open requests of other sites would be fetched at once.
        limit = OnlySites(local.cells, [site.name for site in plan.sites], lambda _: None)
        limit.renew(snapshot_cells(local.cells).processes, ())
        has_browser = any(site.rendered for site in plan.sites)
        if has_browser and (lack := missing()):
            raise ConfigError(lack)
        jobs = [*worker_jobs(plan.workers, with_events=plan.has_flower, has_browser=has_browser)]
        # Beat would also scan all other boards that are due, and the walk would have no end.
        jobs += [] if plan.is_limited else [beat_job()]
        for cell in local.cells.names:
            for job in jobs:
                local.supervisor.start(in_cell(job, cell))
    if not plan.has_flower:
        return ""
    port = port_near(FLOWER_PORT)
    local.supervisor.start(flower_job(port))
    return f"http://127.0.0.1:{port}"


def begin(
    local: LocalEnvironment, plan: Plan, stored: StoredCounts, announce: Callable[[PublishResult], None]
) -> Start:
    """Publish the sites and announce each, and admit a scan of every board when the plan ends at idle."""
    cells = local.cells
    require_ledger(local.settings, cells, plan.sites)
    publish_all(local.settings, cells, plan.sites, announce)
    # Before the first scan is admitted, or the summary would leave out its requests.
    frontiers = cells.find(site.name for site in plan.sites)
    start = Start(time.monotonic(), snapshot_cells(cells, frontiers), stored.now())
    if plan.is_limited:
        for site in plan.sites:
            walk(frontiers[site.name], site, plan)
        return start
    if plan.until_idle:
        for site in plan.sites:
            scan_all(frontiers[site.name], site)
    # The first call of beat comes seconds later.
    for frontier in cells:
        frontier.produce()
    return start


def scan_all(frontier: Frontier, site: Site) -> int:
    """Admit a scan of every board that is not due yet. Return their number. `produce` admits those that are due."""
    # A parked list page keeps its board from being scanned.
    Admin(frontier).failed.requests.retry(Selection(site.name, State.PARKED, stage=Stage.LIST))
    addresses, now = Addresses(site), frontier.clock_ms()
    # A board that is being scanned needs no second scan, and one that is due gets its scan from `produce`.
    waiting = {
        state.board
        for state in Inspector(frontier).boards(site.name)
        if state.open_pages == 0 and state.due_at_ms > now
    }
    scans = [first_page(site, board, addresses, f"run{now}") for board in site.boards if board.id in waiting]
    return frontier.admit(site.name, scans).new if scans else 0


def walk(frontier: Frontier, site: Site, plan: Plan) -> int:
    """Admit one walk over the boards of a plan, within the reach of the plan. Return the number of walks.

    Raises:
        SiteError: a board has no address.
    """
    addresses, mark = Addresses(site), f"run{frontier.clock_ms()}"
    known = {board.id: board for board in site.boards}
    wanted = plan.boards or list(known)
    scans = [first_page(site, known.get(name) or Board(id=name), addresses, mark) for name in wanted]
    return frontier.admit(site.name, [scan._replace(reach=plan.reach) for scan in scans]).new if scans else 0


def watch(local: LocalEnvironment, plan: Plan, start: Start, stored: StoredCounts, progress: ProgressReport) -> Finish:
    """Show the progress until the end of the plan. Without an end only a KeyboardInterrupt ends the crawl.

    Says why nothing moves, and with an end gives up when nothing is left that will move by itself.

    Raises:
        BackendError: Redis or the database was away for too long.
        CrawlError: a necessary process died.
    """
    watch = _Watch(local, plan, start, stored, progress)
    while True:
        local.supervisor.watch()
        if (finish := watch.look()) is not None:
            return finish
        time.sleep(LOOK_EVERY_S)


class _Watch:
    """The looks at a crawl that goes on, each with its screen."""

    def __init__(
        self, local: LocalEnvironment, plan: Plan, start: Start, stored: StoredCounts, progress: ProgressReport
    ) -> None:
        self._local, self._plan, self._start, self._stored, self._progress = local, plan, start, stored, progress
        self._names: Sequence[str] = [site.name for site in plan.sites]
        self._only = OnlySites(local.cells, self._names, progress.say)
        self._answered = time.monotonic()
        self._watchdog = ProgressWatchdog()
        self._reasons = ProblemLog(local.settings.state_dir, ErrorLogs(local.supervisor.log_dir))

    def look(self) -> Finish | None:
        """Show the progress. Return how the crawl has ended, None while it goes on."""
        try:
            finish = self._look()
        except BackendError as error:
            # A restart of Redis or the database takes seconds. The workers wait that out, and so does the screen.
            if time.monotonic() - self._answered > SILENCE_ALLOWED_S:
                raise
            self._wait(str(error))
        except ConfigError as error:
            self._names = still_wanted(self._local.cells, self._names)
            if not self._names:
                self._progress.say(f"{error}; an operator removed what this run crawls")
                return Finish.IDLE
            # Redis was emptied. Nothing is lost that the database knows, so the run waits for its recovery.
            self._wait(f"{error}. {LOST_LEDGER}; run: {HOW_TO_RECOVER}")
        else:
            self._answered = time.monotonic()
            return finish
        return None

    def _look(self) -> Finish | None:
        cells, until_idle = self._local.cells, self._plan.until_idle
        snapshot = snapshot_cells(cells, cells.find(self._names))
        if self._plan.has_workers:
            self._only.renew(snapshot.processes, self._local.supervisor.pids())
        keep_marks(cells, snapshot)
        self._progress.show(snapshot, self._stored.lately())
        if until_idle and is_idle(snapshot, cells, self._start.snapshot.at_ms, self._plan.scanned):
            return Finish.IDLE
        self._watchdog.note(snapshot)
        gives_up = until_idle and self._watchdog.gives_up(snapshot)
        if self._watchdog.is_still(snapshot):
            for line in self._reasons.news(snapshot, with_processes=gives_up):
                self._progress.say(gettext("nothing moves: {reason}", reason=line))
        return Finish.STANDSTILL if gives_up else None

    def _wait(self, reason: str) -> None:
        for line in self._reasons.unsaid([reason]):
            self._progress.say(gettext("waiting: {reason}", reason=line))


def still_wanted(cells: Cells, names: Sequence[str]) -> list[str]:
    """Return the sites that no operator has removed."""
    removed = removed_sites(cells, list(names))
    return [name for name in names if name not in removed]


def is_idle(snapshot: Snapshot, cells: Cells, since_ms: int, scanned: Callable[[str], bool] = lambda _: True) -> bool:
    """Return whether the `scanned` boards were scanned since `since_ms`, with nothing open and everything stored."""
    # An operator may pause a site in the middle of a run. Its open requests would keep the run from ending for ever.
    active = [site for site in snapshot.sites if not site.is_paused]
    if snapshot.down or snapshot.outbox or any(site.counts.open for site in active):
        return False
    boards = (
        board for site in active for board in Inspector(cells.of(site.name)).boards(site.name) if scanned(board.board)
    )
    # A snapshot reads the outbox before the requests: a page that was committed between the two waits there now.
    return all(_is_settled(board, since_ms) for board in boards) and not any(cell.outbox.size() for cell in cells)


def _is_settled(board: BoardState, since_ms: int) -> bool:
    """Return whether a board was scanned since then, or waits for an operator."""
    # A scan that is not over while nothing is open hangs on a parked list page, and a held board has none.
    return board.scanned_at_ms >= since_ms or board.open_pages > 0 or board.is_held


def tell_end(cells: Cells, sites: Iterable[Site], finish: Finish) -> None:
    """Tell the hooks of some sites that their crawl has ended."""
    hooks = HookRunner()
    for site in sites:
        hooks.tell(site.name, site.hooks, "site_finished", reason=finish.value)
    hooks.finish(HANGS_AFTER_S)
    for name, counted in take_counted().items():
        cells.of(name).count_own({name: counted})
