"""`crawl-tasks check`: the health check of ledger, installation and running crawl."""

from __future__ import annotations

from functools import partial
from typing import Final

import click
from rich.cells import set_cell_size

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.ledger import ledger_line, ledger_row
from crawl_tasks.cli.terminal import echo_json, examples
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.logs import hide_passwords, printable
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.monitor.output_language import gettext, use_language
from crawl_tasks.monitor.problems.kinds import Problem, Severity
from crawl_tasks.operate.check import RepairReport, Result, examine, is_unusable
from crawl_tasks.operate.installation import Fact
from crawl_tasks.settings import load_settings

REPLY_S: Final = 2.5
"""Time in seconds for which a Redis that hangs is waited for: health checks wait for five seconds in all."""


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
    open_quickly = partial(open_cells, settings, reply_s=REPLY_S)
    for result in examine(settings, open_quickly, sites, deep=deep or mend, mend=mend, at_rest=at_rest):
        report.add(result)
    ctx.exit(report.end())


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
        if any(is_unusable(result) for result in self._results):
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
