"""Beside the flow: whether the database and Redis belong together."""

from __future__ import annotations

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.store.upsert import Store


def is_lost(frontier: Frontier, store: Store) -> bool:
    """Say whether the database was filled from another ledger than the one that Redis holds now, if any."""
    kept = store.epoch()
    return kept is not None and kept != frontier.memory.epoch()
