"""The thread list: the best list of threads behind board links, or on the front page itself."""

from __future__ import annotations

import re
from collections.abc import Set
from urllib.parse import urlsplit

from crawl_tasks.discovery.html_rules.list_rules import Listing
from crawl_tasks.discovery.links.address_shape import path_of, shape_of
from crawl_tasks.discovery.links.links import PageLink, links_of, root_links
from crawl_tasks.discovery.probe.front_page import doors_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.records.next_page import next_of
from crawl_tasks.discovery.records.repeated_records import Placed, Rows, are_pages, find_rows, parts_of, placed
from crawl_tasks.errors import PageError
from crawl_tasks.parse.document import Document

_MOST_LISTS = 3
_ENOUGH = 5
_MANY = 10
_BOARD_WORDS = re.compile(r"board|forum|list|categor|node|bbs|section|fid=|/c/|/f/", re.IGNORECASE)
_THREAD_WORDS = re.compile(r"thread|topic|post|showthread|/t/|/d/|[?&](?:tid|t)=", re.IGNORECASE)
_SAME_LIST = re.compile(r"[?&]\w*(?:sort|order)\w*=|^[^#*]*[?&](?:page|start|offset)=#$", re.IGNORECASE)
"""In addresses of a list in another order, and of its further pages."""
_MOST_BOARDS = 3


def find_list(probe: HttpProbe, front: Document) -> Listing | None:
    """Return the best list of threads behind the likeliest kinds of board links, or on the front page itself."""
    kinds = _board_kinds(front)
    boards = {links[0].shape for links in kinds if _names_boards(links[0], front)}
    # A portal has its sections right below the root, and a link that is called a forum.
    names = [] if doors_of(front) else root_links(front)
    if not boards and names:
        return _find(probe, front, [names, *kinds], {names[0].shape})
    listing = _find(probe, front, kinds, boards)
    # Threads below `/board` may sound like boards.
    return listing or (_best_list(probe, front, [names], {names[0].shape}, set()) if names else None)


def _find(probe: HttpProbe, front: Document, kinds: list[list[PageLink]], boards: set[str]) -> Listing | None:
    # Threads may have addresses below those of boards.
    stems = [(other, (f"{other.rstrip('/')}/", f"{other}&")) for other in boards]
    below = {board for board in boards for other, stem in stems if board != other and board.startswith(stem)}
    boards -= below
    kinds.sort(key=lambda links: links[0].shape in below)
    best = _best_list(probe, front, kinds, boards, below)
    own = find_rows(front)
    is_long = own is not None and len(own.records) >= _MANY
    is_better = best is not None and (not is_long or (own is not None and own.score <= 2 * best.rows.score))
    if own is None or own.titles[0].shape in boards or (is_better and _shape_of(best) == own.titles[0].shape):
        return best
    # The newest threads of all boards are on the boards' lists too, in the same markup.
    other = _best_list(probe, front, kinds, boards, below, {placed(link) for link in own.titles})
    if other is not None and _shape_of(other) == own.titles[0].shape and _is_only_a_window(front, own, other):
        return other
    return Listing(front, own) if is_long and not is_better else best


def _is_only_a_window(front: Document, own: Rows, other: Listing) -> bool:
    """Return whether rows of the front page show the newest threads of the boards with another list."""
    # A list with a way to older threads is whole, and so are boards that are called so.
    is_window = next_of(front, "", parts_of(own)) is None
    return is_window or bool(other.boards and _names_boards(other.boards[0], front))


def _shape_of(listing: Listing | None) -> str:
    return listing.rows.titles[0].shape if listing is not None else ""


def _best_list(
    probe: HttpProbe, front: Document, kinds: list[list[PageLink]], boards: set[str], below: set[str],
    newest: Set[Placed] = frozenset(),
) -> Listing | None:  # fmt: skip
    """Return the best list of threads behind links of the front page. `newest` are threads that it shows itself."""
    shown = links_of(front)
    best: Listing | None = None
    for links in kinds[:_MOST_LISTS]:
        if best is not None and (links[0].shape in below or _THREAD_WORDS.search(links[0].shape)):
            break
        others = boards | {links[0].shape}
        # The page of a category has boards where the front page has them: those are rows, and no page chrome.
        chrome = {placed(link) for shape, shaped in shown.items() if shape not in others for link in shaped} - newest
        listing = _listing_of(probe, links, boards, chrome)
        is_named = best is not None and best.boards[0].shape in boards and links[0].shape not in boards
        if is_named and _shape_of(listing) == _shape_of(best):
            # A page of the longest threads beside boards lists those of the boards.
            continue
        if listing is not None and (best is None or listing.rows.score > best.rows.score):
            best = listing
    return best


def _listing_of(probe: HttpProbe, links: list[PageLink], boards: set[str], chrome: Set[Placed]) -> Listing | None:
    """Return the first list of some length of a few possible boards: the first one may be empty, or nearly.

    A category lists boards. Categories are left out, and so are links that look like a category's.
    """
    boards_left, waiting = list(links), list(links)
    lists: list[tuple[PageLink, Document, Rows]] = []
    for _ in range(_MOST_BOARDS):
        if not waiting:
            break
        link = waiting.pop(0)
        try:
            document = Document(probe.page(link.url))
        except PageError:
            continue
        rows = find_rows(document, ignoring=chrome)
        if rows is None:
            waiting.append(link)
        elif rows.titles[0].shape not in boards | {link.shape}:
            lists.append((link, document, _below_board(document, link, rows, chrome)))
            if len(rows.whole) >= _ENOUGH:
                break
        elif not lists:
            boards_left = [board for board in boards_left if board.looks != link.looks]
            waiting = [board for board in waiting if board.looks != link.looks]
    if not lists:
        return None
    link, document, rows = max(lists, key=lambda board: board[2].score)
    # In the order of the front page, whichever board was read.
    return Listing(document, rows, (link, *(board for board in boards_left if board is not link)))


def _below_board(document: Document, board: PageLink, rows: Rows, chrome: Set[Placed]) -> Rows:
    """Return the rows of threads below their board with the board's name as a key of the addresses too."""
    own, shape = path_of(board.url), rows.titles[0].shape
    if not board.shape.endswith("#/") and len(own) > 2 and shape.startswith(own):
        return find_rows(document, board.shape + shape.removeprefix(own), ignoring=chrome) or rows
    if (part := f"/{board.key}/") in shape:
        return find_rows(document, shape.replace(part, "/*/", 1), ignoring=chrome) or rows
    # `id=1-old-cars` has the shape `id=#-old-cars`.
    named = (f"={link.rpartition('=')[2]}&" for link in (own, shape_of(own)[0]))
    known = next((name for name in named if name in shape), "")
    return find_rows(document, shape.replace(known, "=*&"), ignoring=chrome) or rows if known else rows


def _board_kinds(front: Document) -> list[list[PageLink]]:
    kinds = []
    for links in links_of(front).values():
        first = {link.key: link for link in reversed(links)}
        kinds.append([link for key in dict.fromkeys(link.key for link in links) if (link := first[key])])
    return sorted(
        (
            links
            for links in kinds
            if not (links[0].is_stranger or _SAME_LIST.search(links[0].shape) or are_pages(links))
        ),
        key=lambda links: (-_names_boards(links[0], front), -len(links)),
    )


def _names_boards(link: PageLink, front: Document) -> bool:
    return names_board(link.shape, front)


def names_board(path: str, front: Document) -> bool:
    """Return whether an address sounds like a board's. The directory of the whole forum does not count."""
    below = path.removeprefix(urlsplit(front.page.url).path.rpartition("/")[0])
    return bool(_BOARD_WORDS.search(below)) and not _THREAD_WORDS.search(below)
