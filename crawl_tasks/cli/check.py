"""`crawl-tasks check`: the health check of ledger, installation and running crawl."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

import click
from rich.cells import set_cell_size

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.ledger import ledger_line, ledger_row
from crawl_tasks.cli.terminal import echo_json, examples
from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.logs import hide_passwords, printable
from crawl_tasks.monitor.cell_snapshots import snapshot_cells
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.monitor.output_language import gettext, use_language
from crawl_tasks.monitor.problems.installation_kinds import REDIS_DOWN
from crawl_tasks.monitor.problems.kinds import Problem, Severity
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.problems.setup_kinds import DATABASE_DOWN
from crawl_tasks.operate.connection import name_standing
from crawl_tasks.operate.installation import Fact, examine_machine, examine_places, examine_published, examine_redis
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.store.upsert import Store

REPLY_S: Final = 2.5
"""Time in seconds for which a Redis that hangs is waited for: health checks wait for five seconds in all."""


class RepairReport(NamedTuple):
    """A problem that was found and mended."""

    problem: Problem


Result = RequestCounts | Fact | Problem | RepairReport

_COLOURS = {Severity.INFO: "cyan", Severity.WARNING: "yellow", Severity.CRITICAL: "red"}


@click.command(
    epilog=examples(
        "crawl-tasks check", "crawl-tasks check demo --deep", "crawl-tasks check --mend", "crawl-tasks check --json"
    )
)
@click.argument("sites", nargs=-1)
@click.option("--deep", is_flag=True, help="Also compare the guard, ledger, queues and database with each other.")
@click.option("--mend", is_flag=True, help="Compare them, and repair what needs no rebuild.")
@click.option("--at-rest", is_flag=True, help="No crawl should run: do not report missing workers, beat or scans.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context, sites: tuple[str, ...], *, deep: bool, mend: bool, at_rest: bool, as_json: bool
) -> None:
    """Check the ledger of SITES, or of all, then the installation, then the running crawl. The crawl may continue.

    Each problem is one line, with its remedy below. The exit code is 0 when all is well, 1 when a warning or a critical
    problem is left, and 3 when Redis or the database cannot be used.
    """
    report = _Report(is_json=as_json)
    settings = load_settings()
    use_language("en" if as_json else settings.language)
    for result in _results(settings, sites, deep=deep or mend, mend=mend, at_rest=at_rest):
        report.add(result)
    ctx.exit(report.end())


def _results(settings: Settings, names: tuple[str, ...], *, deep: bool, mend: bool, at_rest: bool) -> Iterator[Result]:
    try:
        cells = open_cells(settings, reply_s=REPLY_S)
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
        for found in examine_redis(frontier, settings):
            yield found._replace(cell=frontier.cell) if isinstance(found, Problem) else found
    if snapshot.processes:
        workers = counted(len(snapshot.processes), "worker")
        versions = ", ".join(sorted({one.version for one in snapshot.processes if one.version}))
        text = gettext("{workers} alive, version {version}" if versions else "{workers} alive", workers=workers,
                       version=versions)  # fmt: skip
        yield Fact("workers", text)
    yield from find_problems(snapshot)
    yield from examine_published(settings, snapshot)
    yield from examine_places(cells)
    if deep and not any(_is_unusable(result) for result in machine):
        with Store(settings.database_url) as store:
            yield from _look_deep(cells, store, list(chosen.items()) if chosen else [], mend=mend)


def _look_deep(cells: Cells, store: Store, chosen: list[tuple[str, Frontier]], *, mend: bool) -> Iterator[Result]:
    """Yield the findings of the deep check of each cell, with one of its chosen sites if there are any."""
    everywhere = cells.sites().keys()
    for frontier in cells:
        own = [name for name, one in chosen if one is frontier]
        if chosen and not own:
            continue
        # Where a cell does not answer, nobody knows which sites are missing.
        elsewhere = store.kept_sites(frontier.ledger).keys() if cells.down else everywhere - set(frontier.sites.names())
        check = Check(frontier, store, own, elsewhere)
        for found in check.run(mend=mend):
            yield RepairReport(found.problem) if found.location.is_mended else found.problem
        yield from check.disagreements()


def _is_unusable(result: Result) -> bool:
    return isinstance(result, Problem) and result.name in (REDIS_DOWN.name, DATABASE_DOWN.name)


class _Report:
    """The report: prints results as they are found, or all at the end as JSON, and derives the exit code."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._results: list[Result] = []

    def add(self, result: Result) -> None:
        """Add a result, and print the result unless JSON is wanted."""
        self._results.append(result)
        if not self._is_json:
            for line in _lines(result):
                click.echo(hide_passwords(line))

    def end(self) -> Exit:
        """Print the number of problems, or the JSON, and return the exit code."""
        if self._is_json:
            echo_json(self._row())
        else:
            mended = gettext("{count} mended, ", count=len(self._mended)) if self._mended else ""
            click.echo(f"{mended}{counted(len(self._to_do), 'problem')}")
        if any(_is_unusable(result) for result in self._results):
            return Exit.BACKEND
        return Exit.FAILURES if self._to_do else Exit.OK

    @property
    def _problems(self) -> list[Problem]:
        return [result for result in self._results if isinstance(result, Problem)]

    @property
    def _to_do(self) -> list[Problem]:
        return [problem for problem in self._problems if problem.severity is not Severity.INFO]

    @property
    def _mended(self) -> list[Problem]:
        return [result.problem for result in self._results if isinstance(result, RepairReport)]

    def _row(self) -> dict[str, object]:
        return {
            "ledger": [ledger_row(result) for result in self._results if isinstance(result, RequestCounts)],
            "facts": [result._asdict() for result in self._results if isinstance(result, Fact)],
            "problems": [problem._asdict() for problem in self._problems],
            "mended": [problem._asdict() for problem in self._mended],
        }


def _lines(result: Result) -> list[str]:
    match result:
        case RequestCounts():
            return [ledger_line(result)]
        case Fact():
            return [_line("ok", "green", f"{result.subject}: {result.text}")]
        case RepairReport():
            return [_line("mended", "green", f"{result.problem.name}: {result.problem.summary}")]
        case Problem():
            head = _line(result.severity.value, _COLOURS[result.severity], f"{result.name}: {result.summary}")
            return [head, f"{'':<10}{printable(result.remedy)}"]


def _line(word: str, colour: str, text: str) -> str:
    # Reasons may quote a foreign server. 2,000 characters hold the mistakes of a whole site file.
    return f"{click.style(set_cell_size(gettext(word), 8), fg=colour)}  {printable(text, most=2000)}"
