"""The content of a forum at one moment: boards, threads, replies. Immutable: `mutation` makes a new one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from crawl_tasks.demo.sizes import COMMENTS_PER_PAGE, Size
from crawl_tasks.demo.texts import Language, TextPair


class Style(Enum):
    """The format in which a board writes moments."""

    ATTRIBUTE = "attribute"
    LOCAL = "local"
    HAN = "han"
    RELATIVE = "relative"


class ReplyState(StrEnum):
    """Whether a comment is still readable."""

    NORMAL = "normal"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Board:
    """A board. With `nests`, answers are inside the comment that they answer."""

    board_id: str
    title: str
    language: Language
    style: Style
    nests: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """A comment. Moments are seconds since the epoch, here and below."""

    comment_id: str
    parent_id: str | None
    depth: int
    author: str | None
    created_at: int
    body: TextPair
    state: ReplyState = ReplyState.NORMAL


@dataclass(frozen=True, slots=True)
class Thread:
    """A post and its comments, oldest first. `boards` has the home board first.

    `gone` is the status of a deleted post's page, 0 for a post that is there. All moments are multiples of
    `precision_s`.
    """

    post_id: str
    boards: tuple[str, ...]
    title: str
    author: str | None
    created_at: int
    body: TextPair
    views: int
    precision_s: int
    replies: tuple[Reply, ...] = ()
    edits: int = 0
    edited_at: int | None = None
    gone: int = 0

    @property
    def last_reply_at(self) -> int | None:
        """The moment of the newest comment."""
        return self.replies[-1].created_at if self.replies else None

    @property
    def active_at(self) -> int:
        """The moment by which lists are ordered: an edit does not count."""
        return self.replies[-1].created_at if self.replies else self.created_at

    @property
    def pages(self) -> int:
        """Number of comment pages. The first is on the post's page."""
        return max(1, -(-len(self.replies) // COMMENTS_PER_PAGE))

    def page(self, number: int) -> tuple[Reply, ...]:
        """Return the comments of a page, from 1."""
        return self.replies[(number - 1) * COMMENTS_PER_PAGE : number * COMMENTS_PER_PAGE]


@dataclass(frozen=True, slots=True)
class ForumContent:
    """A forum at the moment `now`. `next_comment` is the first comment id not yet used."""

    seed: int
    size: Size
    generation: int
    now: int
    boards: Mapping[str, Board]
    threads: Mapping[str, Thread]
    next_comment: int

    def listing(self, board_id: str) -> list[Thread]:
        """Return the threads on a board's lists, last activity first."""
        rows = [thread for thread in self.threads.values() if board_id in thread.boards]
        return sorted(rows, key=lambda thread: (thread.active_at, int(thread.post_id)), reverse=True)

    def home(self, thread: Thread) -> Board:
        """Return the board that a thread was written on."""
        return self.boards[thread.boards[0]]
