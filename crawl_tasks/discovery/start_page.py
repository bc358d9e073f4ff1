"""Start pages: the forum's own front page, from a thread, a board, a later page, a sitemap or a home page."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from crawl_tasks.discovery.board_scan import trail_of
from crawl_tasks.discovery.findings import Findings, site_file
from crawl_tasks.discovery.links import path_of
from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.urls import origin_of

MOST_STARTS = 3
_KINDS = {Stage.LIST: "a page of a board", Stage.POST: "a thread", Stage.COMMENT: "a later page of a thread"}
_LATER = re.compile(r"[?&/](?:page|p|start|offset|skip)[=/-]?\d+|[-/]\d+\.html?$", re.IGNORECASE)


def starts_of(page: Document) -> list[str]:
    """Return addresses that may be the forum's front page, likeliest first, none where the page itself may be it.

    A thread or a board shows the way up: a breadcrumb, or a number in its address. A sitemap has no links at all.
    """
    url, root = page.page.url, f"{origin_of(page.page.url)}/"
    if is_sitemap(page):
        listed = [node.text().strip() for node in page.root.css("loc")[:200]]
        own = [path_of(one).split("/")[1:2] for one in listed if one.startswith(root)]
        below = {part[0] for part in own if part}
        return [root, *([f"{root}{min(below)}/"] if len(below) == 1 else [])]
    found = []
    for node in trail_of(page, root):
        above = page.absolute(node.attributes.get("href") or "")
        if above is not None and origin_of(above) == origin_of(url) and above.partition("#")[0] != url:
            found.append(above.partition("#")[0])
    if not found and not _LATER.search(path_of(url)):
        return []
    folder = urlsplit(url).path.rpartition("/")[0]
    return list(dict.fromkeys([*found, f"{root[:-1]}{folder}/", root]))[:MOST_STARTS]


def is_sitemap(page: Document) -> bool:
    """Return whether a page is a sitemap (sitemaps.org)."""
    return "<urlset" in page.source[:2000] or "<sitemapindex" in page.source[:2000]


def kind_of_start(found: Findings, given: Document) -> str:
    """Return what the given page is by the rules that were found, empty if they do not know its address."""
    if is_sitemap(given):
        return "a sitemap"
    addresses = Addresses(parse_site(site_file(found), found.name))
    url = given.page.url
    # A cursor is no part of an address that rules know.
    for one in (url, re.sub(r"[?&][^?&]*$", "", url)):
        try:
            target = addresses.read(one)
        except RefusedAddress:
            return ""
        if target is not None:
            return _KINDS[target.stage]
    return ""
