"""The ledger at the command line: the balance of a site, and the check that Redis holds the ledger of the database."""

from __future__ import annotations

from collections.abc import Sequence

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.site_kinds import LEDGER_UNBALANCED
from crawl_tasks.monitor.site_snapshot import by_state
from crawl_tasks.recovery.ages import loss_of
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
    for one in store.decisions(settings.redis_prefix) if new and not cells.down else ():
        if one.site in new:
            Admin(cells.of(one.site)).decisions.restore([one])


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
