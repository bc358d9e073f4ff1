"""`crawl-tasks resume`."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.control import meant, site_or_all
from crawl_tasks.cli.helptext import examples


@click.command(epilog=examples("crawl-tasks resume demo", "crawl-tasks resume --all"))
@site_or_all
def command(site: str | None, everything: bool) -> None:
    """Go on with SITE, or with all, after pause, stop or drain."""
    frontier = open_frontier()
    for name in meant(frontier, site, everything=everything):
        frontier.sites.resume(name)
        click.echo(f"{name} goes on")
