"""`crawl-tasks pause`: stops fetching from sites, at once or when their open requests are done (drain)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.operator import operator, tell_unstored, why_option
from crawl_tasks.cli.terminal import examples
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.operate.pause import count_sites, drain_sites, pause_sites, wait_until
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.settings import load_settings


def sites_or_all(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments SITES and the option --all to a command."""
    with_all = click.option("--all", "everything", is_flag=True, help="Take all published sites.")(command)
    return click.argument("sites", nargs=-1)(with_all)


def selected_sites(cells: Cells, sites: tuple[str, ...], *, everything: bool) -> dict[str, Frontier]:
    """Return the sites that a command is for, each with the frontier of its cell.

    Raises:
        UsageError: neither a site nor --all was given, or both.
        ConfigError: a site is not published, or none is.
    """
    # No default: a forgotten name must not stop every site.
    if everything == bool(sites):
        raise click.UsageError("name SITES, or all with --all")
    return chosen_sites(cells, sites)


@click.command(
    epilog=examples(
        "crawl-tasks pause demo --why 'their operator asked us to wait'",
        "crawl-tasks pause --all --wait                 # returns when nothing is being fetched",
        "crawl-tasks pause demo --drain --wait --within 3600",
        "crawl-tasks resume demo",
    )
)
@sites_or_all
@click.option("--drain", is_flag=True, help="Begin no new scan and finish the open requests. Start entries wait.")
@click.option(
    "--wait", is_flag=True, help="Return when nothing is being fetched. With --drain return when nothing is open."
)
@click.option("--within", "within_s", metavar="SECONDS", type=click.FloatRange(0, 604_800), default=120.0,
              show_default=True, help="With --wait: give up with an error after this many seconds.")  # fmt: skip
@why_option
def command(sites: tuple[str, ...], *, everything: bool, drain: bool, wait: bool, within_s: float, why: str) -> None:
    """Stop fetching from SITES, or from all. Open requests are kept, and pages that are being fetched end.

    The exit code is 1 when --wait ends before the sites are quiet. They stay paused.
    """
    settings = load_settings()
    cells, by = open_cells(settings), operator(why)
    chosen = selected_sites(cells, sites, everything=everything)
    tell_unstored((drain_sites if drain else pause_sites)(chosen, by, settings.database_url))
    if wait:
        wait_until(chosen, attrgetter("open" if drain else "leased"), within_s)
    # Counted anew, since sites became quiet while the command waited.
    for counts in count_sites(chosen):
        done = f"drains, {counts.open} open, no new scan" if drain else f"is paused, {counts.leased} being fetched"
        click.echo(f"{counts.site} {done}; go on with: crawl-tasks resume {counts.site}")
    if everything:
        cells.require_all()
