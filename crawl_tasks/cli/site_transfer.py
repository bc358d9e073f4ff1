"""`crawl-tasks sites move`: brings sites to the cells that the hash gives them, as after a cell was added."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.operator import tell_unstored
from crawl_tasks.cli.terminal import examples
from crawl_tasks.operate.transfer import move_sites
from crawl_tasks.settings import load_settings


@click.command(
    short_help="Bring sites to the cells that the hash gives them.",
    epilog=examples("crawl-tasks sites move", "crawl-tasks sites move demo"),
)
@click.argument("sites", nargs=-1)
def move(sites: tuple[str, ...]) -> None:
    """Move SITES, or all, to the cells that the hash gives them. Workers run meanwhile.

    A site stands still while it moves, and keeps all: requests, duplicate guard, schedule, counters, decisions. After a
    command that was cut off, the next one goes on.
    """
    settings = load_settings()
    for step in move_sites(open_cells(settings), sites, settings.database_url):
        is_moved = step.source != step.target
        where = f"moved from {step.source} to {step.target}" if is_moved else f"stays in {step.source}"
        tell_unstored(step.is_stored)
        click.echo(f"{step.site}: {where}, {step.keys} keys, stood still for {step.stood_still_s:.1f} s")
    click.echo("every site is in its cell" if not sites else f"in their cells: {', '.join(sites)}")
