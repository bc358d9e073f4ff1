"""The site publisher: makes a site known to every worker, with text, terms for the frontier and boards."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from crawl_tasks.errors import ConfigError, SiteError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.model import Reach, Stage
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.crawl_policy import Freshness, Schedule
from crawl_tasks.sites.old_addresses import OldAddresses
from crawl_tasks.sites.old_rules import OldRules
from crawl_tasks.sites.quiet_hours import minutes, offsets
from crawl_tasks.sites.schema import TELLS_ALL, Board, BoardKind, Site
from crawl_tasks.sites.site_json import dump_site, read_site
from crawl_tasks.sites.start_entry import first_page

LEASE_GRACE_S = 15.0
"""Time for parsing and the commit, in seconds. A lease lasts as long as this and the deadline of an attempt."""

NEWS_SHARE = {BoardKind.NEWS: 0.85, BoardKind.FRONT: 0.4}
"""The most of the budget of list requests that such pages take. A front page leaves more to the boards it names."""

NEWS_PART = 0.25
"""The interval of such a page, as a part of the goal. At a half, the threads of one look queue at the gate."""

_SAMPLE = 20
"""Boards whose terms stand for all in a signature."""

SCAN_MARK = "@SCAN@"
"""The placeholder in a board's line for the number of the scan, which produce.lua writes."""


def publish_site(frontier: Frontier, site: Site, contact: str | None, publisher: str = "") -> int:
    """Make a site known to all workers. Known boards keep their schedule, and new ones are due at once.

    A `publisher`, as host:directory of the site file, brings a removed or withdrawn site back.

    Returns:
        The number of failed pages that have another address by this version, and are ready again.

    Raises:
        ConfigError: the site is public and no contact is set, or a board has no address.
    """
    require_contact(site, contact)
    name, version, terms, signature = site.name, site.version, terms_of(site), _signature(site)
    if frontier.sites.renew(name, version, terms, publisher, signature):
        return 0
    boards, text = board_terms(site), frontier.sites.published(name)
    before = read_or_none(text) if text else None
    old = OldAddresses.read(frontier.sites.old_addresses(name))
    old = old.after(before, site) if before else old
    terms["old_addresses"] = old.text()
    rules = OldRules.read(frontier.sites.old_rules(name))
    terms["old_rules"] = (rules.after(before, site) if before else rules).text()
    frontier.sites.publish(name, version, dump_site(site), terms, boards, publisher, signature)
    is_same = before is not None and before.version == version
    return 0 if is_same or not text else _readdress(frontier, site, old)


def check_addresses(site: Site) -> None:
    """Refuse a site with a board that has no address. Of a list, the first boards stand for all.

    Raises:
        SiteError: a board has no address.
    """
    addresses = Addresses(site)
    for board in site.first_boards(_SAMPLE) if site.board_list else site.named_boards:
        _terms_of_board(site, board, addresses)


def _signature(site: Site) -> str:
    """Return a text that changes with the site's boards, or with the terms that this program gives them."""
    # All boards would take a second. Another program gives other terms to all of them, and so to the first ones.
    addresses = Addresses(site)
    first = [
        (_terms_of_board(site, board, addresses), _full_line(site, board, addresses))
        for board in site.first_boards(_SAMPLE)
    ]
    text = f"{site.version} {first}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def read_or_none(text: str) -> Site | None:
    """Return a published site, or None where an incompatible version wrote the text: its addresses are not known."""
    try:
        return read_site(text)
    except SiteError:
        return None


def _readdress(frontier: Frontier, site: Site, old: OldAddresses) -> int:
    """Ask again for failed pages whose address follows from the site file, and is another one now."""
    new, failed = Addresses(site), Admin(frontier).failed.requests
    moved = []
    for entry in failed.list(Selection(site.name)):
        request = entry.request
        place = request.stage, request.key, request.page
        # An address from a link may differ from that of the template. A board's first page never comes from a link.
        is_ours = place[::2] == (Stage.LIST, 1) or old.gave(request)
        if is_ours and (address := new.of(*place)) not in (None, request.address):
            moved.append((entry, address))
    return failed.readdress(moved)


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
    """Return whether a site has a host that the site file does not name as private."""
    base = urlsplit(site.base)
    port = base.port or (443 if base.scheme == "https" else 80)
    private = {*site.private_hosts, *(place.rpartition(":")[0] for place in site.private_hosts)}
    return f"{base.hostname}:{port}" not in site.private_hosts or not private.issuperset(site.hosts)


def terms_of(site: Site) -> dict[str, str | int]:
    """Return the terms of a site for the frontier, as wire/site_terms.py lists them."""
    gate = site.gate
    return {
        "window": gate.window,
        "delay_ms": round(gate.delay_s * 1000),
        "slow_ms": round(gate.slow_s * 1000),
        "daily_budget": gate.daily_budget,
        "daily_new": gate.daily_new,
        "quiet": " ".join(map(minutes, gate.quiet_hours)),
        # Lua has no time zones: the scripts get the offsets from UTC, from the present hour on.
        "offsets": offsets(ZoneInfo(site.timezone), int(time.time()) // 3600 * 3600),
        "weights": " ".join(str(getattr(gate.weights, lane)) for lane in type(gate.weights).model_fields),
        "lease_ms": round((gate.deadline_s + LEASE_GRACE_S) * 1000),
        "max_attempts": gate.max_attempts,
        "max_backlog": gate.max_backlog,
        "order": " ".join(getattr(site.order, stage.value) for stage in Stage),
        "rendered": " ".join("yes" if stage in site.rendered else "no" for stage in Stage),
        "guard": " ".join(getattr(site.guard, stage.value) for stage in Stage),
        "rolling_ms": site.guard_window_s * 1000,
        "guard_length": site.guard_length,
        "guard_hits": site.guard_hits,
        "guard_capacity": site.guard_capacity,
        "breaker_after": site.breaker.after,
        "breaker_percent": site.breaker.percent,
        "probe_ms": round(site.breaker.probe_s * 1000),
        "min_items": f"{site.min_items_per_minute:g}",
        "full_pass_ms": round(site.interval.full_pass_s * 1000),
        "freshness": _budget_and_goal(site),
    }


def _budget_and_goal(site: Site) -> str:
    """Return list requests an hour, the goal in hours and the pages that tell of all boards, or nothing."""
    if site.revisits_by is not Schedule.PRICED:
        return ""
    freshness = site.freshness or Freshness()
    news = "".join(f" {board.id}" for board in _news_pages(site))
    return f"{_requests_s(site) * 3600:g} {freshness.goal_s / 3600:g}{news}"


def _news_pages(site: Site) -> list[Board]:
    """Return the pages that tell of all news, without a front page that is only read for new boards."""
    kinds = TELLS_ALL if site.front is not None else {BoardKind.NEWS}
    boards = [board for board in site.own_boards if board.kind in kinds]
    has_news = any(board.kind is BoardKind.NEWS for board in boards)
    return [board for board in boards if board.kind is BoardKind.NEWS or not has_news or board.interval_s is None]


def _requests_s(site: Site) -> float:
    gate_s = 1 / site.gate.delay_s if site.gate.delay_s else float(site.gate.window)
    return (site.freshness or Freshness()).requests_s or gate_s / 2


def _news_interval_s(site: Site, kind: BoardKind) -> float:
    """Return the seconds between two looks at a page of all news: a quarter of the goal, more by a small budget."""
    # The rest of the budget stays with the boards, whose own scans show what the page hides.
    pages = len(_news_pages(site))
    return max(1.0, NEWS_PART * (site.freshness or Freshness()).goal_s, pages / (NEWS_SHARE[kind] * _requests_s(site)))


def board_terms(site: Site) -> list[BoardTerms]:
    """Return the terms of each board: the first list page as a line to admit, and the interval in ms.

    Raises:
        SiteError: a board has no address.
    """
    addresses = Addresses(site)
    terms = [_terms_of_board(site, board, addresses) for board in site.boards]
    if not site.interval.full_pass_s:
        return terms
    # The first full passes are spread evenly over the period, each in the middle of its share. Otherwise all boards
    # would be walked to their ends at once, and again in every period.
    period_ms, count = round(site.interval.full_pass_s * 1000), len(terms)
    return [
        replace(
            own_terms,
            full_line=_full_line(site, board, addresses),
            full_first_ms=period_ms * (count + place) // (2 * count),
        )
        for place, (own_terms, board) in enumerate(zip(terms, site.boards, strict=True))
    ]


def _full_line(site: Site, board: Board, addresses: Addresses) -> str:
    """Return the line of the first list page of a full pass, at the lowest priority, empty for a hub without pages."""
    if board.kind is not BoardKind.LIST:
        return ""
    scan = first_page(site, board, addresses, f"full{SCAN_MARK}")
    return line_of(scan._replace(priority=0, reach=Reach(whole=f"full{SCAN_MARK}")))


def _terms_of_board(site: Site, board: Board, addresses: Addresses) -> BoardTerms:
    scan = first_page(site, board, addresses, SCAN_MARK)
    start_s, min_s, max_s = site.interval.start_s, site.interval.min_s, site.interval.max_s
    if site.revisits_by is Schedule.FIXED:
        min_s = max_s = start_s
    elif site.revisits_by is Schedule.PRICED:
        if "min_s" not in site.interval.model_fields_set:  # a default must not forbid what the goal asks for
            min_s = min(min_s, (board.goal_s or (site.freshness or Freshness()).goal_s) / 2)
        if board.goal_s is not None:
            min_s, start_s, max_s = (min(bound_s, board.goal_s) for bound_s in (min_s, start_s, max_s))
    if site.revisits_by is Schedule.PRICED and board.kind in NEWS_SHARE and board in _news_pages(site):
        start_s = min_s = max_s = _news_interval_s(site, board.kind)
    if board.interval_s is not None:
        start_s = min_s = max_s = board.interval_s
    return BoardTerms(board.id, line_of(scan), round(start_s * 1000), round(min_s * 1000), round(max_s * 1000))
