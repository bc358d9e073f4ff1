"""Before step 1, survey: boards that no front page names, on the pages of the boards that they are below."""

from __future__ import annotations

from dataclasses import replace

from crawl_tasks.errors import PageError
from crawl_tasks.model import Stage
from crawl_tasks.parse.index import FoundBoard, IndexReader
from crawl_tasks.sites.address import Addresses
from crawl_tasks.survey.visit import Visitor

MOST_LOOKED_INTO = 24


def with_boards_below(
    visitor: Visitor,
    reader: IndexReader,
    addresses: Addresses,
    boards: tuple[FoundBoard, ...],
    *,
    by_link: bool = False,
) -> tuple[FoundBoard, ...]:
    """Return the boards and those below them, each with the board it is below where a page shows that.

    Programs name the boards below a board on its page, in the markup of their front page. With `by_link` a board is
    asked for where the link to it leads, because the forum redirects the address made from its id.
    """
    known = {board.board_id: board for board in boards}
    order = list(known)
    looked_into = 0
    while looked_into < min(len(order), MOST_LOOKED_INTO):
        parent = known[order[looked_into]]
        looked_into += 1
        for found in _shown_on(visitor, reader, parent, _address_of(parent, addresses, by_link=by_link)):
            if found.board_id not in known:
                order.append(found.board_id)
            before = known.setdefault(found.board_id, found)
            if before.parent_id is None and parent.parent_id != before.board_id:
                known[before.board_id] = replace(before, parent_id=parent.board_id)
    return tuple(known[board_id] for board_id in order)


def _address_of(board: FoundBoard, addresses: Addresses, *, by_link: bool) -> str | None:
    made = addresses.of(Stage.LIST, board.board_id)
    return (board.url or made) if by_link else (made or board.url)


def _shown_on(visitor: Visitor, reader: IndexReader, board: FoundBoard, url: str | None) -> tuple[FoundBoard, ...]:
    """Return the boards that a board's page names; a page that names the board itself lists all there are."""
    if url is None:
        return ()
    try:
        found = reader.read(visitor.page(url)).boards
    except PageError:
        return ()
    return () if any(one.board_id == board.board_id for one in found) else found
