"""Threads that the site file before read with other rules, told where a file is published."""

from __future__ import annotations

from crawl_tasks.errors import StoreError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.settings import Settings
from crawl_tasks.sites.old_rules import OldRules


def read_before(settings: Settings, frontier: Frontier, site: str) -> Problem | None:
    """Return the problem of threads that the file before read, None without any, or without a database to ask."""
    if not OldRules.read(frontier.sites.old_rules(site)).other:
        return None
    # SQLAlchemy costs 0.25 s, and most files have had no other rules.
    from crawl_tasks.recovery.fsck import read_by_old_rules  # noqa: PLC0415
    from crawl_tasks.store.upsert import Store  # noqa: PLC0415

    try:
        with Store(settings.database_url).open(create=False) as store:
            return read_by_old_rules(frontier, store, site)
    except StoreError:
        return None
