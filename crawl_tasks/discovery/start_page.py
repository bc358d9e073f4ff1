"""Start pages: the forum's own front page, from a thread, a board, a later page, a sitemap or a home page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from crawl_tasks.discovery.forum_discovery import ForumDiscovery
from crawl_tasks.discovery.html_rules.board_scan import NEAR, trail_of
from crawl_tasks.discovery.html_rules.thread_list import names_board
from crawl_tasks.discovery.json_rules.named_api import by_names
from crawl_tasks.discovery.links.address_shape import is_stranger, path_of
from crawl_tasks.discovery.links.links import place_in
from crawl_tasks.discovery.page_rendering import (
    discover_drawn,
    draws_threads,
    has_comments,
    is_script_frame,
    with_drawn_comments,
    with_drawn_threads,
)
from crawl_tasks.discovery.probe.front_page import asks_for_login, doors_of, remedy_for
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.site_address import SiteAddress
from crawl_tasks.discovery.proof.findings import Findings, site_file
from crawl_tasks.discovery.records.repeated_records import find_rows
from crawl_tasks.errors import AccessDenied, ConfigError, PageError, ParseError, RefusedAddress
from crawl_tasks.fetch.browser import missing
from crawl_tasks.model import Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.urls import origin_of

MOST_STARTS = 3
_MOST_BESIDE = 2
_KINDS = {Stage.LIST: "a page of a board", Stage.POST: "a thread", Stage.COMMENT: "a later page of a thread"}
_MONTH = re.compile(r"/(?:19|20)\d\d(?:[/-](?:0?[1-9]|1[0-2]|[A-Z][a-z]{2,8}))?/?(?:[a-z]+\.html?)?$")
_LATER = re.compile(r"[?&/](?:page|p|start|offset|skip)[=/-]?\d+|[-/]\d+\.html?$", re.IGNORECASE)


def find_forum(probe: HttpProbe, place: SiteAddress, name: str, engine: str | None, *, contact: str | None) -> Findings:
    """Return the findings of the page or, where the page is a portal, of a linked page that is called a forum.

    Raises:
        ConfigError: the chosen engine reads nothing here, or the page leads to another host.
        AccessDenied: the forum is not shown to guests.
        FetchError: the page cannot be fetched.
        ParseError: the page is no forum.
    """
    discovery = ForumDiscovery(probe, place, name, contact=contact)
    own = None if is_sitemap(discovery.front) else discovery.by_preset(engine)
    if own is not None and not kind_of_start(own, discovery.front):
        return own
    above = [_behind(probe, place, url, name, contact) for url in starts_of(discovery.front)]
    findings = _above_by_preset(discovery, [other for other in above if other is not None], engine) or own
    if findings is not None:
        return findings
    # Many communities have a portal at the address that people know, and the forum behind one of its links. Rules are
    # proposed last, since a preset reads more than rules guessed from one page.
    links = doors_of(discovery.front)
    doors = [door for url in links if (door := _behind(probe, place, url, name, contact)) is not None]
    for door in doors:
        with suppress(ConfigError):
            behind = door.by_preset()
            if behind is not None:
                return _from(behind, discovery)
    proposed = discovery.by_proposal() if doors else None
    behind = _behind_by_proposal(probe, discovery, [other for other in above if other is not None], doors, proposed)
    if behind is not None:
        return behind
    proposed = _with_drawn(probe, discovery, proposed or discovery.by_proposal(), name, contact)
    url = discovery.place.url
    if [board.url for board in proposed.boards] == [path_of(url)] and _MONTH.search(urlsplit(url).path):
        raise ParseError(f"{url}: lists the threads of one month or year; give the address of a list of all threads")
    if proposed.boards:
        return proposed
    raise _no_forum(probe, discovery, proposed, links)


def _above_by_preset(discovery: ForumDiscovery, above: Sequence[ForumDiscovery], engine: str | None) -> Findings | None:
    """Return the findings of a page above the given one, by a preset that knows what the given page is."""
    for other in above:
        if other.front.page.url == discovery.front.page.url:
            continue
        findings = other.by_preset(engine)
        if findings is not None and kind_of_start(findings, discovery.front):
            return _from(findings, discovery)
    return None


def _behind_by_proposal(
    probe: HttpProbe, discovery: ForumDiscovery, above: Sequence[ForumDiscovery], doors: Sequence[ForumDiscovery],
    proposed: Findings | None,
) -> Findings | None:  # fmt: skip
    """Return proposed findings of a page above the given one, or of a page that it calls a forum.

    `proposed` are the findings of the given page.
    """
    boards = [board.url for board in proposed.boards] if proposed is not None else []
    # A page with several boards is no portal: `Forum statistics` is a page beside.
    is_portal = sum(names_board(url or "", discovery.front) for url in boards) <= 1
    for other in (*above, *(doors if is_portal else ())):
        is_same = other.front.page.url == discovery.front.page.url
        # A board may be called a forum: the given page lists it with others.
        if is_same or path_of(other.place.url) in boards:
            continue
        findings = other.by_proposal()
        if findings.boards and _is_its_forum(probe, discovery, other, findings, is_door=other in doors):
            return _from(findings, discovery)
    return None


def _is_its_forum(
    probe: HttpProbe, discovery: ForumDiscovery, other: ForumDiscovery, findings: Findings, *, is_door: bool
) -> bool:
    """Return whether another page is the forum of the given one, and neither a board of it nor a forum beside."""
    if is_door:
        return len(findings.boards) > 1 or not is_one_of_several(probe, discovery.front, other.front)
    return bool(kind_of_start(findings, discovery.front))


def _with_drawn(
    probe: HttpProbe, discovery: ForumDiscovery, proposed: Findings, name: str, contact: str | None
) -> Findings:
    """Return proposed findings with those of drawn pages, where a script draws the boards or the comments."""
    if not proposed.boards and is_script_frame(discovery.front):
        if lack := missing():
            return _undrawn(probe, discovery, proposed, lack)
        drawn = discover_drawn(probe, discovery.place, name, contact)
        return replace(drawn, remarks=(*proposed.remarks, *drawn.remarks))
    if proposed.boards and not has_comments(proposed) and b"<script" in discovery.front.page.body:
        return with_drawn_comments(probe, proposed, contact)
    if proposed.boards and draws_threads(probe):
        return with_drawn_threads(probe, proposed, contact)
    return proposed


def _no_forum(probe: HttpProbe, discovery: ForumDiscovery, proposed: Findings, links: Sequence[str]) -> PageError:
    """Return the reason for which a page is no forum that guests can read. `links` were followed in vain."""
    url = discovery.place.url
    behind = [Document(probe.page(link)) for link in links if probe.has(link)]
    if any(map(asks_for_login, [discovery.front, *behind])):
        return AccessDenied(
            f"{url} asks for a login and shows guests no boards; `login` in a site file reads them as a member, "
            "see docs/access.md"
        )
    if proposed.remarks:
        return ParseError(f"{url}: no boards are shown to guests. {'; '.join(proposed.remarks)}")
    where = f", nor behind {' or '.join(links)}" if links else ""
    remedy = remedy_for(discovery.front)
    return ParseError(f"{url}: no forum was found here{where}: no boards and no list of threads; {remedy}")


def _undrawn(probe: HttpProbe, given: ForumDiscovery, known: Findings, lack: str) -> Findings:
    """Return the rules for the JSON of a forum that scripts draw, where no browser is there.

    Raises:
        ParseError: no rules were found, with the reason.
    """
    try:
        findings = by_names(probe, given.front, known)
    except ParseError as error:
        raise ParseError(f"{error}; {lack}") from error
    remark = f"the plain pages hold nothing but scripts: the rules read JSON by the names of its keys, since {lack}"
    return replace(findings, remarks=(*findings.remarks, remark))


def _behind(probe: HttpProbe, place: SiteAddress, url: str, name: str, contact: str | None) -> ForumDiscovery | None:
    with suppress(PageError, ConfigError):
        return ForumDiscovery(probe, replace(place, url=url), name, contact=contact)
    return None


def is_one_of_several(probe: HttpProbe, given: Document, door: Document) -> bool:
    """Return whether links beside that to a list of threads lead to like lists: it is a board, and no forum."""
    links = [(node, given.absolute(node.attributes.get("href") or "") or "") for node in given.root.css("a[href]")]
    places = {place_in(node) for node, url in links if url == door.page.url}
    rows = find_rows(door)
    if rows is None:
        return False
    titles = {place_in(link.node)[:NEAR] for link in rows.titles}
    own = (door.page.url, given.page.url)
    alike = [url for node, url in links if place_in(node) in places and url not in own]
    beside = [url for url in alike if not is_stranger(path_of(url))]
    for url in list(dict.fromkeys(beside))[:_MOST_BESIDE]:
        with suppress(PageError):
            others = find_rows(Document(probe.page(url)))
            if others is not None and titles & {place_in(link.node)[:NEAR] for link in others.titles}:
                return True
    return False


def _from(findings: Findings, given: ForumDiscovery) -> Findings:
    """Return findings with what the given address was."""
    kind = kind_of_start(findings, given.front) or "a page"
    remark = f"{given.place.url} is {kind}; its forum begins at {findings.place.url}"
    return replace(findings, remarks=(*findings.remarks, remark))


def starts_of(page: Document) -> list[str]:
    """Return addresses that may be the forum's front page, likeliest first, none where the page itself may be it.

    A thread or a board shows the way up: a breadcrumb, or a number in its address. A sitemap has no links at all.
    """
    url, root = page.page.url, f"{origin_of(page.page.url)}/"
    if url == root:
        return []
    if is_sitemap(page):
        listed = [node.text().strip() for node in page.root.css("loc")[:200]]
        own = [path_of(address).split("/")[1:2] for address in listed if address.startswith(root)]
        below = {part[0] for part in own if part}
        return [root, *([f"{root}{min(below)}/"] if len(below) == 1 else [])]
    starts = []
    for node in trail_of(page, root):
        above = page.absolute(node.attributes.get("href") or "")
        if above is not None and origin_of(above) == origin_of(url) and above.partition("#")[0] != url:
            starts.append(above.partition("#")[0])
    if not starts and not _LATER.search(path_of(url)):
        return []
    folder = urlsplit(url).path.rpartition("/")[0]
    return list(dict.fromkeys([*starts, f"{root[:-1]}{folder}/", root]))[:MOST_STARTS]


def is_sitemap(page: Document) -> bool:
    """Return whether a page is a sitemap (sitemaps.org)."""
    return "<urlset" in page.source[:2000] or "<sitemapindex" in page.source[:2000]


def kind_of_start(findings: Findings, given: Document) -> str:
    """Return what the given page is by the rules that were found, empty if they do not know its address."""
    if is_sitemap(given):
        return "a sitemap"
    addresses = Addresses(parse_site(site_file(findings), findings.name))
    url = given.page.url
    # A cursor is no part of an address that rules know, and the number of a page may be none.
    for address in (url, re.sub(r"[?&][^?&]*$", "", url), re.sub(r"(?<=/)page[/-]?\d+/?$", "", url)):
        try:
            target = addresses.read(address)
        except RefusedAddress:
            return ""
        if target is not None:
            return _KINDS[target.stage]
    return ""
