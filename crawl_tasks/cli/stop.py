"""`crawl-tasks stop`."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.control import meant, site_or_all, wait_until
from crawl_tasks.cli.helptext import examples


@click.command(epilog=examples("crawl-tasks stop demo", "crawl-tasks stop --all", "crawl-tasks resume --all"))
@site_or_all
@click.option("--within", "within_s", metavar="SECONDS", type=click.FloatRange(0, 86_400), default=120.0,
              show_default=True, help="Time to wait for what is being fetched.")  # fmt: skip
def command(site: str | None, everything: bool, within_s: float) -> None:
    """Pause SITE, or all, and return when nothing of it is being fetched any more."""
    frontier = open_frontier()
    names = meant(frontier, site, everything=everything)
    for name in names:
        frontier.sites.pause(name)
    wait_until(frontier, names, lambda census: census.leased == 0, within_s)
    click.echo(f"nothing is being fetched from {', '.join(names)}; go on with: crawl-tasks resume {site or '--all'}")
