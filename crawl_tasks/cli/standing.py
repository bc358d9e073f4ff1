"""Before a site is published: nothing begins anew over an emptied Redis while the database knows the way back."""

from __future__ import annotations

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.recovery.ledgers import is_lost
from crawl_tasks.recovery.rebuild import Rebuilder
from crawl_tasks.recovery.sentry import LOST
from crawl_tasks.settings import Settings
from crawl_tasks.store.upsert import Store


def require_ledger(settings: Settings, frontier: Frontier) -> None:
    """Refuse a Redis that does not hold the database's ledger, or rebuild it, as the settings say.

    Raises:
        ConfigError: it was lost and a person must say what follows, or it cannot be rebuilt.
    """
    try:
        store = Store(settings.database_url).open(create=False)
    except StoreError:  # nothing was stored yet, or whoever stores will say what is wrong
        return
    with store:
        if not is_lost(frontier, store):
            return
        if settings.recover == "ask":
            raise ConfigError(f"{LOST} (or set CRAWL_RECOVER=auto, and it is done by itself)")
        Rebuilder(frontier, store, settings.contact).run_if_lost(lambda _: None)
