"""`crawl-tasks pause`."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.control import meant, site_or_all
from crawl_tasks.cli.helptext import examples


@click.command(epilog=examples("crawl-tasks pause demo", "crawl-tasks pause --all", "crawl-tasks resume demo"))
@site_or_all
def command(site: str | None, everything: bool) -> None:
    """Stop fetching from SITE, or from all: what is open is kept, what is being fetched ends."""
    frontier = open_frontier()
    for name in meant(frontier, site, everything=everything):
        frontier.sites.pause(name)
        click.echo(f"{name} is paused; go on with: crawl-tasks resume {name}")
