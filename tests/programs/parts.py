"""Parts of the pages that several programs write alike."""

from __future__ import annotations

from collections.abc import Callable

from tests.programs.content import Board
from tests.programs.host import Ask
from tests.programs.layouts import Part, moment


def top(boards: tuple[Board, ...]) -> list[Board]:
    return [one for one in boards if one.parent is None]


def below(board: Board, boards: tuple[Board, ...]) -> list[Board]:
    return [one for one in boards if one.parent == board.number]


def last(part: Part) -> int:
    """Return the number of the last page."""
    return -(-max(1, part.total) // part.size)


def page_links(address: str, part: Part) -> str:
    """Write the numbers of all pages and an arrow."""
    links = "".join(
        f'<a href="{address}{at}">{at}</a> ' if at != part.number else f"<strong>{at}</strong> "
        for at in range(1, last(part) + 1)
    )
    return links + (f'<a rel="next" href="{address}{part.number + 1}">Next</a>' if part.has_more else "")


def plain(at: int) -> str:
    return f"{moment(at):%Y-%m-%d %H:%M:%S}"


def by_parameter(name: str, first: int = 1) -> Callable[[Ask, int], int]:
    """Read the number of a page."""
    return lambda ask, size: (ask.number(name, first) - first) * size


def by_offset(name: str) -> Callable[[Ask, int], int]:
    return lambda ask, _: ask.number(name, 0)
