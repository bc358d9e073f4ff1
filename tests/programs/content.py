"""What is in the forum that every program shows: boards, topics, what was said, by whom and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

BEGAN = 1_719_400_020
"""The first moment, on a full minute, as some programs show no seconds."""
AUTHORS = ("ann", "Bob Stone", "王小明", "dee_42", "Élise")
TITLES = ("Which oil for <old> engines & bikes?", "周末去哪里骑车", 'A "quoted" title', "Plain words about chains")
PICTURE = "shows-a-picture"
"""The line of a post that is a picture. A host serves the picture in its place, and its text is empty."""
WORDLESS: dict[tuple[int, int], tuple[str, ...]] = {(10, 0): (PICTURE,), (13, 1): (PICTURE,), (3, 6): (), (14, 0): ()}
"""The lines of posts without words, by topic and reply: two pictures, one that shows its quote at most, and a poll."""
LINES = ("First we try the simple thing.", "下雨的时候刹车会响吗？", "2 < 3 & 5 > 4, as ever.", "It works — mostly 😀")


@dataclass(frozen=True)
class Said:
    """One post; the first of a topic is the topic's own text. `quotes` is the number of the post it answers."""

    number: int
    author: str
    at: int
    lines: tuple[str, ...]
    quotes: int | None = None
    edited_at: int | None = None

    @property
    def text(self) -> str:
        return "\n".join(line for line in self.lines if line != PICTURE)


@dataclass(frozen=True)
class Topic:
    """A topic of a board; `was_in` is the board it was moved from, which shows a notice of it."""

    number: int
    board: int
    title: str
    said: tuple[Said, ...]
    is_pinned: bool = False
    is_locked: bool = False
    is_deleted: bool = False
    was_in: int | None = None

    @property
    def slug(self) -> str:
        return "".join(char if char.isascii() and char.isalnum() else "-" for char in self.title.lower()).strip("-")

    @property
    def last(self) -> Said:
        return self.said[-1]


@dataclass(frozen=True)
class Board:
    """A board; `parent` is the number of the one it stands below."""

    number: int
    title: str
    slug: str
    parent: int | None = None


@dataclass(frozen=True)
class Content:
    """A whole forum."""

    boards: tuple[Board, ...]
    topics: tuple[Topic, ...]

    @cached_property
    def visible(self) -> dict[int, Topic]:
        return {topic.number: topic for topic in self.topics if not topic.is_deleted}

    def board(self, number: int) -> Board:
        return next(board for board in self.boards if board.number == number)

    def listed(self, board: int) -> list[Topic]:
        """Return what a board shows, pinned first, then by the last post; of what was moved away, the notice."""
        there = [topic for topic in self.visible.values() if board in (topic.board, topic.was_in)]
        return sorted(there, key=lambda topic: (not topic.is_pinned, -topic.last.at))


@dataclass(frozen=True)
class Row:
    """What a store should hold of a topic or a reply."""

    author: str
    at: int
    text: str
    title: str = ""
    board: int = 0
    parent: int | None = None


def expected(content: Content) -> dict[tuple[int, int], Row]:
    """Return the truth by the number of the topic and of the post, a topic as post 0; parents are numbers of posts."""
    return {
        (topic.number, 0 if said is topic.said[0] else said.number): Row(
            said.author, said.at, said.text,
            title=topic.title if said is topic.said[0] else "",
            board=topic.board if said is topic.said[0] else 0,
            parent=None if said.quotes == topic.said[0].number else said.quotes,
        )
        for topic in content.visible.values()
        for said in topic.said
    }  # fmt: skip


def small_forum(topics: int = 40) -> Content:
    """Make the forum: a board with most topics, its sub-board, and an empty one."""
    boards = (Board(1, "General", "general"), Board(2, "Talk & more", "talk", parent=1), Board(3, "Nobody", "nobody"))
    return Content(boards, tuple(_topics(topics)))


def _topics(count: int) -> Iterator[Topic]:
    number = 100
    for place in range(1, count + 1):
        replies = {3: 41, 5: 20, 8: 19, 11: 15}.get(place, place % 4)
        said: list[Said] = []
        for reply in range(replies + 1):
            number += 1
            at = BEGAN + place * 7200 + reply * 240
            lines: tuple[str, ...] = (f"{LINES[(place + reply) % 4]} ({number})", LINES[(place * reply) % 4])
            lines = WORDLESS.get((place, reply), lines)
            quotes = said[reply // 2].number if reply and reply % 3 == 0 else None
            edited_at = at + 60 if reply % 5 == 2 else None
            said.append(Said(number, AUTHORS[(place + reply) % 5], at, lines, quotes, edited_at))
        title = f"{TITLES[place % 4]} {place}"
        topic = Topic(place, 2 if place % 5 == 4 else 1, title, tuple(said), is_pinned=place == 2)
        yield replace(
            topic, is_locked=place == 6, is_deleted=place == 7, board=2 if place == 9 else topic.board,
            was_in=1 if place == 9 else None,
        )  # fmt: skip
