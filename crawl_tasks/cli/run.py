"""`crawl-tasks run`: a whole crawl on this machine, whose processes start and end together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.ledger import ledger_line
from crawl_tasks.cli.selection_options import SinceOption
from crawl_tasks.cli.site_removal import without_removed
from crawl_tasks.cli.sites import show_published
from crawl_tasks.cli.summary import report_of, stats_text
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import ConfigError
from crawl_tasks.local.jobs import Workers
from crawl_tasks.local.signals import Terminated
from crawl_tasks.logs import printable
from crawl_tasks.model import Reach
from crawl_tasks.monitor.cell_snapshots import snapshot_cells
from crawl_tasks.monitor.output_language import gettext, use_language
from crawl_tasks.monitor.progress import Progress
from crawl_tasks.operate.crawl import Finish, Plan, tell_end
from crawl_tasks.operate.crawl_session import CrawlEnd
from crawl_tasks.operate.crawl_session import crawl as crawl_session
from crawl_tasks.operate.local_environment import LocalEnvironment, local_environment
from crawl_tasks.operate.site_files import checked_sites
from crawl_tasks.operate.stored_counts import StoredCounts
from crawl_tasks.operate.summary import crawl_stats, failed_pages, is_clean, note_short_threads, problems_of
from crawl_tasks.settings import load_settings
from crawl_tasks.store.atomic_file import is_address, is_kept
from crawl_tasks.store.export import export
from crawl_tasks.store.output_format import format_of
from crawl_tasks.store.selection import RowSelection
from crawl_tasks.store.upsert import Store
from crawl_tasks.web.static_report import require_place, write_report

_Command = TypeVar("_Command", bound=Callable[..., object])
_PROCESSES = click.IntRange(0, 64)


def process_options(command: _Command) -> _Command:
    """Add the options --list and --detail to a command: the numbers of processes for the two kinds of queues."""
    by_option = {"list": ("lists", "list pages"), "detail": ("details", "posts and comments")}
    # The last decorator is the first option.
    for option, (name, pages) in reversed(by_option.items()):
        command = click.option(
            f"--{option}", name, metavar="N", type=_PROCESSES, default=1, show_default=True,
            help=f"Number of processes for {pages}.",
        )(command)  # fmt: skip
    return command


@click.command(
    epilog=examples(
        "crawl-tasks run                                 # all of config/sites, until Ctrl-C",
        "crawl-tasks run demo --until-idle -o demo.jsonl",
        "crawl-tasks run --list 2 --detail 3 --flower",
        "crawl-tasks run --until-idle --report report.html",
        "crawl-tasks run demo --boards 1,2 --pages 3 --since 7d -o out.jsonl",
    )
)
@click.argument("sites", nargs=-1)
@click.option("--until-idle", is_flag=True, help="Scan each board once, and end when nothing is left to do.")
@click.option("--boards", metavar="ID,ID", help="Walk these boards once and end. The ids are the forum's.")
@click.option(
    "--pages", metavar="N", type=click.IntRange(1, 100_000), help="Read at most N list pages per board and end."
)
@click.option(
    "--since", type=SinceOption(), help="Read only threads with posts since then, as 7d or 2026-01-31, and end."
)
@click.option(
    "-o", "--out", metavar="FILE", help="Export what this run stored to FILE (.jsonl, .csv or .parquet) at the end."
)
@click.option("--force", is_flag=True, help="With --out: replace FILE if it exists.")
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write plots and numbers to FILE as HTML.",
)
@process_options
@click.option("--threads", metavar="N", type=click.IntRange(1, 256), default=8, show_default=True,
              help="Pages that a process fetches at once.")  # fmt: skip
@click.option("--flower/--no-flower", default=False, help="Show workers and tasks in a browser.")
@click.pass_context
def command(
    ctx: click.Context, sites: tuple[str, ...], *, until_idle: bool, boards: str | None, pages: int | None, since: int |
    None, out: str | None, report: Path | None, lists: int, details: int, threads: int, flower: bool, force: bool,
) -> None:  # fmt: skip
    """Crawl SITES, or all of the sites directory: start Redis (unless one is configured), workers and beat.

    Stored items and open requests stay, and the next run continues from there. --boards, --pages and --since walk the
    boards once, without beat. As in any scan, a walk ends at a list page with nothing new. The exit code is 1 when
    requests were given up, items were rejected, or a warning or critical problem is left. The last lines name them. The
    exit code is 4 when no request that is left can move.
    """
    if boards and len(sites) != 1:
        raise click.UsageError("--boards are of one site; name it: crawl-tasks run NAME --boards 1,2")
    # Before the crawl, so that a misspelt directory does not cost hours of work.
    for option, file in (("--out", out), ("--report", report)):
        if file is not None and str(file) != "-" and not is_address(str(file)):
            require_place(Path(file), option)
    form = format_of(out or "-")
    # Rows of an earlier run, perhaps, and this one may store none.
    if out is not None and not force and is_kept(out):
        raise ConfigError(f"--out: {out}: is there already; --force replaces it, another name keeps it")
    settings = load_settings()
    use_language(settings.language)
    chosen = checked_sites(settings, sites)
    plan = Plan(
        (),
        Workers(lists, details, threads=threads),
        has_flower=flower,
        until_idle=until_idle or any((boards, pages, since)),
        boards=tuple(name.strip() for name in (boards or "").split(",") if name.strip()),
        reach=Reach(pages or 0, since or 0),
    )
    progress = Progress("run")
    with local_environment(settings, progress.say) as here:
        chosen = without_removed(here.cells, chosen, sites)
        names = [site.name for site in chosen]
        before = 0
        # An export holds only rows that this run added or changed, not the whole past of the sites.
        if out is not None:
            with Store(here.settings.database_url) as store:
                before = store.last_change()
        with StoredCounts(here.settings.database_url, names) as stored:
            code, failures = crawl(here, plan.of(chosen), stored, progress, report)
    if out is not None:
        with Store(here.settings.database_url) as store:
            rows = export(store, out, RowSelection(sites=names), form, after=before, overwrite=force)
        click.echo(gettext("{count} rows in {path}", count=rows, path=out), err=out == "-")
    # Last, where a person and the mail of cron look.
    for failure in failures:
        click.echo(printable(failure, 600), err=True)
    ctx.exit(code)


def exit_of(ended: CrawlEnd) -> Exit:
    """Return the exit code of the way in which a crawl ended. What it found may still make it another."""
    if ended.stopped_by is not None:
        return Exit.TERMINATED if isinstance(ended.stopped_by, Terminated) else Exit.INTERRUPTED
    return Exit.STANDSTILL if ended.finish is Finish.STANDSTILL else Exit.OK


def crawl(
    here: LocalEnvironment, plan: Plan, stored: StoredCounts, progress: Progress, report: Path | None = None
) -> tuple[int, list[str]]:
    """Crawl to the end of the plan, print the summary, write the report; return the exit code and the failures."""

    def begun(plan: Plan, flower: str) -> Plan:
        if flower:
            progress.say(f"Flower: {flower}")
        return plan

    ended = crawl_session(
        here, plan, stored, progress, show_published, begun, lambda: note_short_threads(here, plan, stored)
    )
    for frontier in here.cells:
        frontier.sites.run_only((), 0)
    start, code = ended.start, exit_of(ended)
    # Interrupted before the crawl began: there is nothing to sum up.
    if start is None:
        return code, []
    tell_end(here.cells, plan.sites, ended.finish)
    end = snapshot_cells(here.cells, here.cells.find(site.name for site in plan.sites))
    stats = crawl_stats(start, end, stored.now(), ended.finish)
    click.echo(gettext("crawl stats"))
    click.echo(stats_text(stats))
    for site in end.sites:
        click.echo(ledger_line(site.counts))
    if report is not None:
        write_report(report, report_of(here, start, end, progress.history, stats))
        click.echo(gettext("report in {path}", path=report))
    failures, remarks = problems_of(start, end)
    for problem in remarks:
        click.echo(printable(problem.advice(), 600), err=True)
    has_failed = bool(plan.until_idle and failures) or not is_clean(end)
    code = code or (Exit.FAILURES if has_failed else Exit.OK)
    return code, [*(problem.advice() for problem in failures), *failed_pages(here.cells, end)]
