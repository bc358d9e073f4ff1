"""`crawl-tasks sites remove`, `flush` and `list`: the end of a site, its beginning anew, and all decisions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.operator import operator, tell_unstored, why_option
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.logs import printable
from crawl_tasks.model import Decision
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.operate import removal
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.schema import Site


@click.command(
    short_help="End a site.",
    epilog=examples("crawl-tasks sites remove demo --why 'gone offline'", "crawl-tasks sites remove demo --data"),
)
@click.argument("name")
@click.option("--data", is_flag=True, help="Delete its posts and comments in the database as well.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@why_option
def remove(name: str, *, data: bool, yes: bool, why: str) -> None:
    """Remove the site NAME: requests, schedule and duplicate guard. Nothing of it is fetched any more.

    `sites check` and `run` leave out a removed site, although its file is there, until they are given its name.
    """
    settings = load_settings()
    cells = open_cells(settings)
    if name not in removal.removed_sites(cells, [name]):
        chosen_sites(cells, (name,))
    frontier = cells.of(name)
    if not yes:
        click.confirm(f"Remove {name}{' and all that is stored of it' if data else ''}?", abort=True)
    tell_unstored(removal.remove(frontier, name, operator(why), settings.database_url, with_data=data))
    click.echo(f"{name} is removed{', with all that was stored of it' if data else '; what is stored of it stays'}")


@click.command(
    short_help="Forget the duplicates or the open requests of a site.",
    epilog=examples("crawl-tasks sites flush demo --guard", "crawl-tasks sites flush demo --guard --queue --yes"),
)
@click.argument("name")
@click.option("--guard", is_flag=True, help="Forget which pages are known. Each is fetched again when a list shows it.")
@click.option("--queue", is_flag=True, help="Drop the requests that nobody has begun.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@why_option
def flush(name: str, *, guard: bool, queue: bool, yes: bool, why: str) -> None:
    """Empty the duplicate guard of the site NAME, its queue, or both.

    Stored rows stay. Failed pages stay too, until crawl-tasks failed drop --site NAME.
    """
    if not (guard or queue):
        raise click.UsageError("name what to flush: --guard, --queue, or both")
    settings = load_settings()
    frontier = chosen_sites(open_cells(settings), (name,))[name]
    if not yes:
        what = " and ".join(word for word, is_meant in (("guard", guard), ("queue", queue)) if is_meant)
        click.confirm(f"Flush the {what} of {name}?", abort=True)
    if queue:
        click.echo(f"{name}: {counted(frontier.sites.flush_queue(name), 'request')} dropped")
    # Behind the queue: what is dropped meanwhile would be known.
    if guard:
        tell_unstored(removal.flush_guard(frontier, name, operator(why), settings.database_url))
        click.echo(f"{name}: no page is known; each is fetched when it is listed")


@click.command("list", short_help="Show publishers and decisions.", epilog=examples("crawl-tasks sites list"))
def list_() -> None:
    """List the published sites with the directory that published each, and all decisions of operators."""
    for name, frontier in open_cells().sites().items():
        publisher = frontier.sites.publisher(name) or "a recovery"
        cell = f" to the cell {frontier.cell}" if frontier.cell else ""
        click.echo(f"{name}: published from {printable(publisher)}{cell}")
        for decision in Admin(frontier).decisions.of([name]):
            click.echo(f"  {decision_line(decision)}")


def decision_line(decision: Decision) -> str:
    """Return a decision as one line."""
    since = datetime.fromtimestamp(decision.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    by = f" by {decision.who}" if decision.who else ""
    return printable(f"{decision.subject}: {decision.value}, {since}{by}{decision.why and ': '}{decision.why}")


def without_removed(cells: Iterable[Frontier], sites: list[Site], named: tuple[str, ...]) -> list[Site]:
    """Return the sites that were named, or all but the removed ones, of which each is told.

    Raises:
        ConfigError: no site is left.
    """
    removed = {} if named else removal.removed_sites(cells, [site.name for site in sites])
    for name, decision in removed.items():
        line = decision_line(decision)
        click.echo(f"{name}: left out, {line}; crawl-tasks sites check {name} brings it back", err=True)
    if not (left := [site for site in sites if site.name not in removed]):
        raise ConfigError("every site of the sites directory was removed; name the one to bring back")
    return left
