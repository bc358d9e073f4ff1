"""Pause, drain and resume of sites, each for the command line and for the status page alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from crawl_tasks.errors import CrawlError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.frontier.sites import Sites
from crawl_tasks.model import Operator
from crawl_tasks.operate.decisions import store_decisions

LOOK_EVERY_S = 0.2


def pause_sites(sites: Mapping[str, Frontier], by: Operator, database_url: str) -> bool:
    """Lease nothing of some sites any more. Pages that are being fetched end. Return and raise as `_decide`."""
    return _decide(sites, Sites.pause, by, database_url)


def drain_sites(sites: Mapping[str, Frontier], by: Operator, database_url: str) -> bool:
    """Begin no scan of some sites any more, and finish their open requests. Return and raise as `_decide`."""
    return _decide(sites, Sites.drain, by, database_url)


def resume_sites(sites: Mapping[str, Frontier], by: Operator, database_url: str) -> bool:
    """End the pause or the drain of some sites. Return and raise as `_decide`."""
    return _decide(sites, Sites.resume, by, database_url)


def _decide(
    sites: Mapping[str, Frontier], decide: Callable[[Sites, str, Operator], object], by: Operator, database_url: str
) -> bool:
    """Decide about sites, and store the decisions. Return whether the database has them already.

    Raises:
        ConfigError: a site is not published any more.
    """
    for site, frontier in sites.items():
        decide(frontier.sites, site, by)
    return store_decisions(database_url, sites.values())


def count_sites(sites: Mapping[str, Frontier]) -> list[RequestCounts]:
    """Return the counts of sites in their order, in few calls to each cell."""
    frontiers = {id(frontier): frontier for frontier in sites.values()}.values()
    counted = {
        counts.site: counts
        for frontier in frontiers
        for counts in Inspector(frontier).count_all([name for name, home in sites.items() if home is frontier])
    }
    return [counted[name] for name in sites]


def wait_until(sites: Mapping[str, Frontier], busy_pages: Callable[[RequestCounts], int], within_s: float) -> None:
    """Wait until no site has busy pages.

    Raises:
        CrawlError: a site is not quiet in time.
    """
    deadline = time.monotonic() + within_s
    while busy := [counts.site for counts in count_sites(sites) if busy_pages(counts)]:
        if time.monotonic() > deadline:
            see = f"wait longer with --within, or see: crawl-tasks status {busy[0]}"
            raise CrawlError(f"not quiet after {within_s:g} s: {', '.join(busy)}; {see}")
        time.sleep(LOOK_EVERY_S)
