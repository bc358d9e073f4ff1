"""`crawl-tasks drain`."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.control import meant, site_or_all, wait_until
from crawl_tasks.cli.helptext import examples


@click.command(
    epilog=examples("crawl-tasks drain demo", "crawl-tasks drain --all --wait 3600", "crawl-tasks resume demo")
)
@site_or_all
@click.option(
    "--wait",
    "within_s",
    metavar="SECONDS",
    type=click.FloatRange(0, 604_800),
    help="Seconds to wait until nothing is open.",
)
def command(site: str | None, everything: bool, within_s: float | None) -> None:
    """Begin no new scan of SITE, or of any, and finish what is open; start entries for it wait."""
    frontier = open_frontier()
    names = meant(frontier, site, everything=everything)
    for name in names:
        frontier.sites.drain(name)
    if within_s is not None:
        wait_until(frontier, names, lambda census: census.open == 0, within_s)
    for census in frontier.censuses(names):
        click.echo(f"{census.site}: {census.open} open; no new scan until: crawl-tasks resume {census.site}")
