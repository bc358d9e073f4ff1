"""The proposal: rules for a program without preset, from a list and a thread page, for a person to check."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.board_scan import scan_boards
from crawl_tasks.discovery.findings import Findings
from crawl_tasks.discovery.first_post import beginning_of
from crawl_tasks.discovery.http_probe import HttpProbe
from crawl_tasks.discovery.links import PageLink, links_of, path_of
from crawl_tasks.discovery.list_rules import Following, Listing, list_rules
from crawl_tasks.discovery.next_page import next_of
from crawl_tasks.discovery.repeated_records import are_pages, find_rows
from crawl_tasks.discovery.reply_counts import replies_in
from crawl_tasks.discovery.thread_page import find_comments
from crawl_tasks.discovery.thread_rules import thread_rules
from crawl_tasks.discovery.timezone_by_ages import zone_by_ages
from crawl_tasks.discovery.yaml_rules import aliased
from crawl_tasks.errors import PageError
from crawl_tasks.parse.board_index import FoundBoard
from crawl_tasks.parse.document import Document

_Sample = tuple[LexborNode, tuple[PageLink, Document]]
_MOST_LISTS = 3
_MOST_BOARDS = 3
_MOST_THREADS = 4
_BOARD_WORDS = re.compile(r"board|forum|list|categor|node|bbs|section|fid=|/c/|/f/", re.IGNORECASE)
_THREAD_WORDS = re.compile(r"thread|topic|post|showthread|/t/|/d/|[?&](?:tid|t)=", re.IGNORECASE)


def propose(probe: HttpProbe, front: Document, found: Findings, language: str = "") -> Findings:
    """Add proposed boards and rules to the findings, nothing without a list of threads."""
    listing = find_list(probe, front)
    if listing is None:
        return found
    following = _next_page(probe, listing)
    row, thread = _thread(probe, listing, following) or (None, None)
    seen = scan_boards(probe, listing.boards, front.page.url)
    boards = seen.boards or (FoundBoard("front", None, path_of(front.page.url)),)
    by_address = not listing.boards or listing.boards[0].has_slug
    step = following.step if following else None
    elsewhere = " ".join(listing.document.root.text().split())
    of_threads = thread_rules(thread, listing.rows.titles[0], step, elsewhere)
    known = beginning_of(row, thread, elsewhere) if row is not None and thread is not None else None
    lines = aliased([*list_rules(listing, following, seen.empty, known), *of_threads])
    pages = [listing.document, *([thread[1]] if thread else [])]
    remark = "no preset knows this program: the rules below are proposals. Run `crawl-tasks try`, then correct them"
    return replace(
        found,
        zone=found.zone or zone_by_ages(pages, language=language),
        boards=boards,
        left_out=seen.left_out,
        has_board_addresses=by_address,
        rules="\n".join(lines),
        remarks=(*found.remarks, remark),
    )


def find_list(probe: HttpProbe, front: Document) -> Listing | None:
    """Return the best list of threads behind the likeliest kinds of board links, or on the front page itself."""
    kinds = _board_kinds(front)
    boards = {links[0].shape for links in kinds if _names_boards(links[0], front)}
    best: Listing | None = None
    for links in kinds[:_MOST_LISTS]:
        if best is not None and _THREAD_WORDS.search(links[0].shape):
            break
        listing = _listing_of(probe, links, boards)
        if listing is not None and (best is None or listing.rows.score > best.rows.score):
            best = listing
    own = find_rows(front)
    if own is not None and len(own.records) >= 10 and (best is None or own.score > 2 * best.rows.score):
        return Listing(front, own)
    return best


def _listing_of(probe: HttpProbe, links: list[PageLink], boards: set[str]) -> Listing | None:
    """Read a few possible boards, because the first board of a forum may be empty.

    A category lists boards. Categories are left out, and so are links that look like a category's.
    """
    left = list(links)
    for _ in range(_MOST_BOARDS):
        if not left:
            return None
        link = left.pop(0)
        try:
            document = Document(probe.page(link.url))
        except PageError:
            continue
        rows = find_rows(document)
        if rows is None:
            left.append(link)
        elif rows.titles[0].shape in boards | {link.shape}:
            left = [one for one in left if one.looks != link.looks]
        else:
            # In the order of the front page, whichever board was read.
            return Listing(document, rows, (link, *(one for one in links if one in left)))
    return None


def _board_kinds(front: Document) -> list[list[PageLink]]:
    kinds = []
    for links in links_of(front).values():
        first = {link.key: link for link in reversed(links)}
        kinds.append([link for key in dict.fromkeys(one.key for one in links) if (link := first[key])])
    return sorted(
        (links for links in kinds if not links[0].is_stranger and not are_pages(links)),
        key=lambda links: (-_names_boards(links[0], front), -len(links)),
    )


def _names_boards(link: PageLink, front: Document) -> bool:
    """Return whether the address sounds like a board's. The directory of the whole forum does not count."""
    below = link.shape.removeprefix(urlsplit(front.page.url).path.rpartition("/")[0])
    return bool(_BOARD_WORDS.search(below)) and not _THREAD_WORDS.search(below)


def _next_page(probe: HttpProbe, listing: Listing) -> Following | None:
    """Return the pager of lists, from another board if this one has a single page."""
    found = next_of(listing.document)
    if found is not None:
        return Following(found, listing.boards[0] if listing.boards else None)
    for link in listing.boards[1 : 1 + _MOST_BOARDS]:
        try:
            found = next_of(Document(probe.page(link.url)))
        except PageError:
            continue
        if found is not None:
            return Following(found, link)
    return None


def _thread(probe: HttpProbe, listing: Listing, following: Following | None) -> _Sample | None:
    """Fetch the thread with most replies on two list pages, or the first of a few if no row shows a count.

    Returns:
        The thread's row, from the page that lists the thread, with link and page.
    """
    rows = list(zip(listing.rows.records, listing.rows.titles, strict=True))
    if following is not None:
        with suppress(PageError):
            more = find_rows(Document(probe.page(following.step.url)))
            if more is not None and more.titles[0].shape == rows[0][1].shape:
                rows += zip(more.records, more.titles, strict=True)
    found: _Sample | None = None
    counts = replies_in([record for record, _ in rows])
    order = sorted(range(len(rows)), key=lambda at: counts[at], reverse=True)
    for row, link in [rows[at] for at in order[:_MOST_THREADS]]:
        with suppress(PageError):
            page = Document(probe.page(link.url))
            if find_comments(page) is not None:
                return row, (link, page)
            found = found or (row, (link, page))
    return found
