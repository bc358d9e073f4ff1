"""The scan schedule of boards: which are meant, their change by an operator, and what keeps scans from beginning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import BoardState
from crawl_tasks.logs import printable
from crawl_tasks.model import Operator, Stage, State
from crawl_tasks.monitor.cell_snapshots import join
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.queues import CONTROL_QUEUE, LIST_QUEUE, QUEUES

MOST_PARKED = 20
HOLDING_SCANS = frozenset({
    "CrawlHalted", "CrawlRunOnly", "CrawlBeatSilent", "CrawlNoWorker", "CrawlOutboxFull", "CrawlRedisRefuses",
    "CrawlRedisMemory", "CrawlPaused", "CrawlDraining", "CrawlSiteWithoutFile", "CrawlBacklogFull", "CrawlResting",
    "CrawlQuarantined",
})  # fmt: skip
"""Problems with which a board may be due and no scan of it begin."""
_OTHER_QUEUES = frozenset(QUEUES) - {LIST_QUEUE, CONTROL_QUEUE}


class ScheduleChange(NamedTuple):
    """A change of the schedule: boards of a site that it changed, and those that stay held."""

    site: str
    changed: int
    held: int


def change_schedule(
    cells: Cells, places: Sequence[str], act: Act, by: Operator, interval_ms: int = 0
) -> Iterator[ScheduleChange]:
    """Change the schedule of boards, given as SITE/BOARD, or as SITE for all of a site. Yield the change of each site.

    Raises:
        ConfigError: a site is not published, or has no such board.
    """
    for site, boards in boards_at(cells, places).items():
        done = Admin(cells.of(site)).board_schedule.change(site, boards, act, interval_ms, by)
        yield ScheduleChange(site, done.changed, done.held)


def boards_at(cells: Cells, places: Sequence[str]) -> dict[str, list[str]]:
    """Return the boards that are given as SITE/BOARD, or as SITE for all of a site, by site.

    Raises:
        ConfigError: a site is not published, or has no such board.
    """
    wanted: dict[str, list[str]] = {}
    for place in places:
        site, _, board = place.partition("/")
        frontier = chosen_sites(cells, (site,))[site]
        known = [state.board for state in Inspector(frontier).boards(site)]
        if board and board not in known:
            raise ConfigError(f"site {site} has no board {board!r}; crawl-tasks schedule list {site} names them")
        wanted.setdefault(site, []).extend([board] if board else known)
    return wanted


def board_states(sites: Mapping[str, Frontier]) -> Iterator[tuple[str, BoardState, int]]:
    """Yield the boards of sites, those first that are gone, each with the time by the clock of its Redis."""
    for site, frontier in sites.items():
        now_ms = frontier.clock_ms()
        for board in sorted(Inspector(frontier).boards(site), key=lambda board: not board.gone_at_ms):
            yield site, board, now_ms


def obstacles(sites: Mapping[str, Frontier]) -> Iterator[str]:
    """Yield the reasons why no scan of some sites begins, with remedies."""
    snapshot = join([take_snapshot(frontier, [site]) for site, frontier in sites.items()])
    problems = CurrentProblems(snapshot)
    current = [*problems.installation]
    for own in snapshot.sites:
        current += problems.own(own)
    for problem in current:
        if problem.name in HOLDING_SCANS and problem.subject not in _OTHER_QUEUES:
            yield problem.advice()
    for site, frontier in sites.items():
        parked = Admin(frontier).failed.requests.list(Selection(site, State.PARKED, stage=Stage.LIST))
        boards = sorted({page.request.key for page in islice(parked, MOST_PARKED)})
        if boards:
            retry = f"crawl-tasks failed retry --site {site} --state parked --stage list"
            names = ", ".join(map(printable, boards))
            yield f"{site}: a page of {names} is parked, and holds its scan; mend it, then {retry}"
