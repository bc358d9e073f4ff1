"""`crawl-tasks sites remove`, `flush` and `list`: the end of a site, its beginning anew, and all decisions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime

import click

from crawl_tasks.cli.backend import chosen_sites, open_cells
from crawl_tasks.cli.operator import operator, store_decisions, why_option
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.logs import printable
from crawl_tasks.model import Decision
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import OutboxConsumer

OUTBOX_WAIT_S = 75.0
"""Time for the last pages of a site to be stored, in seconds: longer than a dead store worker keeps them (60 s)."""


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
    if name not in removed_sites(cells, [name]):
        chosen_sites(cells, (name,))
    frontier = cells.of(name)
    if not yes:
        click.confirm(f"Remove {name}{' and all that is stored of it' if data else ''}?", abort=True)
    admin = Admin(frontier)
    with database_of(settings, frontier, name) if data else nullcontext() as store:
        # Ended anywhere, the site is not fetched, and the same command finishes the rest.
        token = frontier.sites.remove(name, operator(why), erases=data)
        admin.restore.wipe(name, token)
        if store is not None:
            later = f"crawl-tasks sites remove {name} --data"
            store_waiting(frontier, store, f"{name} is removed, but its last pages are not stored; later: {later}")
            erased = store.erase(name, max(one.at_ms for one in admin.decisions.of([name]) if one.is_removal))
            admin.restore.end_removal(name, token, erased)
    store_decisions(settings, [frontier])
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
        frontier.sites.flush_guard(name, operator(why))
        store_decisions(settings, [frontier])
        click.echo(f"{name}: no page is known; each is fetched when it is listed")


@contextmanager
def database_of(settings: Settings, frontier: Frontier, name: str) -> Iterator[Store]:
    """Yield the database of this ledger.

    Raises:
        ConfigError: the database is another ledger's, or the site is another installation's there.
        StoreError: it cannot be used.
    """
    with Store(settings.database_url) as store:
        if store.epoch(frontier.ledger) not in (None, Admin(frontier).restore.epoch()):
            raise ConfigError(f"{name}: CRAWL_DATABASE_URL is not the database of this crawl; nothing was changed")
        store.refuse_others([name], frontier.ledger)
        yield store


def store_waiting(frontier: Frontier, store: Store | None, failure: str) -> None:
    """Store the items that wait in the outbox now, without a store by waiting for the store workers.

    Raises:
        StoreError: the pages are not stored in time. The message is that of the failure.
    """
    waiting, deadline = frontier.outbox.span(), time.monotonic() + OUTBOX_WAIT_S
    consumer = OutboxConsumer(frontier, lambda: store, batch=500, worth=1) if store is not None else None
    while frontier.outbox.has_within(waiting):
        if consumer is not None:
            consumer.run()
        if time.monotonic() > deadline:
            raise StoreError(failure)
        time.sleep(0.1)


@click.command("list", short_help="Show publishers and decisions.", epilog=examples("crawl-tasks sites list"))
def list_() -> None:
    """List the published sites with the directory that published each, and all decisions of operators."""
    for name, frontier in open_cells().sites().items():
        publisher = frontier.sites.publisher(name) or "an older version"
        cell = f" to the cell {frontier.cell}" if frontier.cell else ""
        click.echo(f"{name}: published from {printable(publisher)}{cell}")
        for one in Admin(frontier).decisions.of([name]):
            click.echo(f"  {told(one)}")


def told(decision: Decision) -> str:
    """Return a decision as one line."""
    since = datetime.fromtimestamp(decision.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    by = f" by {decision.who}" if decision.who else ""
    return printable(f"{decision.subject}: {decision.value}, {since}{by}{decision.why and ': '}{decision.why}")


def removed_sites(cells: Iterable[Frontier], names: list[str]) -> dict[str, Decision]:
    """Return the removals that stand, of the sites of these names."""
    return {one.site: one for frontier in cells for one in Admin(frontier).decisions.of(names) if one.is_removal}


def without_removed(cells: Iterable[Frontier], sites: list[Site], named: tuple[str, ...]) -> list[Site]:
    """Return the sites that were named, or all but the removed ones, of which each is told.

    Raises:
        ConfigError: no site is left.
    """
    removed = {} if named else removed_sites(cells, [site.name for site in sites])
    for name, one in removed.items():
        click.echo(f"{name}: left out, {told(one)}; crawl-tasks sites check {name} brings it back", err=True)
    if not (left := [site for site in sites if site.name not in removed]):
        raise ConfigError("every site of the sites directory was removed; name the one to bring back")
    return left
