"""The end of a site, its beginning anew, and the removals that stand."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Decision, Operator
from crawl_tasks.operate.decisions import store_decisions
from crawl_tasks.operate.own_database import database_of, store_waiting


def remove(frontier: Frontier, site: str, by: Operator, database_url: str, *, with_data: bool) -> bool:
    """Remove a site, with its data also from the database. Return whether the database has the decision already.

    Raises:
        ConfigError: the database is another ledger's. Nothing was changed.
        StoreError: the last pages of the site are not stored, so that its data stay.
    """
    admin = Admin(frontier)
    with database_of(database_url, frontier, site) if with_data else nullcontext() as store:
        # Ended anywhere, the site is not fetched, and the same command finishes the rest.
        token = frontier.sites.remove(site, by, erases=with_data)
        admin.restore.wipe(site, token)
        if store is not None:
            later = f"crawl-tasks sites remove {site} --data"
            store_waiting(frontier, store, f"{site} is removed, but its last pages are not stored; later: {later}")
            erased = store.erase(site, max(row.at_ms for row in admin.decisions.of([site]) if row.is_removal))
            admin.restore.end_removal(site, token, erased)
    return store_decisions(database_url, [frontier])


def flush_guard(frontier: Frontier, site: str, by: Operator, database_url: str) -> bool:
    """Forget which pages of a site are known. Return whether the database has the decision already."""
    frontier.sites.flush_guard(site, by)
    return store_decisions(database_url, [frontier])


def removed_sites(cells: Iterable[Frontier], names: list[str]) -> dict[str, Decision]:
    """Return the removals that stand, of the sites of these names."""
    return {row.site: row for frontier in cells for row in Admin(frontier).decisions.of(names) if row.is_removal}
