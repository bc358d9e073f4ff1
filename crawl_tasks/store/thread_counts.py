"""Thread counts: the replies that lists count, beside those that are stored."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import case, false, func, select

from crawl_tasks.model import Stage
from crawl_tasks.model.reply_counts import ALL_ARE_READ, FEW, CountRules, is_short
from crawl_tasks.store.database import Database
from crawl_tasks.store.tables import comments, posts, requests

_AT_ONCE = 500


class ThreadCount(NamedTuple):
    """A thread with the replies that its list counts, and those that are stored."""

    post_id: str
    url: str | None
    listed: int
    stored: int
    counts_hidden: bool = False

    @property
    def is_short(self) -> bool:
        """Whether more than a few are missing."""
        return is_short(self.listed, self.stored, counts_hidden=self.counts_hidden)

    def __str__(self) -> str:
        """Return the numbers and the address."""
        return f"{self.listed} {self.stored} {self.url or self.post_id}"


def thread_counts(
    database: Database, site: str, keys: Collection[str] | None = None, rules: CountRules = ALL_ARE_READ
) -> list[ThreadCount]:
    """Return the threads at rest, of a site those whose lists count more than a few replies, or those of some keys.

    Left out are those with another revision than their page was read at, and those with an open comment page. A thread
    that is gone rests, and its list counts nothing. Nor does that of one with the most pages, where its site stops.
    """
    number = select(
        comments.c.post_id, func.count().label("stored"), func.max(comments.c.page).label("pages")
    ).where(comments.c.site == site)  # fmt: skip
    open_page = select(requests.c.key).where(
        requests.c.site == site, requests.c.stage == Stage.COMMENT.value, requests.c.key == posts.c.post_id,
        requests.c.wanted.is_not(None), requests.c.wanted != func.coalesce(requests.c.done, ""),
    )  # fmt: skip
    is_gone = func.coalesce(posts.c.state, "normal") == "deleted"
    found: list[ThreadCount] = []
    parts: list[list[str] | None] = [None]
    if keys is not None:
        parts = [sorted(keys)[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE)]
    with database.reading() as connection:
        for part in parts:
            of_part = number if part is None else number.where(comments.c.post_id.in_(part))
            counted = of_part.group_by(comments.c.post_id).subquery()
            is_cut = false() if rules.most_pages is None else func.coalesce(counted.c.pages, 0) >= rules.most_pages
            listed = case((is_gone | is_cut, 0), else_=func.coalesce(posts.c.reply_count, 0))
            query = select(posts.c.post_id, posts.c.url, listed, func.coalesce(counted.c.stored, 0))
            query = query.select_from(posts.outerjoin(counted, counted.c.post_id == posts.c.post_id))
            query = query.where(
                posts.c.site == site,
                is_gone
                | posts.c.fetched_at.is_not(None)
                & ~open_page.exists()
                & (func.coalesce(posts.c.revision, "") == func.coalesce(posts.c.fetched_revision, "")),
            )
            query = query.where(listed > FEW) if part is None else query.where(posts.c.post_id.in_(part))
            found += [ThreadCount(*row, rules.counts_hidden) for row in connection.execute(query)]
    return found
