"""The ledger at the command line: the balance of a site, and the check that Redis holds the ledger of the database."""

from __future__ import annotations

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.site_kinds import LEDGER_UNBALANCED
from crawl_tasks.monitor.site_snapshot import by_state
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


def ledger_line(counts: RequestCounts) -> str:
    """Return the balance of a site as one line."""
    if not counts.is_balanced:
        return LEDGER_UNBALANCED.problem(counts.site, reason=counts.imbalance()).advice(counts.site)
    states = " + ".join(f"{gettext(state)} {count}" for state, count in by_state(counts).items())
    return gettext("{site}: admitted {count} = {states}: balances",
                   site=counts.site, count=counts.admitted, states=states)  # fmt: skip


def ledger_row(counts: RequestCounts) -> dict[str, str | int | bool]:
    """Return the balance of a site as JSON values."""
    return {
        "site": counts.site,
        "admitted": counts.admitted,
        **by_state(counts),
        "balances": counts.is_balanced,
        "imbalance": counts.imbalance(),
    }
