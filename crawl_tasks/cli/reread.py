"""`crawl-tasks reread`: archived pages read by today's rules into the database, without a request to the forum."""

from __future__ import annotations

from collections import Counter

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.selection_options import SinceOption
from crawl_tasks.cli.terminal import examples
from crawl_tasks.logs import printable
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.operate.reread import reread
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.item_steps import read_steps
from crawl_tasks.worker.runtime import grants_of


@click.command(
    epilog=examples(
        "crawl-tasks sites check demo && crawl-tasks reread demo     # after a rule was mended",
        "crawl-tasks reread demo --since 7d",
    )
)
@click.argument("name")
@click.option("--since", type=SinceOption(), help="Read only pages that were fetched since then, as 7d or 2026-01-31.")
@click.pass_context
def command(ctx: click.Context, name: str, since: int | None) -> None:
    """Read the archived pages of site NAME by its published rules, and correct the database.

    Posts, comments, versions and boards become as if these rules had read the pages from the beginning.
    Nothing is fetched, and no link is followed. A page that these rules cannot read changes nothing. You may run the
    command beside the crawl, and repeat it after an interruption. The exit code is 1 when a page could not be read.
    """
    settings = load_settings()
    frontier = chosen_sites(open_cells(settings), (name,))[name]
    registry = SiteRegistry(frontier, settings.contact, read_steps(settings.items), grants_of(settings).read)
    site = registry.latest(name)
    result = reread(frontier, site, settings.archive_dir, since or 0, settings.database_url)
    files = counted(result.files, "file")
    click.echo(f"{name}: {counted(result.pages, 'page')} of {files} read by {site.site.version}")
    click.echo(f"{result.added} rows added, {result.changed} changed, {result.removed} removed")
    for (stage, why), count in Counter(result.unread).most_common(10):
        pages = counted(count, f"{stage.value} page")
        click.echo(f"not read, left as it was: {pages}, {printable(why, 200)}", err=True)
    ctx.exit(Exit.FAILURES if result.unread else Exit.OK)
