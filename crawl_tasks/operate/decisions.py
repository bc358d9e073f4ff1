"""The decisions of operators: who decides and why, and the way of a decision to the database."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from crawl_tasks.errors import StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.logs import printable
from crawl_tasks.model import Operator

if TYPE_CHECKING:
    from crawl_tasks.store.upsert import Store


def operator(who: str, why: str = "") -> Operator:
    """Return who decides and why, as texts that are safe to show."""
    return Operator(printable(who), printable(why, most=500))


def store_decisions(database_url: str, frontiers: Iterable[Frontier]) -> bool:
    """Store new decisions in the database now, where this machine has it. Elsewhere a store worker does so.

    Return whether the database has all decisions.
    """
    # SQLAlchemy costs 0.25 s, which the start of an exporter does without.
    from crawl_tasks.store.upsert import Store  # noqa: PLC0415

    frontiers = list({id(frontier): frontier for frontier in frontiers}.values())
    # What cannot be stored stays in Redis, where the next such decision or a store worker finds it.
    with suppress(StoreError), Store(database_url).open(create=False) as store:
        for frontier in frontiers:
            _store(store, frontier)
    return not any(Admin(frontier).decisions.unstored() for frontier in frontiers)


def _store(store: Store, frontier: Frontier) -> None:
    """Store the decisions of a cell."""
    decisions = Admin(frontier).decisions
    # Another database, as an old one of this directory, would keep the decisions from the right one.
    while (epoch := store.epoch(frontier.ledger)) == Admin(frontier).restore.epoch() and (new := decisions.unstored()):
        for site in {decision.site for decision in new}:
            if epoch and (text := frontier.sites.published(site)):
                store.keep(site, text, epoch, frontier.ledger)
        store.decide(new, frontier.ledger)
        decisions.ack(new)
