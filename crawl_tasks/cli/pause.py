"""`crawl-tasks pause`: stops fetching from sites, at once or when their open requests are done (drain)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import click

from crawl_tasks.cli.backend import chosen_sites, open_cells
from crawl_tasks.cli.operator import operator, store_decisions, why_option
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import CrawlError
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.settings import load_settings

LOOK_EVERY_S = 0.2


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
    for name, frontier in chosen.items():
        (frontier.sites.drain if drain else frontier.sites.pause)(name, by)
    store_decisions(settings, cells)
    if wait:
        wait_until(chosen, attrgetter("open" if drain else "leased"), within_s)
    # Counted anew, since sites became quiet while the command waited.
    for counts in count_sites(chosen):
        done = f"drains, {counts.open} open, no new scan" if drain else f"is paused, {counts.leased} being fetched"
        click.echo(f"{counts.site} {done}; go on with: crawl-tasks resume {counts.site}")
    if everything:
        cells.require_all()


def count_sites(sites: Mapping[str, Frontier]) -> list[RequestCounts]:
    """Return the counts of sites in their order, in few calls to each cell."""
    frontiers = {id(frontier): frontier for frontier in sites.values()}.values()
    counted = {
        counts.site: counts
        for frontier in frontiers
        for counts in Inspector(frontier).count_all([name for name, one in sites.items() if one is frontier])
    }
    return [counted[name] for name in sites]


def wait_until(sites: Mapping[str, Frontier], busy_pages: Callable[[RequestCounts], int], within_s: float) -> None:
    """Wait until no site has busy pages.

    Raises:
        CrawlError: a site is not quiet in time.
    """
    deadline = time.monotonic() + within_s
    while busy := [counts.site for counts in count_sites(sites) if busy_pages(counts)]:
        if time.monotonic() > deadline:
            see = f"wait longer with --within, or see: crawl-tasks status {busy[0]}"
            raise CrawlError(f"not quiet after {within_s:g} s: {', '.join(busy)}; {see}")
        time.sleep(LOOK_EVERY_S)
