"""`crawl-tasks sites`: `check` reads and publishes the site files, `move` brings sites to their cells."""

from __future__ import annotations

from pathlib import Path

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.operator import operator, tell_unstored
from crawl_tasks.cli.site_removal import flush, list_, remove, without_removed
from crawl_tasks.cli.terminal import examples
from crawl_tasks.discovery import Difference, cases_of, replay
from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.logs import hide_passwords, printable
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.operate.decisions import store_decisions
from crawl_tasks.operate.ledger import require_ledger
from crawl_tasks.operate.publish import PublishResult, publish_all, withdraw_others
from crawl_tasks.operate.site_files import checked_sites, doubles, file_of, undrawn, unfit_revision
from crawl_tasks.operate.transfer import move_sites
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sites.schema import Site


@click.group(epilog=examples("crawl-tasks sites check", "crawl-tasks sites list", "crawl-tasks sites remove demo"))
def command() -> None:
    """Check the site files and publish them to the workers. List, flush, move and remove sites."""


command.add_command(list_)
command.add_command(flush)
command.add_command(remove)


@command.command(
    short_help="Read the site files, show all mistakes, publish.",
    epilog=examples(
        "crawl-tasks sites check", "crawl-tasks sites check demo", "crawl-tasks sites check demo --no-publish"
    ),
)
@click.argument("name", required=False)
@click.option("--publish/--no-publish", default=True, help="Publish the sites to all workers.", show_default=True)
def check(name: str | None, publish: bool) -> None:
    """Read every file of the sites directory, or only NAME's, and show all mistakes with file, line and remedy."""
    settings = load_settings()
    sites = checked_sites(settings, (name,) if name else ())
    for site in sites:
        click.echo(describe(site))
        for line in (*doubles(site), *unfit_revision(site), *undrawn(site)):
            click.echo(f"{site.name}: {line}", err=True)
    check_cases(settings, sites)
    if publish:
        cells = open_cells(settings)
        require_ledger(settings, cells, sites)
        sites = without_removed(cells, sites, (name,) if name else ())
        published = publish_all(settings, cells, sites, show_published)
        click.echo(f"published: {', '.join(published)}")
        if not name:
            for other in withdraw_others(cells, settings, {site.name for site in sites}, operator()):
                click.echo(
                    f"{other}: its file is gone, so that no scan begins; for good: crawl-tasks sites remove {other}"
                )
        tell_unstored(store_decisions(settings.database_url, cells))
        if len(published) < len(sites):
            raise BackendError("; ".join(map(str, cells.down.values())))


def check_cases(settings: Settings, sites: list[Site]) -> None:
    """Replay the kept pages (test cases) of the sites, and print their number.

    Raises:
        ConfigError: a page gives other items than when it was kept.
    """
    mistakes: list[str] = []
    for site in sites:
        directory = cases_of(file_of(settings, site.name))
        if directory.is_dir():
            cases = list(replay(directory, compile_site(site, settings.contact)))
            mistakes += [f"{case.case}: {case.what}" for case in cases if isinstance(case, Difference)]
            click.echo(f"{site.name}: {sum(isinstance(case, Path) for case in cases)} kept pages read as before")
    if mistakes:
        raise ConfigError("\n".join([*map(printable, mistakes), "mend the rules, or keep the pages anew: try --save"]))


def show_published(result: PublishResult) -> None:
    """Print what the publication of a site changed beside the site."""
    name = result.site
    if result.failure:
        click.echo(f"{name}: not published: {hide_passwords(result.failure)}", err=True)
    if result.replaced:
        click.echo(f"{name}: in place of another file, which {result.replaced} published", err=True)
    if result.old_rules:
        click.echo(result.old_rules.advice(), err=True)
    if result.ready_again:
        pages = counted(result.ready_again, "failed page")
        click.echo(f"{name}: {pages} with another address now, ready again")


def describe(site: Site) -> str:
    """Return one line about a correct site: address, boards, stages and pace."""
    gate = site.gate
    boards = counted(site.board_count, "board")
    stages = ", ".join(stage.value for stage in site.stages)
    pace = f"{gate.window} in flight" + (f", one every {gate.delay_s:g} s" if gate.delay_s else ", no delay")
    return f"{site.name}: OK: {site.base}, {boards}, {stages}; {pace}; at most {gate.max_backlog} open"


@command.command(
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
