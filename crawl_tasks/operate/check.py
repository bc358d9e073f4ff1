"""The examination of everything: ledger, installation and running crawl, and their repair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.reads import Process
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.monitor.cell_snapshots import snapshot_cells
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.installation_kinds import REDIS_DOWN
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.problems.setup_kinds import DATABASE_DOWN
from crawl_tasks.operate.connection import name_standing
from crawl_tasks.operate.installation import Fact, examine_machine, examine_places, examine_published, examine_redis
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.settings import Settings
from crawl_tasks.store.upsert import Store


class RepairReport(NamedTuple):
    """A problem that was found and mended."""

    problem: Problem


Result = RequestCounts | Fact | Problem | RepairReport


def examine(
    settings: Settings, open_cells: Callable[[], Cells], names: tuple[str, ...], *, deep: bool, mend: bool,
    at_rest: bool,
) -> Iterator[Result]:  # fmt: skip
    """Examine the ledger of some sites, or of all, then the installation, then the running crawl.

    With `deep` also compare guard, ledger, queues and database, and with `mend` mend what needs no rebuild.
    """
    try:
        cells = open_cells()
    except RedisUnreachable as error:
        # Without Redis the machine can still be examined, and often shows the cause.
        yield REDIS_DOWN.problem(reason=error)
        yield from examine_machine(settings)
        return
    chosen = chosen_sites(cells, names) if names else None
    snapshot = name_standing(settings, snapshot_cells(cells, chosen))
    if at_rest:
        snapshot = replace(snapshot, is_at_rest=True)
    yield from (site.counts for site in snapshot.sites)
    # A list, because the deep check depends on whether the database was found usable.
    machine = list(examine_machine(settings))
    yield from machine
    for frontier in cells:
        for result in examine_redis(frontier, settings):
            yield result._replace(cell=frontier.cell) if isinstance(result, Problem) else result
    if snapshot.processes:
        yield _workers(snapshot.processes)
    yield from find_problems(snapshot)
    yield from examine_published(settings, snapshot)
    yield from examine_places(cells)
    if deep and not any(is_unusable(result) for result in machine):
        with Store(settings.database_url) as store:
            yield from _look_deep(cells, store, list(chosen.items()) if chosen else [], mend=mend)


def _workers(processes: Sequence[Process]) -> Fact:
    """Return how many workers are alive, and their versions."""
    versions = ", ".join(sorted({process.version for process in processes if process.version}))
    text = gettext("{workers} alive, version {version}" if versions else "{workers} alive",
                   workers=counted(len(processes), "worker"), version=versions)  # fmt: skip
    return Fact("workers", text)


def _look_deep(cells: Cells, store: Store, chosen: list[tuple[str, Frontier]], *, mend: bool) -> Iterator[Result]:
    """Yield the findings of the deep check of each cell, with one of its chosen sites if there are any."""
    everywhere = cells.sites().keys()
    for frontier in cells:
        own = [name for name, home in chosen if home is frontier]
        if chosen and not own:
            continue
        # Where a cell does not answer, nobody knows which sites are missing.
        elsewhere = store.kept_sites(frontier.ledger).keys() if cells.down else everywhere - set(frontier.sites.names())
        check = Check(frontier, store, own, elsewhere)
        for finding in check.run(mend=mend):
            yield RepairReport(finding.problem) if finding.location.is_mended else finding.problem
        yield from check.disagreements()


def is_unusable(result: Result) -> bool:
    """Return whether Redis or the database cannot be used."""
    return isinstance(result, Problem) and result.name in (REDIS_DOWN.name, DATABASE_DOWN.name)
