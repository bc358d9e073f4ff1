"""Before step 1, survey: once around the boards of an unknown program: which lead elsewhere, stand below, are empty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from selectolax.lexbor import LexborNode

from crawl_tasks.errors import PageError, RefusedAddress
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.index import FoundBoard
from crawl_tasks.survey.links import Link, links_of, path_of
from crawl_tasks.survey.records import are_pages, find_rows, upwards
from crawl_tasks.survey.visit import Visitor
from crawl_tasks.urls import origin_of

MOST_VISITED = 20
_LONGEST_TRAIL = 200
_TRAIL = "[class*=breadcrumb], [class*=crumbs], [aria-label=breadcrumb], [itemtype$=BreadcrumbList]"


@dataclass(frozen=True, slots=True)
class Tour:
    """The boards in order, addresses that lead to another host, and the page of a board without threads, if any."""

    boards: tuple[FoundBoard, ...]
    left_out: tuple[str, ...] = ()
    empty: Document | None = None


def tour(visitor: Visitor, links: tuple[Link, ...], front: str) -> Tour:
    """Look at each board once, at those that their pages name too; what cannot be had stays as it was found."""
    found = {link.key: FoundBoard(link.key, link.text, path_of(link.url)) for link in links}
    left_out: list[str] = []
    empty: Document | None = None
    waiting = list(links)
    for link in islice(waiting, MOST_VISITED):  # which grows meanwhile
        try:
            document = Document(visitor.page(link.url))
        except RefusedAddress:
            left_out.append(link.url)
            del found[link.key]
            continue
        except PageError:
            continue
        if find_rows(document) is None:
            empty = empty or document
        for below in _boards_below(document, link, front):
            if below.key not in found and below.url not in left_out:
                found[below.key] = FoundBoard(below.key, below.text, path_of(below.url), link.key)
                waiting.append(below)
    return Tour(tuple(found.values()), tuple(left_out), empty)


def _boards_below(document: Document, board: Link, front: str) -> list[Link]:
    """Return the links of a board's page that are written as the one to it, but those to its own pages and upwards."""
    alike = [replace(link, place=board.place) for link in links_of(document).get(board.shape, [])]
    if not alike or are_pages(alike):
        return []
    trail = {node.mem_id for node in _trail_of(document, front)}
    above = {board.key, *(link.key for link in alike if link.node.mem_id in trail)}
    return [link for link in alike if link.key not in above]


def _trail_of(document: Document, front: str) -> Iterator[LexborNode]:
    """Yield the links of the way back: Forum > House > Bikes, in what says it is one or begins with the front page."""
    for said in document.root.css(_TRAIL):
        yield from said.css("a[href]")
    for node in document.root.css("a[href]"):
        if document.absolute(node.attributes.get("href") or "") not in (front, f"{origin_of(front)}/"):
            continue
        box = next((above for above in upwards(node) if len(above.css("a[href]")) > 1), None)
        if box is not None and len(box.text()) <= _LONGEST_TRAIL and box.css_first("h1, h2, h3, table") is None:
            yield from box.css("a[href]")
