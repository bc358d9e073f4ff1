"""`crawl-tasks demo`: a crawl of the demo forum, and the comparison of the result with the ground truth.

The state between runs is its own. A reset touches nothing of other crawls.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from crawl_tasks.cli.demo_report import DemoReport, report_row, report_text
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.run import exit_of, process_options
from crawl_tasks.cli.sites import show_published
from crawl_tasks.cli.summary import report_of
from crawl_tasks.cli.terminal import examples
from crawl_tasks.demo import SITE_FILE
from crawl_tasks.local.demo_forum import ForumFiles, start_forum
from crawl_tasks.local.jobs import Workers
from crawl_tasks.monitor.progress import Progress
from crawl_tasks.operate.crawl import Plan
from crawl_tasks.operate.crawl_session import crawl
from crawl_tasks.operate.demo import at_address, demo_result, demo_settings, require_own_backends, start_anew
from crawl_tasks.operate.local_environment import LocalEnvironment, local_environment
from crawl_tasks.operate.stored_counts import StoredCounts
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.loader import load_site
from crawl_tasks.web.static_report import require_place, write_report


@click.command(
    epilog=examples(
        "crawl-tasks demo                # begins, or continues from the last run",
        "crawl-tasks demo --mutate       # the forum moves on: 5 posts, 3 comments and 1 edit are new",
        "crawl-tasks demo --fresh        # deletes the last demo and begins again",
        "crawl-tasks demo --no-workers   # waits for workers that you start with plain Celery commands",
    )
)
@click.option("--fresh", is_flag=True, help="Delete the last demo and begin again.")
@click.option("--mutate", is_flag=True, help="Add the posts and edits of the next generation to the forum first.")
@click.option("--flower/--no-flower", default=True, show_default=True, help="Show workers and tasks in a browser.")
@click.option("--workers/--no-workers", "has_workers", default=True, help="Start workers and beat.", show_default=True)
@process_options
@click.option(
    "--latency-ms",
    metavar="MS",
    type=click.IntRange(0, 5000),
    default=40,
    show_default=True,
    help="Latency of the forum.",
)
@click.option(
    "--report", "report_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the result as JSON."
)
@click.pass_context
def command(
    ctx: click.Context, *, fresh: bool, mutate: bool, flower: bool, has_workers: bool, lists: int, details: int,
    latency_ms: int, report_file: Path | None,
) -> None:  # fmt: skip
    """Crawl the bundled forum with real workers, Redis and database, and compare the result with the ground truth.

    All files are in STATE_DIR/demo, and all ports on 127.0.0.1. The exit code is 0 only if each post and comment is
    stored once with equal fields and the ledger balances.
    """
    if report_file is not None:
        require_place(report_file, "--report")
    configured = load_settings()
    settings = demo_settings(configured)
    site = load_site(SITE_FILE)
    require_own_backends(configured, fresh=fresh)
    if fresh:
        start_anew(settings)
    progress = Progress("demo")
    has_flower = flower and find_spec("flower") is not None  # it shows the demo, and the crawl does without
    with (
        local_environment(settings, progress.say) as here,
        StoredCounts(here.settings.database_url, ["demo"]) as stored,
    ):
        plan = Plan((site,), Workers(lists, details), has_workers, has_flower=has_flower, until_idle=True)
        report = _crawl(here, plan, stored, progress, mutate=mutate, latency_ms=latency_ms)
    click.echo(report_text(report))
    if report_file is not None:
        write_report(report_file, json.dumps(report_row(report), ensure_ascii=False, indent=2) + "\n")
    ctx.exit(report.exit_code)


def _crawl(
    here: LocalEnvironment, plan: Plan, stored: StoredCounts, progress: Progress, *, mutate: bool, latency_ms: int
) -> DemoReport:
    """Crawl the forum until idle or Ctrl-C, and compare the result with the ground truth."""
    files = ForumFiles(here.settings.state_dir)

    def begun(plan: Plan, flower: str) -> Plan:
        base = start_forum(here.supervisor, files, mutate=mutate, latency_ms=latency_ms)
        progress.say(f"demo forum: {base}" + (f"  Flower: {flower}" if flower else ""))
        if not plan.has_workers:
            progress.say(how_to_start_workers(here.settings.state_dir))
        return plan.of([at_address(plan.sites[0], base)])

    ended = crawl(here, plan, stored, progress, show_published, begun)
    result = demo_result(here, files, stored, ended)
    page = here.settings.state_dir / "report.html"
    write_report(page, report_of(here, result.start, result.end, progress.history, result.stats))
    code = exit_of(ended) or (Exit.OK if result.is_right else Exit.FAILURES)
    return DemoReport(result, page, here.supervisor.log_dir, code)


def how_to_start_workers(state_dir: Path) -> str:
    """Return the commands that a person types in other terminals."""
    settings = f"CRAWL_STATE_DIR={state_dir} CRAWL_PRIVATE_HOSTS=127.0.0.1"
    celery = f"{settings} {Path(sys.executable).with_name('celery')} -A crawl_tasks"
    kinds = ("worker -Q list", "worker -Q detail", "worker -Q store", "beat")
    return "\n".join(["start in other terminals:", *(f"  {celery} {kind}" for kind in kinds)])
