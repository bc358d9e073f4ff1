"""The board scan: one visit to each board of an unknown program, to find sub-boards, other hosts and empty boards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.address_shape import is_stranger, path_of
from crawl_tasks.discovery.links.links import PageLink, kind_of, links_of, place_in
from crawl_tasks.discovery.probe.front_page import heading_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.records.record_queries import selector_in
from crawl_tasks.discovery.records.repeated_records import are_pages, upwards
from crawl_tasks.discovery.text.vocabulary import ARROWS, NEXT
from crawl_tasks.errors import PageError, RefusedAddress
from crawl_tasks.parse.board_index import FoundBoard
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.pagination_links import is_numbered
from crawl_tasks.parse.values.text import lines as lines_of
from crawl_tasks.urls import origin_of

MOST_VISITED = 20
_LONGEST_TRAIL = 200
NEAR = 2
"""Levels by which links to threads are compared: the link, and the element around it."""
_FRONT = re.compile(r"[/?]index(?:\.\w+)?$")
_TRAIL = "[class*=breadcrumb], [class*=crumbs], [aria-label=breadcrumb], [itemtype$=BreadcrumbList]"


@dataclass(frozen=True, slots=True)
class BoardScan:
    """The boards in order, addresses that lead to another host, and the page of a board without threads, if any.

    `title` is the selector of a board's title on the pages of all boards, empty without one.
    """

    boards: tuple[FoundBoard, ...]
    left_out: tuple[str, ...] = ()
    empty: Document | None = None
    title: str = ""


def scan_boards(
    probe: HttpProbe, links: tuple[PageLink, ...], front: Document, titles: Sequence[PageLink]
) -> BoardScan:
    """Visit each board once, sub-boards too. A board that cannot be fetched stays as found.

    `titles` are the rows of one board: a board without links at such places has no threads, whatever a sidebar shows.
    """
    reader = _BoardReader(links, front, titles)
    waiting = list(links)
    # `waiting` grows meanwhile, by sub-boards.
    for link in islice(waiting, MOST_VISITED):
        try:
            document = Document(probe.page(link.url))
        except RefusedAddress:
            reader.leave_out(link)
        except PageError:
            continue
        else:
            waiting += reader.read(link, document)
    return reader.scan()


class _BoardReader:
    """Reads the pages of boards, and has the boards that are known so far."""

    def __init__(self, links: tuple[PageLink, ...], front: Document, titles: Sequence[PageLink]) -> None:
        """Begin with the boards that `links` of the front page lead to. `titles` are the rows of one board."""
        self._boards = {link.key: FoundBoard(link.key, _name_of(link), path_of(link.url)) for link in links}
        self._left_out: list[str] = []
        self._titled: list[tuple[LexborNode, LexborNode | None]] = []
        self._empty: Document | None = None
        self._front = front
        self._shape, self._places = titles[0].shape, {place_in(link.node)[:NEAR] for link in titles}
        # Right below the root, what the front page links beside its boards is no board.
        is_root = links[0].shape.strip("/") == "*" if links else False
        beside = links_of(front, links[0].shape).get(links[0].shape, []) if is_root else []
        self._beside = {link.key for link in beside} - self._boards.keys()
        self._frame = _frame_of(titles) if is_root else ""

    def leave_out(self, link: PageLink) -> None:
        """Leave out a board."""
        self._left_out.append(link.url)
        del self._boards[link.key]

    def read(self, link: PageLink, document: Document) -> list[PageLink]:
        """Read a board's page, and return the links to sub-boards that were not known."""
        threads = links_of(document, self._shape).get(self._shape, [])
        is_empty = not any(place_in(thread.node)[:NEAR] in self._places for thread in threads)
        if is_empty and self._frame and not self._has_frame(document):
            # Beside boards right below the root stand pages of other kinds.
            self.leave_out(link)
            return []
        heading = heading_of(document)
        if heading and heading != link.text and heading in link.text:
            # A link around a card has more than the board's name.
            self._boards[link.key] = replace(self._boards[link.key], title=heading)
        self._titled.append((document.root, _title_in(document, self._boards[link.key].title or "")))
        if is_empty:
            self._empty = self._empty or document
        new = []
        for below in _boards_below(document, link, self._front.page.url):
            is_known = below.key in self._boards or below.url in self._left_out
            if below.key not in self._beside and not is_known:
                self._boards[below.key] = FoundBoard(below.key, _name_of(below), path_of(below.url), link.key)
                new.append(below)
        return new

    def _has_frame(self, document: Document) -> bool:
        return self._frame in map(kind_of, document.root.css(self._frame.partition(".")[0]))

    def scan(self) -> BoardScan:
        """Return what the pages so far show."""
        # One page may have the title where it has anything else.
        title = selector_in(*zip(*self._titled, strict=True)) if len(self._titled) > 1 else None
        return BoardScan(tuple(self._boards.values()), tuple(self._left_out), self._empty, title or "")


def _frame_of(titles: Sequence[PageLink]) -> str:
    """Return tag and classes of the innermost element with classes around the threads of a board, empty without one."""
    others = {link.node.mem_id for link in titles[1:]}
    around = (above for above in upwards(titles[0].node) if others & {node.mem_id for node in above.css("a")})
    return next((kind_of(above) for above in around if above.attributes.get("class")), "") if others else ""


def _name_of(link: PageLink) -> str:
    """Return the text of a board's link, or its first line: below a break stands what the board is about."""
    first = next(filter(None, lines_of(link.node.html or "").split("\n")), "") if link.node.css_first("br") else ""
    return first or link.text


def _title_in(document: Document, title: str) -> LexborNode | None:
    """Return the element with a board's title and no other text, a heading if there is one."""
    alike = [node for node in document.root.css("body *") if " ".join(node.text(deep=False).split()) == title]
    exact = [node for node in alike if node.tag not in ("option", "script", "style") and node.text().strip() == title]
    headings = [node for node in exact if any(above.tag in ("h1", "h2", "h3") for above in upwards(node))]
    return next(iter((*headings, *exact)), None)


def beside_boards(front: Document, boards: Sequence[PageLink]) -> list[str]:
    """Return the addresses of links that stand where boards do, and are of another shape: boards that were missed."""
    places, shapes = {place_in(board.node) for board in boards}, {board.shape for board in boards}
    known = boards[0].shape if boards else ""
    alike = {link.url: link.shape for links in links_of(front, known).values() for link in links}
    beside = []
    for node in front.root.css("a[href]"):
        url = (front.absolute(node.attributes.get("href") or "") or "").partition("#")[0]
        is_other = (
            alike.get(url) not in shapes and url != front.page.url and origin_of(url) == origin_of(front.page.url)
        )
        if is_other and place_in(node) in places and not (is_stranger(path_of(url)) or _FRONT.search(path_of(url))):
            beside.append(url)
    return list(dict.fromkeys(beside))


def _boards_below(document: Document, board: PageLink, front: str) -> list[PageLink]:
    """Return the links of a board's page to sub-boards: same shape as the board's own, but no pager and no way back."""
    placed = [replace(link, place=board.place) for link in links_of(document, board.shape).get(board.shape, [])]
    # Its own pager has the board's key, whatever is behind.
    alike = [link for link in placed if link.key != board.key and not _is_page_of(board, link)]
    if not alike or are_pages(alike):
        return []
    trail = {node.mem_id for node in trail_of(document, front)}
    above = {link.key for link in alike if link.node.mem_id in trail}
    return [link for link in alike if link.key not in above]


def _is_page_of(board: PageLink, link: PageLink) -> bool:
    """Return whether a link leads to a page of a board, whose number is behind the board's name: bikes-2.html."""
    is_step = bool(NEXT.fullmatch(link.text) or ARROWS.fullmatch(link.text)) or link.text.strip(" []()").isdigit()
    return is_step and is_numbered(board.url, link.url)


def trail_of(document: Document, front: str) -> Iterator[LexborNode]:
    """Yield the links of a breadcrumb: Forum > House > Bikes, by its markup or by a first link to the front page."""
    for trail in document.root.css(_TRAIL):
        yield from trail.css("a[href]")
    for node in document.root.css("a[href]"):
        if document.absolute(node.attributes.get("href") or "") not in (front, f"{origin_of(front)}/"):
            continue
        box = next((above for above in upwards(node) if len(above.css("a[href]")) > 1), None)
        if box is not None and len(box.text()) <= _LONGEST_TRAIL and box.css_first("h1, h2, h3, table") is None:
            yield from box.css("a[href]")
