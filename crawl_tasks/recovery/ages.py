"""Whether the ledger in Redis and the database are of one age: either of them may be lost, restored, or failed over."""

from __future__ import annotations

from typing import Final

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.problems.installation_kinds import LOST_LEDGER
from crawl_tasks.store.upsert import Store

OLDER_DATABASE: Final = "The database is older than the ledger in Redis, as one that was restored from a backup"
OLDER_REDIS: Final = "Redis is older than the database, as after a failover or a restored snapshot"


UNNOTED: Final = 10_000
"""Batches that store workers may have drawn since they noted a number: more than they draw in a second."""


def loss_of(frontier: Frontier, store: Store) -> str:
    """Return what is lost, in words, or that one side is older than the other, empty where both belong together.

    Raises:
        BackendError: Redis or the database is away.
    """
    restore, kept = Admin(frontier).restore, store.epoch(frontier.ledger)
    if restore.is_lost(kept):
        return LOST_LEDGER
    # The side that is written first is read last.
    drawn = store.drawn(frontier.ledger)
    ages = restore.ages()
    change = store.last_change()
    if kept is None and change == 0:
        return ""  # a database that begins anew
    if change < ages.change:
        return OLDER_DATABASE
    return OLDER_REDIS if ages.is_older or drawn > ages.drawn else ""


def settle_ages(frontier: Frontier, store: Store) -> None:
    """Take both sides for of one age, after a recovery."""
    restore = Admin(frontier).restore
    ages = restore.ages()
    store.raise_change(ages.change)
    restore.set_ages(store.last_change(), max(store.drawn(frontier.ledger), ages.drawn) + UNNOTED)
