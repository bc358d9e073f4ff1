"""Before step 1: a site becomes known to every worker: its text, its terms for the frontier, its boards."""

from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.frontier import BoardTerms, Frontier
from crawl_tasks.model import Reach, Stage
from crawl_tasks.sites.address import Addresses
from crawl_tasks.sites.calendar import minutes, offsets
from crawl_tasks.sites.published import dump_site
from crawl_tasks.sites.schema import Board, BoardKind, Site
from crawl_tasks.sites.start import first_page

LEASE_GRACE_S = 15.0
"""Time for parsing and the commit, on top of an attempt's deadline, before a lease is taken for lost."""

SCAN_MARK = "@SCAN@"
"""Stands in a board's line where produce.lua writes the number of the scan."""


def publish_site(frontier: Frontier, site: Site, contact: str | None) -> None:
    """Make a site known to all workers; boards keep their schedule, new ones are due at once.

    Raises:
        ConfigError: it is a public site and nobody can be reached about us, or a board has no address.
    """
    require_contact(site, contact)
    boards = board_terms(site)
    frontier.sites.publish(site.name, site.version, dump_site(site), terms_of(site), boards)


def require_contact(site: Site, contact: str | None) -> None:
    """Refuse a public site while no contact is set.

    Raises:
        ConfigError: the site is public and there is no contact.
    """
    if is_public(site) and not contact:
        raise ConfigError(
            f"site {site.name}: {site.base} is public, so its operator must be able to reach you;"
            " set CRAWL_CONTACT to a page or an e-mail address of yours"
        )


def is_public(site: Site) -> bool:
    """Say whether any host of a site is not one that its file names as private."""
    base = urlsplit(site.base)
    port = base.port or (443 if base.scheme == "https" else 80)
    private = {place.rpartition(":")[0] for place in site.private_hosts}
    return f"{base.hostname}:{port}" not in site.private_hosts or not private.issuperset(site.hosts)


def terms_of(site: Site) -> dict[str, str | int]:
    """Write what the frontier must know of a site; times in ms, order and guard as one letter a stage."""
    gate = site.gate
    return {
        "window": gate.window,
        "delay_ms": round(gate.delay_s * 1000),
        "slow_ms": round(gate.slow_s * 1000),
        "daily_budget": gate.daily_budget,
        "daily_new": gate.daily_new,
        "quiet": " ".join(map(minutes, gate.quiet_hours)),
        "offsets": offsets(ZoneInfo(site.timezone), int(time.time()) // 3600 * 3600),
        "weights": " ".join(str(getattr(gate.weights, lane)) for lane in type(gate.weights).model_fields),
        "lease_ms": round((gate.deadline_s + LEASE_GRACE_S) * 1000),
        "max_attempts": gate.max_attempts,
        "max_backlog": gate.max_backlog,
        "order": "".join(getattr(site.order, stage.value)[0] for stage in Stage),
        "guard": "".join(getattr(site.guard, stage.value)[0] for stage in Stage),
        "rolling_ms": site.guard_window_s * 1000,
        "guard_capacity": site.guard_capacity,
        "breaker_after": site.breaker.after,
        "breaker_percent": site.breaker.percent,
        "probe_ms": round(site.breaker.probe_s * 1000),
        "full_pass_ms": round(site.interval.full_pass_s * 1000),
    }


def board_terms(site: Site) -> list[BoardTerms]:
    """Write each board's first list page as a line to admit, and its interval.

    Raises:
        SiteError: a board has no address.
    """
    addresses = Addresses(site)
    terms = [_terms_of_board(site, board, addresses) for board in site.boards]
    if not site.interval.full_pass_s:
        return terms
    period_ms, count = round(site.interval.full_pass_s * 1000), len(terms)
    return [
        replace(
            one, full_line=_full_line(site, board, addresses), full_first_ms=period_ms * (count + place) // (2 * count)
        )
        for place, (one, board) in enumerate(zip(terms, site.boards, strict=True))
    ]


def _full_line(site: Site, board: Board, addresses: Addresses) -> str:
    """Write the first list page of a full pass, behind everything else; a hub has no pages to walk."""
    if board.kind is not BoardKind.LIST:
        return ""
    scan = first_page(site, board, addresses, f"full{SCAN_MARK}")
    return line_of(scan._replace(priority=0, reach=Reach(whole=f"full{SCAN_MARK}")))


def _terms_of_board(site: Site, board: Board, addresses: Addresses) -> BoardTerms:
    scan = first_page(site, board, addresses, SCAN_MARK)
    start_s, min_s, max_s = site.interval.start_s, site.interval.min_s, site.interval.max_s
    if board.interval_s is not None:
        start_s = min_s = max_s = board.interval_s
    return BoardTerms(board.id, line_of(scan), round(start_s * 1000), round(min_s * 1000), round(max_s * 1000))
