"""An operator's decision at the command line: who decides, why, and its way to the database."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterable
from contextlib import nullcontext

import click

from crawl_tasks.errors import StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.logs import printable
from crawl_tasks.model import Operator
from crawl_tasks.settings import Settings
from crawl_tasks.store.upsert import Store

why_option = click.option("--why", metavar="REASON", default="", help="Your reason. status and check show it.")


def operator(why: str = "") -> Operator:
    """Return the person at this terminal."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # In a container the user may have a number and no name.
        user = str(os.getuid())
    return Operator(printable(f"{user}@{socket.gethostname()}"), printable(why, most=500))


def store_decisions(settings: Settings, cells: Iterable[Frontier]) -> None:
    """Store new decisions in the database now, where this machine has it. Elsewhere a store worker does so."""
    try:
        store = Store(settings.database_url).open(create=False)
    except StoreError:
        store = None
    with store or nullcontext():
        waiting = [frontier.cell for frontier in cells if _are_waiting(store, frontier)]
        if waiting:
            click.echo("not in the database yet: a store worker writes this there, or the next such command", err=True)


def _are_waiting(store: Store | None, frontier: Frontier) -> bool:
    """Store the decisions of a cell, and return whether some are not stored."""
    decisions = Admin(frontier).decisions
    if store is not None:
        # Another database, as an old one of this directory, would keep the decisions from the right one.
        while (epoch := store.epoch(frontier.ledger)) == Admin(frontier).restore.epoch() and (
            new := decisions.unstored()
        ):
            for site in {one.site for one in new}:
                if epoch and (text := frontier.sites.published(site)):
                    store.keep(site, text, epoch, frontier.ledger)
            store.decide(new, frontier.ledger)
            decisions.ack(new)
    return bool(decisions.unstored())
