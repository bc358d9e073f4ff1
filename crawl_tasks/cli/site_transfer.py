"""`crawl-tasks sites move`: brings sites to the cells that the hash gives them, as after a cell was added."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.operator import store_decisions
from crawl_tasks.cli.site_removal import store_waiting
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import ConfigError, CrawlError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.transfer import SiteTransfer
from crawl_tasks.frontier.cells import Cells, home_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.recovery.rebuild import RIGHT_MS
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.store.upsert import Store

LOOK_EVERY_S = 0.1
RENEW_EVERY_S = 5.0


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
    cells = open_cells(settings)
    cells.require_all()
    misplaced = cells.misplaced()
    published = cells.sites()
    for name in sites:
        if name not in misplaced and name not in published:
            raise ConfigError(f"site {name!r} is not published")
    for name, source in sorted(misplaced.items()):
        if not sites or name in sites:
            reached = _target_of(cells, name, source)
            _move(settings, name, source, reached)
            # A move that was begun under another list of cells is ended first.
            if (home := cells.by_name[home_of(name, cells.names)]) is not reached:
                _move(settings, name, reached, home)
    click.echo("every site is in its cell" if not sites else f"in their cells: {', '.join(sites)}")


def _target_of(cells: Cells, site: str, source: Frontier) -> Frontier:
    """Return the cell to which a site goes, or went when an earlier mover was cut off. It may have arrived there."""
    begun = source.sites.leaving().get(site, "")
    return cells.by_name[begun if begun in cells.by_name else home_of(site, cells.names)]


def _move(settings: Settings, site: str, source: Frontier, target: Frontier) -> None:
    began, keys = time.monotonic(), 0
    with _locked(source, target) as renew:
        mover = SiteTransfer(site, source, target, renew)
        mover.begin()
        if source is target:
            mover.stay()
        else:
            try:
                _wait_until_quiet(settings, site, source, mover, renew)
            except (CrawlError, KeyboardInterrupt):
                mover.stay()
                raise
            keys = mover.arrive()
        mover.end()
    where = f"moved from {source.cell} to {target.cell}" if source is not target else f"stays in {source.cell}"
    click.echo(f"{site}: {where}, {keys} keys, stood still for {time.monotonic() - began:.1f} s")


@contextmanager
def _own_database(settings: Settings, source: Frontier) -> Iterator[Store | None]:
    """Yield the database that a cell fills, None where this machine does not have it."""
    with ExitStack() as stack:
        try:
            store = stack.enter_context(Store(settings.database_url).open(create=False))
        except StoreError:
            yield None
            return
        # Another database, as an old one of this directory, would keep the last pages from the right one.
        is_ours = store.epoch(source.ledger) == Admin(source).restore.epoch()
        yield store if is_ours else None


def _wait_until_quiet(
    settings: Settings, site: str, source: Frontier, mover: SiteTransfer, renew: Callable[[], None]
) -> None:
    """Wait until nothing of a site is fetched or unstored, and freeze the site."""
    # An earlier mover came so far.
    if not source.sites.is_published(site):
        return
    while True:
        while mover.begin():
            # Where no worker lives, nobody else ends the leases of those that died.
            source.tick(_name())
            renew()
            time.sleep(LOOK_EVERY_S)
        failure = f"{site}: its last pages are not stored; start a store worker, then again: crawl-tasks sites move"
        with _own_database(settings, source) as store:
            store_waiting(source, store, failure)
        renew()
        store_decisions(settings, [source])
        if Admin(source).decisions.are_unstored(site):
            raise StoreError(failure)
        if mover.freeze():
            return


@contextmanager
def _locked(*frontiers: Frontier) -> Iterator[Callable[[], None]]:
    """Hold the recovery locks of cells, so that nobody rebuilds a ledger meanwhile. Yield a function that extends them.

    Raises:
        ConfigError: another process holds a lock.
    """
    locks = [Admin(frontier).restore for frontier in frontiers]
    renewed_at = 0.0

    def renew() -> None:
        nonlocal renewed_at
        if time.monotonic() < renewed_at + RENEW_EVERY_S:
            return
        renewed_at = time.monotonic()
        for lock in locks:
            if other := lock.lock(_name(), RIGHT_MS):
                raise ConfigError(f"{other} rebuilds a ledger or moves sites already; wait for its end")

    try:
        renew()
        yield renew
    finally:
        for lock in locks:
            lock.lock(_name(), 0)


def _name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:move"
