"""Inside the store's transaction: what a full pass did not see any more becomes an observation like any other.

It is dated at the moment from which on the pass read the thread. Whatever the pass did see has that date or a later
one, and of two states of the same moment `normal` is the greater: so the pages of a pass may be stored in any order.
A page from before it that another store worker stores after its word keeps its comments until the next pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, or_, select

from crawl_tasks.model import UNREADABLE, Comment, Items, Sweep
from crawl_tasks.store.tables import comments


def gone_comments(connection: Connection, pages: Sequence[Items]) -> list[Items]:
    """Give the comments that full passes found missing, as items that are deleted."""
    swept = [(page.site, sweep) for page in pages for sweep in page.swept]
    return [Items(site, comments=_missing(connection, site, sweep)) for site, sweep in swept]


def _missing(connection: Connection, site: str, sweep: Sweep) -> tuple[Comment, ...]:
    is_there = or_(comments.c.state.is_(None), comments.c.state.not_in(UNREADABLE))
    query = select(comments.c.comment_id).where(comments.c.site == site, comments.c.post_id == sweep.post_id)
    ids = connection.execute(query.where(comments.c.seen_at < float(sweep.before), is_there)).scalars()
    return tuple(Comment(sweep.post_id, one, float(sweep.before), state="deleted") for one in ids)
