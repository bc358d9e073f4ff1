"""Sub-boards: boards that no front page names, found on the pages of their parent boards."""

from __future__ import annotations

from dataclasses import replace

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.errors import PageError
from crawl_tasks.model import Stage
from crawl_tasks.parse.board_index import FoundBoard, IndexReader
from crawl_tasks.sites.addresses import Addresses

MOST_LOOKED_INTO = 24


def with_boards_below(
    probe: HttpProbe,
    reader: IndexReader,
    addresses: Addresses,
    boards: tuple[FoundBoard, ...],
    *,
    by_link: bool = False,
) -> tuple[FoundBoard, ...]:
    """Return the boards and their sub-boards, each with its parent if a page shows the parent.

    Programs list sub-boards on the parent's page, in the markup of their front page. With `by_link` a board is
    requested by its link, because the forum redirects the address made from its id.
    """
    known = {board.board_id: board for board in boards}
    order = list(known)
    looked_into = 0
    while looked_into < min(len(order), MOST_LOOKED_INTO):
        parent = known[order[looked_into]]
        looked_into += 1
        for shown in _shown_on(probe, reader, parent, _address_of(parent, addresses, by_link=by_link)):
            if shown.board_id not in known:
                order.append(shown.board_id)
            before = known.setdefault(shown.board_id, shown)
            if before.parent_id is None and parent.parent_id != before.board_id:
                known[before.board_id] = replace(before, parent_id=parent.board_id)
    return tuple(known[board_id] for board_id in order)


def _address_of(board: FoundBoard, addresses: Addresses, *, by_link: bool) -> str | None:
    made = addresses.of(Stage.LIST, board.board_id)
    return (board.url or made) if by_link else (made or board.url)


def _shown_on(probe: HttpProbe, reader: IndexReader, board: FoundBoard, url: str | None) -> tuple[FoundBoard, ...]:
    """Return the boards on a board's page, none for a page that lists the board itself: that one lists all boards."""
    if url is None:
        return ()
    try:
        boards = reader.read(probe.page(url)).boards
    except PageError:
        return ()
    return () if any(shown.board_id == board.board_id for shown in boards) else boards
