"""`crawl-tasks pause SITE`."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.helptext import examples


@click.command(epilog=examples("crawl-tasks pause demo", "crawl-tasks resume demo"))
@click.argument("site")
def command(site: str) -> None:
    """Stop fetching from SITE: what is open is kept, what is being fetched ends."""
    open_frontier().pause(site)
    click.echo(f"{site} is paused; go on with: crawl-tasks resume {site}")
