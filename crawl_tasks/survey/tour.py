"""Before step 1, survey: once around the boards of an unknown program: which lead elsewhere, stand below, are empty."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crawl_tasks.errors import PageError, RefusedAddress
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.index import FoundBoard
from crawl_tasks.survey.links import Link, links_of, path_of
from crawl_tasks.survey.records import are_pages, find_rows
from crawl_tasks.survey.visit import Visitor

MOST_VISITED = 20


@dataclass(frozen=True, slots=True)
class Tour:
    """The boards in order, addresses that lead to another host, and the page of a board without threads, if any."""

    boards: tuple[FoundBoard, ...]
    left_out: tuple[str, ...] = ()
    empty: Document | None = None


def tour(visitor: Visitor, links: tuple[Link, ...]) -> Tour:
    """Look at each board once, at those that their pages name too; what cannot be had stays as it was found."""
    found = {link.key: FoundBoard(link.key, link.text, path_of(link.url)) for link in links}
    left_out: list[str] = []
    empty: Document | None = None
    waiting = list(links)
    for link in waiting:  # which grows meanwhile
        if waiting.index(link) >= MOST_VISITED:
            break
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
        for below in _boards_on(document, link):
            if below.key not in found and below.url not in left_out:
                found[below.key] = FoundBoard(below.key, below.text, path_of(below.url), link.key)
                waiting.append(below)
    return Tour(tuple(found.values()), tuple(left_out), empty)


def _boards_on(document: Document, board: Link) -> list[Link]:
    """Return the links of a board's page that are written as the one to it, but those to its own pages."""
    alike = [replace(link, place=board.place) for link in links_of(document).get(board.shape, [])]
    return [] if not alike or are_pages(alike) else [link for link in alike if link.key != board.key]
