"""The ledger check before a site is published: Redis must hold the ledger of the database."""

from __future__ import annotations

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.settings import Settings
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import LOST, prepare_rebuild


def require_ledger(settings: Settings, cells: Cells) -> None:
    """Refuse a Redis without the ledger of the database, or rebuild that ledger where CRAWL_RECOVER=auto.

    Raises:
        ConfigError: the ledger is lost and a person must decide, or the rebuild is not possible.
    """
    # Publishing gives an emptied Redis a new ledger. The crawl would begin from nothing, beside a full database.
    try:
        store = Store(settings.database_url).open(create=False)
    except StoreError:
        # Nothing is stored yet, or the database is broken, which the store task reports.
        return
    with store:
        if not any(Admin(frontier).restore.is_lost(store.epoch(frontier.cell)) for frontier in cells):
            return
        if settings.recover == "ask":
            raise ConfigError(f"{LOST} (or set CRAWL_RECOVER=auto, and it is done by itself)")
        for frontier in cells:
            prepare_rebuild(frontier, store, settings.contact, cells).run_if_lost(lambda _: None)
