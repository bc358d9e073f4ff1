"""`crawl-tasks version`."""

from __future__ import annotations

import click

from crawl_tasks import __version__
from crawl_tasks.cli.helptext import examples


@click.command(epilog=examples("crawl-tasks version"))
def command() -> None:
    """Print the version."""
    click.echo(f"crawl-tasks {__version__}")
