"""`crawl-tasks resume`: the end of a pause."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.operator import operator, tell_unstored, why_option
from crawl_tasks.cli.pause import selected_sites, sites_or_all
from crawl_tasks.cli.terminal import examples
from crawl_tasks.operate.pause import resume_sites
from crawl_tasks.settings import load_settings


@click.command(epilog=examples("crawl-tasks resume demo", "crawl-tasks resume --all"))
@sites_or_all
@why_option
def command(sites: tuple[str, ...], everything: bool, why: str) -> None:
    """Fetch again from SITES, or from all, after a pause."""
    settings = load_settings()
    cells, by = open_cells(settings), operator(why)
    chosen = selected_sites(cells, sites, everything=everything)
    is_stored = resume_sites(chosen, by, settings.database_url)
    for name in chosen:
        click.echo(f"{name} goes on")
    tell_unstored(is_stored)
    if everything:
        cells.require_all()
