"""Full lists: all threads of each board, where a board's own page shows only the newest and links the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from crawl_tasks.discovery.html_rules.list_rules import Listing
from crawl_tasks.discovery.links.address_shape import is_stranger, path_of
from crawl_tasks.discovery.links.links import PageLink
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.site_check import FEW
from crawl_tasks.discovery.records.next_page import next_of
from crawl_tasks.discovery.records.repeated_records import find_rows, parts_of
from crawl_tasks.errors import PageError
from crawl_tasks.parse.document import Document
from crawl_tasks.urls import origin_of

_MOST = 3
"""The most pages that are asked for."""


def full_lists(probe: HttpProbe, listing: Listing) -> Listing | None:
    """Return the lists that boards link as all of their threads.

    None if no link with a board's key leads to a list with a next page and some of the same threads.
    """
    best: tuple[int, Listing] | None = None
    known, shape = {link.key for link in listing.titles}, listing.titles[0].shape
    for url, before, behind in [*_links(listing)][:_MOST]:
        with suppress(PageError):
            document = Document(probe.page(url))
            # By their shape alone, links to the board in each row would look like threads.
            rows = find_rows(document)
            if rows is None or rows.titles[0].shape != shape:
                rows = find_rows(document, shape)
            common = len(known & {link.key for link in rows.titles}) if rows is not None else 0
            if rows is None or common < FEW or next_of(document, listing.boards[0].key, parts_of(rows)) is None:
                continue
            if best is None or common > best[0]:
                boards = tuple(_moved(board, before, behind) for board in listing.boards)
                best = common, Listing(document, rows, boards)
    return best[1] if best is not None else None


def _links(listing: Listing) -> Iterator[tuple[str, str, str]]:
    """Yield the addresses on a board's page that hold the board's key as a part, with the texts around the key."""
    if not listing.boards:
        return
    own, document = listing.boards[0], listing.document
    part = re.compile(rf"(?<=[/=]){re.escape(own.key)}(?=[/&]|$)")
    nodes = document.root.css("a[href]")
    urls = [(document.absolute(node.attributes.get("href") or "") or "").partition("#")[0] for node in nodes]
    for url in dict.fromkeys(urls):
        match = part.search(url)
        is_other = url != own.url and origin_of(url) == origin_of(own.url) and not is_stranger(path_of(url))
        if match is not None and is_other:
            yield url, url[: match.start()], url[match.end() :]


def _moved(board: PageLink, before: str, behind: str) -> PageLink:
    """Return the link of a board at the address of its whole list."""
    mark = "#" if board.key.isdigit() else "*"
    shape = path_of(before) + mark + behind
    return replace(board, url=f"{before}{board.key}{behind}", shape=shape, keys=(board.key,), place=0)
