"""`crawl-tasks reparse`: pages that could not be read, read again by the site file as it is now."""

from __future__ import annotations

from datetime import UTC, datetime

import click
from rich.console import Console
from rich.markup import escape

from crawl_tasks.cli.backend import chosen_sites, open_frontier
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.cli.sites import checked_sites
from crawl_tasks.cli.try_ import show
from crawl_tasks.errors import ParseError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.quarantine import KeptPage
from crawl_tasks.model import Stage, State
from crawl_tasks.monitor.advice import counted
from crawl_tasks.publishing import publish_site
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sitebook import open_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.survey.trial import reread


@click.command(
    epilog=examples(
        "crawl-tasks reparse demo --list            # what was kept, and why it could not be read",
        "crawl-tasks reparse demo --stage post      # read it again by config/sites/demo.yaml",
        "crawl-tasks reparse demo --revive          # publish the file and let the parked pages go, if all is read",
    )
)
@click.argument("name")
@click.option("--stage", type=click.Choice([stage.value for stage in Stage]), help="Only pages of this kind.")
@click.option("--list", "only_list", is_flag=True, help="Show what is kept and do nothing.")
@click.option("--revive", is_flag=True, help="If all is read: publish the site and fetch again what was parked.")
@click.pass_context
def command(ctx: click.Context, name: str, *, stage: str | None, only_list: bool, revive: bool) -> None:
    """Read the pages of NAME that could not be read once more, with the site file as it is now, field by field.

    Nothing is fetched and nothing stored. Ends with 1 where something is missing that a crawl needs.
    """
    settings = load_settings()
    frontier = open_frontier(settings)
    stages = [Stage(stage)] if stage else list(Stage)
    chosen_sites(frontier, (name,))
    pages = [kept for one in stages for kept in frontier.quarantine.kept(name, one)]
    if only_list or not pages:
        for kept in pages:
            click.echo(_line(kept))
        click.echo(f"{counted(len(pages), 'page')} of {name} {'is' if len(pages) == 1 else 'are'} kept")
        return
    [site] = checked_sites(settings, (name,))
    if _missing(site, pages, settings):
        ctx.exit(Exit.FAILURES)
    if not revive:
        read = counted(len(pages), "page")
        click.echo(f"all that is kept, {read}, is read; let them go with: crawl-tasks reparse {name} --revive")
        return
    publish_site(frontier, site, settings.contact)
    _reopen(frontier, name, sorted({kept.request.stage for kept in pages}))


def _missing(site: Site, pages: list[KeptPage], settings: Settings) -> list[str]:
    """Show every page field by field and name what is still not read."""
    opened = open_site(site, settings.contact)
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    missing = [
        lost
        for kept in pages
        for lost in show(console, reread(opened, kept.request, kept.page), opened, settings, save=False)
    ]
    for lost in missing:
        console.print(escape(printable(f"missing  {lost}", 300)), soft_wrap=True)
    return missing


def _reopen(frontier: Frontier, name: str, stages: list[Stage]) -> None:
    total = sum(frontier.quarantine.reopen(name, stage) for stage in stages)
    while revived := frontier.graves.revive(name, State.PARKED, ParseError.reason):
        total += revived
    click.echo(f"{name} is published; {total} parked requests are ready again")


def _line(kept: KeptPage) -> str:
    at = datetime.fromtimestamp(kept.page.at_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
    size = len(kept.page.body)
    return printable(f"{at}Z {kept.request.stage.value} {kept.request.address} {size} bytes: {kept.why}", most=900)
