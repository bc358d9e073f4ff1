"""The move of sites to the cells that the hash gives them, as after a cell was added."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from crawl_tasks.errors import ConfigError, CrawlError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.transfer import SiteTransfer
from crawl_tasks.frontier.cells import Cells, home_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.operate.decisions import store_decisions
from crawl_tasks.operate.own_database import database_here, store_waiting
from crawl_tasks.recovery.rebuild import RIGHT_MS

LOOK_EVERY_S = 0.1
RENEW_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class TransferResult:
    """The move of a site from one cell to another, or its stay where both are the same."""

    site: str
    source: str
    target: str
    keys: int
    stood_still_s: float
    is_stored: bool
    """Whether the database has all decisions of the cell."""


def move_sites(cells: Cells, sites: tuple[str, ...], database_url: str) -> Iterator[TransferResult]:
    """Move some sites, or all, to the cells that the hash gives them, and yield each move. Workers run meanwhile.

    Raises:
        ConfigError: a site is not published, or another process moves sites.
        RedisUnreachable: a cell does not answer.
        StoreError: the last pages of a site are not stored.
    """
    cells.require_all()
    misplaced = cells.misplaced()
    published = cells.sites()
    for name in sites:
        if name not in misplaced and name not in published:
            raise ConfigError(f"site {name!r} is not published")
    for name, source in sorted(misplaced.items()):
        if not sites or name in sites:
            reached = _target_of(cells, name, source)
            yield _move(database_url, name, source, reached)
            # A move that was begun under another list of cells is ended first.
            if (home := cells.by_name[home_of(name, cells.names)]) is not reached:
                yield _move(database_url, name, reached, home)


def _target_of(cells: Cells, site: str, source: Frontier) -> Frontier:
    """Return the cell to which a site goes, or went when an earlier mover was cut off. It may have arrived there."""
    begun = source.sites.leaving().get(site, "")
    return cells.by_name[begun if begun in cells.by_name else home_of(site, cells.names)]


def _move(database_url: str, site: str, source: Frontier, target: Frontier) -> TransferResult:
    began, keys, is_stored = time.monotonic(), 0, True
    with _locked(source, target) as renew:
        mover = SiteTransfer(site, source, target, renew)
        mover.begin()
        if source is target:
            mover.stay()
        else:
            try:
                is_stored = _wait_until_quiet(database_url, site, source, mover, renew)
            except (CrawlError, KeyboardInterrupt):
                mover.stay()
                raise
            keys = mover.arrive()
        mover.end()
    return TransferResult(site, source.cell, target.cell, keys, time.monotonic() - began, is_stored)


def _wait_until_quiet(
    database_url: str, site: str, source: Frontier, mover: SiteTransfer, renew: Callable[[], None]
) -> bool:
    """Wait until nothing of a site is fetched or unstored, and freeze the site.

    Return whether the database has all decisions of the cell.
    """
    # An earlier mover came so far.
    if not source.sites.is_published(site):
        return True
    while True:
        while mover.begin():
            # Where no worker lives, nobody else ends the leases of those that died.
            source.tick(_name())
            renew()
            time.sleep(LOOK_EVERY_S)
        failure = f"{site}: its last pages are not stored; start a store worker, then again: crawl-tasks sites move"
        with database_here(database_url, source) as store:
            store_waiting(source, store, failure)
        renew()
        is_stored = store_decisions(database_url, [source])
        if Admin(source).decisions.are_unstored(site):
            raise StoreError(failure)
        if mover.freeze():
            return is_stored


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
