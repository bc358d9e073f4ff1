"""Deletions: comments and posts that a full pass did not see, and the requests that follow.

A comment moves to the page before when an earlier one is deleted, and a pass between the two pages misses it. So the
thread is read until two reads in sequence saw the same comments: nothing was deleted between them. What both missed is
marked as deleted, an observation like any other, dated at the beginning of the first read. Pages of a read that another
store worker still holds have later dates, so that they undo a mark whenever they come. Posts that no list of a board
showed are requested by their own addresses.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, or_, select

from crawl_tasks.model import UNREADABLE, BoardPass, Comment, Items, Reach, Request, Stage, Sweep
from crawl_tasks.model.own_counters import count
from crawl_tasks.model.reply_counts import SHORT_READ, is_short
from crawl_tasks.store.tables import comments, posts

log = logging.getLogger(__name__)

LOOKS: Final = 2
"""Reads that must have missed a comment. One more if fewer comments were seen than the thread claims to have."""

MOST_TRIES: Final = 6
"""Reads of a thread in one pass. A comment still in doubt after that is left to the next pass."""

READ_AGAIN_FACTOR: Final = 5
"""The second read begins 1 s after the first: caches tell the age of a copy in whole seconds, and a copy of the read
before must be known as one. Each read of such copies makes this and all later waits so many times as long.
"""

LEAST_UNLISTED: Final = 100
UNLISTED_SHARE: Final = 10
"""A board's pass asks for the posts longest unseen: a hundred, or one for every ten that the lists showed."""


@dataclass(slots=True)
class Followed:
    """Consequences of full passes: comments to mark and pages to request."""

    gone: list[Items] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)


def follow_up(connection: Connection, pages: Sequence[Items]) -> Followed:
    """Return the consequences of full passes, after their pages are written."""
    followed = Followed()
    for page in pages:
        for sweep in page.swept:
            _follow_sweep(connection, page.site, sweep, followed)
        for over in page.passes:
            followed.asked += _unlisted(connection, page.site, over)
    return followed


def _follow_sweep(connection: Connection, site: str, sweep: Sweep, followed: Followed) -> None:
    # A site that has no full pass deletes nothing.
    if sweep.whole == SHORT_READ:
        return
    of_thread = (comments.c.site == site, comments.c.post_id == sweep.post_id)
    is_there = or_(comments.c.state.is_(None), comments.c.state.not_in(UNREADABLE))
    missed = connection.execute(
        select(comments.c.comment_id).where(*of_thread, comments.c.seen_at < sweep.before, is_there)
    ).scalars().all()  # fmt: skip
    if not missed:
        return
    thread = _thread_of(connection, site, sweep)
    if sweep.is_bare and (thread is None or thread.reply_count != 0):
        return
    lacking = 0 if thread is None else thread.listed - thread.seen
    if thread is not None and is_short(thread.listed, thread.seen):
        log.warning(
            "a thread lacks replies that its list counts, so none is marked as deleted",
            extra={"site": site, "post": sweep.post_id, "listed": thread.listed, "missed": len(missed)},
        )
        count(site, "doubtful_threads")
        return
    if sweep.counts and sweep.look >= LOOKS + (lacking > 0) and not _has_lost(connection, site, sweep):
        marks = (Comment(sweep.post_id, comment_id, sweep.before, state="deleted") for comment_id in missed)
        followed.gone.append(Items(site, comments=tuple(marks)))
    elif thread is not None:
        followed.asked += _next_read(site, sweep, thread)


class _Thread(NamedTuple):
    """A stored thread: how many comments its list counts, and how many a sweep saw."""

    url: str | None
    revision: str | None
    reply_count: int | None
    listed: int
    seen: int


def _thread_of(connection: Connection, site: str, sweep: Sweep) -> _Thread | None:
    """Return the thread of a sweep, None where it is not stored."""
    of_thread = (comments.c.site == site, comments.c.post_id == sweep.post_id)
    seen = select(func.count()).where(*of_thread, comments.c.seen_at >= sweep.before).scalar_subquery()
    listed = func.coalesce(posts.c.reply_count, 0)
    query = select(posts.c.url, posts.c.revision, posts.c.reply_count, listed.label("listed"), seen.label("seen"))
    row = connection.execute(query.where(posts.c.site == site, posts.c.post_id == sweep.post_id)).one_or_none()
    return None if row is None else _Thread(*row)


def _next_read(site: str, sweep: Sweep, thread: _Thread) -> Iterator[Request]:
    """Yield the next read of a sweep's thread, none after the last."""
    whole, _, tries = sweep.whole.partition(".")
    number = int(tries or 1) + 1
    if thread.url is None or number > MOST_TRIES:
        return
    look = sweep.look + sweep.counts
    reach = Reach(whole=f"{whole}.{number}", look=look, missed_from=sweep.before, made_after=sweep.made_after)
    reach = reach._replace(looked_from=sweep.read_from if sweep.counts else sweep.looked_from)
    again = _request(site, sweep.post_id, thread.url, thread.revision, priority=sweep.priority, reach=reach)
    # A copy made before the last read tells nothing new. How long caches keep copies is unknown: 1 s, 5 s, 25 s, …
    yield again._replace(wait_s=READ_AGAIN_FACTOR ** (number - look))


def _has_lost(connection: Connection, site: str, sweep: Sweep) -> bool:
    """Return whether this read missed a comment that the read before saw."""
    seen_before = (comments.c.seen_at >= sweep.looked_from, comments.c.seen_at < sweep.read_from)
    lost = select(comments.c.comment_id).where(
        comments.c.site == site, comments.c.post_id == sweep.post_id, *seen_before
    )
    return connection.execute(lost.limit(1)).first() is not None


def _unlisted(connection: Connection, site: str, over: BoardPass) -> list[Request]:
    """Return requests for posts of a board that nothing showed since the pass began, readable ones first."""
    of_board = (posts.c.site == site, posts.c.forum_id == over.forum_id)
    seen = connection.execute(select(func.count()).where(*of_board, posts.c.seen_at >= over.before)).scalar_one()
    is_gone = posts.c.state.in_(UNREADABLE)
    query = select(posts.c.post_id, posts.c.url, posts.c.revision)
    query = query.where(*of_board, posts.c.seen_at < over.before, posts.c.url.is_not(None))
    query = query.order_by(func.coalesce(is_gone, False), posts.c.seen_at)
    rows = connection.execute(query.limit(max(LEAST_UNLISTED, seen // UNLISTED_SHARE)))
    reach = Reach(whole=over.whole, is_unlisted=True)
    return [_request(site, *row, priority=over.priority, reach=reach) for row in rows]


def _request(site: str, post: str, url: str, revision: str | None, *, priority: int, reach: Reach) -> Request:
    return Request(site, Stage.POST, post, url, revision=revision or "", priority=priority, reach=reach)
