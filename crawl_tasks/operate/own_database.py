"""The database that a ledger fills, and the storing of the pages that wait for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import OutboxConsumer

OUTBOX_WAIT_S = 75.0
"""Time for the last pages of a site to be stored, in seconds: longer than a dead store worker keeps them (60 s)."""


@contextmanager
def database_of(database_url: str, frontier: Frontier, site: str) -> Iterator[Store]:
    """Yield the database of this ledger.

    Raises:
        ConfigError: the database is another ledger's, or the site is another installation's there.
        StoreError: it cannot be used.
    """
    with Store(database_url) as store:
        if store.epoch(frontier.ledger) not in (None, Admin(frontier).restore.epoch()):
            raise ConfigError(f"{site}: CRAWL_DATABASE_URL is not the database of this crawl; nothing was changed")
        store.refuse_others([site], frontier.ledger)
        yield store


@contextmanager
def database_here(database_url: str, frontier: Frontier) -> Iterator[Store | None]:
    """Yield the database that a cell fills, None where this machine does not have it."""
    with ExitStack() as stack:
        try:
            store = stack.enter_context(Store(database_url).open(create=False))
        except StoreError:
            yield None
            return
        # Another database, as an old one of this directory, would keep the last pages from the right one.
        is_ours = store.epoch(frontier.ledger) == Admin(frontier).restore.epoch()
        yield store if is_ours else None


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
