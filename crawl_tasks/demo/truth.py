"""The ground truth: the result of a perfect crawl of the forum, for comparison with a real one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from crawl_tasks.demo.content import ForumContent, Thread
from crawl_tasks.demo.sizes import COMMENTS_PER_PAGE
from crawl_tasks.demo.texts import user_id


class TrueForum(NamedTuple):
    """A board and the number of its list pages."""

    forum_id: str
    title: str
    pages: int


class TruePost(NamedTuple):
    """A post as its page and its rows show it. A deleted one (`state`) has the fields of rows only, and no `body`.

    Moments are seconds since the epoch, multiples of `precision_s`. `forum_ids` has the home board first.
    """

    post_id: str
    forum_ids: tuple[str, ...]
    title: str
    author: str | None
    author_id: str | None
    created_at: int
    last_reply_at: int | None
    edited_at: int | None
    edits: int
    precision_s: int
    body: str | None
    reply_count: int
    view_count: int
    pages: int
    state: str
    status: int


class TrueComment(NamedTuple):
    """A comment. `page` counts from 1, the post's own page. `position` is the rank by age on the page, from 0."""

    comment_id: str
    post_id: str
    parent_id: str | None
    depth: int
    author: str | None
    author_id: str | None
    created_at: int
    precision_s: int
    body: str
    state: str
    page: int
    position: int


@dataclass(frozen=True, slots=True)
class Truth:
    """All knowledge about a forum. Comments of deleted posts are absent, because no crawl can read them.

    `paths` are the pages that a complete crawl requests, each once: lists, posts (deleted ones too), comment pages.
    """

    seed: int
    size: str
    generation: int
    now: int
    forums: tuple[TrueForum, ...]
    posts: tuple[TruePost, ...]
    comments: tuple[TrueComment, ...]
    paths: tuple[str, ...]

    def to_json(self) -> str:
        """Return one JSON object with this class's fields. Rows are objects."""
        rows = {name: [row._asdict() for row in getattr(self, name)] for name in ("forums", "posts", "comments")}
        head = {name: getattr(self, name) for name in ("seed", "size", "generation", "now")}
        return json.dumps({**head, **rows, "paths": self.paths}, ensure_ascii=False)


def truth_of(world: ForumContent) -> Truth:
    """Return the ground truth of a forum's content."""
    forums = tuple(
        TrueForum(board.board_id, board.title, list_pages(world, len(world.listing(board.board_id))))
        for board in world.boards.values()
    )
    threads = world.threads.values()
    comments = tuple(comment for thread in threads if not thread.gone for comment in _comments(thread))
    lists = [f"/list/{forum.forum_id}/{page}" for forum in forums for page in range(1, forum.pages + 1)]
    posts = [f"/post/{thread.post_id}" for thread in threads]
    further = [
        f"/comment/{thread.post_id}/{page}"
        for thread in threads
        if not thread.gone
        for page in range(2, thread.pages + 1)
    ]
    return Truth(
        seed=world.seed,
        size=world.size.name,
        generation=world.generation,
        now=world.now,
        forums=forums,
        posts=tuple(_post(thread) for thread in threads),
        comments=comments,
        paths=(*lists, *posts, *further),
    )


def list_pages(world: ForumContent, rows: int) -> int:
    """Return the number of list pages that so many rows fill."""
    return max(1, -(-rows // world.size.rows_per_page))


def _post(thread: Thread) -> TruePost:
    return TruePost(
        post_id=thread.post_id,
        forum_ids=thread.boards,
        title=thread.title,
        author=thread.author,
        author_id=user_id(thread.author),
        created_at=thread.created_at,
        last_reply_at=thread.last_reply_at,
        edited_at=thread.edited_at,
        edits=thread.edits,
        precision_s=thread.precision_s,
        body=None if thread.gone else thread.body.text,
        reply_count=len(thread.replies),
        view_count=thread.views,
        pages=thread.pages,
        state="deleted" if thread.gone else "normal",
        status=thread.gone or 200,
    )


def _comments(thread: Thread) -> list[TrueComment]:
    return [
        TrueComment(
            comment_id=reply.comment_id,
            post_id=thread.post_id,
            parent_id=reply.parent_id,
            depth=reply.depth,
            author=reply.author,
            author_id=user_id(reply.author),
            created_at=reply.created_at,
            precision_s=thread.precision_s,
            body=reply.body.text,
            state=reply.state.value,
            page=1 + index // COMMENTS_PER_PAGE,
            position=index % COMMENTS_PER_PAGE,
        )
        for index, reply in enumerate(thread.replies)
    ]
