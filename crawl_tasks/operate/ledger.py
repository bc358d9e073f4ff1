"""The check that Redis holds the ledger of the database, and the rebuild of that ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.recovery.ages import loss_of
from crawl_tasks.recovery.rebuild import Rebuilt, known_sites
from crawl_tasks.settings import Settings
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import prepare_rebuild


def require_ledger(settings: Settings, cells: Cells, sites: Sequence[Site]) -> None:
    """Refuse a Redis without the ledger of the database, or rebuild that ledger where CRAWL_RECOVER=auto.

    Raises:
        ConfigError: the ledger is lost and a person must decide, the rebuild is not possible, or one of the sites is
            another installation's.
    """
    # Publishing gives an emptied Redis a new ledger. The crawl would begin from nothing, beside a full database.
    try:
        store = Store(settings.database_url).open(create=False)
    except StoreError:
        # Nothing is stored yet, or the database is broken, which the store task reports.
        return
    with store:
        losses = [loss for frontier in cells if (loss := loss_of(frontier, store)).halts]
        if not losses:
            store.refuse_others([site.name for site in sites], settings.redis_prefix)
            _bring_decisions(store, settings, cells, {site.name for site in sites} - cells.sites().keys())
            return
        if settings.recover == "ask":
            raise ConfigError(
                f"{losses[0].advice} (or set CRAWL_RECOVER=auto, and it is done by itself); does another"
                " installation fill that database: set a CRAWL_REDIS_PREFIX of its own here"
            )
        for frontier in cells:
            prepare_rebuild(frontier, store, settings.contact, cells).run_if_lost(lambda _: None)


def _bring_decisions(store: Store, settings: Settings, cells: Cells, new: set[str]) -> None:
    """Restore what operators decided about new sites, as where another installation removed one."""
    for decision in store.decisions(settings.redis_prefix) if new and not cells.down else ():
        if decision.site in new:
            Admin(cells.of(decision.site)).decisions.restore([decision])


def can_recover(cells: Cells, store: Store) -> bool:
    """Return whether the database holds anything to rebuild a ledger from."""
    return any(store.epoch(cell.ledger) or loss_of(cell, store) for cell in cells.by_name.values())


def recover(
    cells: Cells, store: Store, contact: str | None, report: Callable[[Rebuilt], None], *, is_forced: bool
) -> None:
    """Build the lost ledgers anew from the database, with force all of them, and report each site."""
    for frontier in cells:
        rebuild = prepare_rebuild(frontier, store, contact, cells)
        if is_forced:
            rebuild.run(known_sites(frontier, store, cells), report, walk=True)
        else:
            rebuild.run_if_lost(report)
