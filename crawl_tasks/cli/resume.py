"""`crawl-tasks resume SITE`."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.helptext import examples


@click.command(epilog=examples("crawl-tasks resume demo"))
@click.argument("site")
def command(site: str) -> None:
    """Go on with a paused SITE."""
    open_frontier().resume(site)
    click.echo(f"{site} goes on")
