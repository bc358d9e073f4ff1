"""Whether the ledger in Redis and the database are of one age: either of them may be lost, restored, or failed over.

Redis knows the last change of the database by its own pages, and the database knows it too. A database that was
restored lacks some of these changes, and stays behind until a recovery, whatever is written to it meanwhile.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.problems.installation_kinds import LOST_LEDGER
from crawl_tasks.store.upsert import Store

UNNOTED: Final = 10_000
"""Batches that store workers may have drawn since they noted a number: more than they draw in a second."""


class LedgerState(StrEnum):
    """Whether ledger and database belong together, and what is lost if not: the value is the line for operators."""

    WHOLE = ""
    LOST = LOST_LEDGER
    CUT_OFF = "A recovery has begun and not ended"
    NEW_DATABASE = "The database is new, and holds nothing that was stored before (is CRAWL_DATABASE_URL right?)"
    OLDER_DATABASE = "The database is older than the ledger in Redis, as one that was restored from a backup"
    OLDER_REDIS = "Redis is older than the database, as after a failover or a restored snapshot"

    @property
    def halts(self) -> bool:
        """Return whether nothing may be fetched before a recovery."""
        return self not in {LedgerState.WHOLE, LedgerState.OLDER_REDIS}

    @property
    def is_of_database(self) -> bool:
        """Return whether the database lacks pages that no first page of a list may show any more."""
        return self in {LedgerState.NEW_DATABASE, LedgerState.OLDER_DATABASE}

    @property
    def advice(self) -> str:
        """Return what is lost, with the command that mends it."""
        return f"{self}; run: crawl-tasks recover"


def loss_of(frontier: Frontier, store: Store) -> LedgerState:
    """Return what is lost, or which side is older than the other.

    Raises:
        BackendError: Redis or the database is away.
    """
    restore, kept = Admin(frontier).restore, store.epoch(frontier.ledger)
    if restore.is_lost(kept):
        return LedgerState.LOST
    # The side that is written first is read last.
    drawn = store.drawn(frontier.ledger)
    ages = restore.ages()
    change, own = store.last_change(), store.own_change(frontier.ledger)
    if ages.walks or restore.half_built():
        return LedgerState.CUT_OFF
    if own < ages.own or change < ages.change:
        is_new = kept is None or own == 0
        return LedgerState.NEW_DATABASE if is_new else LedgerState.OLDER_DATABASE
    return LedgerState.OLDER_REDIS if ages.is_older or drawn > ages.drawn else LedgerState.WHOLE


def settle_ages(frontier: Frontier, store: Store) -> None:
    """Take both sides for of one age, after a recovery."""
    restore = Admin(frontier).restore
    ages = restore.ages()
    change = store.settle_change(frontier.ledger, ages.change, ages.own)
    restore.set_ages(change, max(store.drawn(frontier.ledger), ages.drawn) + UNNOTED)
