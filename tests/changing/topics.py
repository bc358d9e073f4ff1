"""What a changing forum consists of at one moment: the demo's threads, and what can happen to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from crawl_tasks.demo.content import Board, ForumContent, Reply, Style, Thread
from crawl_tasks.demo.generator import create
from crawl_tasks.demo.sizes import Size

SIZE = Size(
    name="changing", boards=4, rows_per_page=10, min_rows=12, max_rows=24, duplicate_share=0.15, paged_share=0.4,
    tail=1.3, longest_extra=4, days=40, users=30, heavy=False,
)  # fmt: skip
COUNT_ONLY = "4"
"""The board whose rows show neither the last comment's time nor edits."""
_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Topic(Thread):
    """A thread with what its moderators did to it.

    `removed` are comments that were taken away altogether, `covered` the originals of those that a stub stands for.
    `version` counts the changes of the thread.
    """

    is_listed: bool = True
    is_marked: bool = False
    is_pinned: bool = False
    flair: str = ""
    removed: tuple[Reply, ...] = ()
    covered: tuple[Reply, ...] = ()
    version: int = 0

    @classmethod
    def of(cls, thread: Thread) -> Topic:
        """Take a thread of the demo forum over as it is."""
        return cls(**{field.name: getattr(thread, field.name) for field in fields(Thread)})


class Forum:
    """The forum as it is now. `put` is the only way to change a thread; `touched` are those of the present change."""

    def __init__(self, seed: int, now: float) -> None:
        world = create(seed, SIZE)
        shift = (int(now) - world.now) // _MINUTE_S * _MINUTE_S
        boards = dict(world.boards)
        boards[COUNT_ONLY] = replace(boards[COUNT_ONLY], style=Style.LOCAL)  # words on one board are enough
        self.seed, self.boards = seed, boards
        self.topics = {thread.post_id: _shifted(thread, shift) for thread in world.threads.values()}
        self.next_comment = world.next_comment
        self.touched: list[str] = []

    def put(self, topic: Topic) -> None:
        """Let a thread be another one."""
        self.topics[topic.post_id] = replace(topic, version=topic.version + 1)
        self.touched.append(topic.post_id)

    def board_of(self, topic: Topic) -> Board:
        """Return the board that a thread stands on first."""
        return self.boards[topic.boards[0]]

    def listing(self, board_id: str) -> list[Topic]:
        """Return the threads of a board's lists: pinned ones, then the last activity first."""
        rows = [topic for topic in self.topics.values() if board_id in topic.boards and topic.is_listed]
        return sorted(rows, key=lambda row: (row.is_pinned, row.active_at, int(row.post_id)), reverse=True)

    def world(self, now: float) -> ForumContent:
        """Return the forum to the demo's pages, as a front end with that clock shows it."""
        return ForumContent(self.seed, SIZE, 1, int(now), self.boards, self.topics, self.next_comment)


def _shifted(thread: Thread, by_s: int) -> Topic:
    """Bring a thread of the demo's year to the present."""
    edited_at = None if thread.edited_at is None else thread.edited_at + by_s
    replies = tuple(replace(reply, created_at=reply.created_at + by_s) for reply in thread.replies)
    return replace(Topic.of(thread), created_at=thread.created_at + by_s, edited_at=edited_at, replies=replies)


def in_order(replies: Iterable[Reply]) -> tuple[Reply, ...]:
    """Sort comments as the forum shows them: in the order in which they were written."""
    return tuple(sorted(replies, key=lambda reply: int(reply.comment_id)))
