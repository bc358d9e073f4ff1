"""Thread counts: the replies that lists count, beside those that are stored."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import case, false, func, literal, select

from crawl_tasks.model import Priority, Reach, Request, Stage
from crawl_tasks.model.reply_counts import ALL_ARE_READ, FEW, SHORT_READ, CountRules, is_short
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
    revision: str = ""
    has_pages: bool = False

    @property
    def is_short(self) -> bool:
        """Whether more than a few are missing."""
        return is_short(self.listed, self.stored, counts_hidden=self.counts_hidden)

    def __str__(self) -> str:
        """Return the numbers and the address."""
        return f"{self.listed} {self.stored} {self.url or self.post_id}"

    def again(self, site: str) -> Request | None:
        """Return the request that reads all pages of the thread once more.

        None for a thread of one page whose revision counts its replies: its page was looked at twice before it was
        stored.
        """
        was_judged = not self.has_pages and self.revision.partition("|")[0] == str(self.listed)
        if was_judged or self.url is None:
            return None
        reach, rank = Reach(whole=SHORT_READ), Priority.BACKFILL
        return Request(site, Stage.POST, self.post_id, self.url, revision=self.revision, priority=rank, reach=reach)


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
    comment_page = select(requests.c.key).where(
        requests.c.site == site, requests.c.stage == Stage.COMMENT.value, requests.c.key == posts.c.post_id
    )  # fmt: skip
    open_page = comment_page.where(
        requests.c.wanted.is_not(None), requests.c.wanted != func.coalesce(requests.c.done, "")
    )  # fmt: skip
    is_gone = func.coalesce(posts.c.state, "normal") == "deleted"
    counts: list[ThreadCount] = []
    parts: list[list[str] | None] = [None]
    if keys is not None:
        parts = [sorted(keys)[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE)]
    with database.reading() as connection:
        for part in parts:
            of_part = number if part is None else number.where(comments.c.post_id.in_(part))
            counted = of_part.group_by(comments.c.post_id).subquery()
            is_cut = false() if rules.most_pages is None else func.coalesce(counted.c.pages, 0) >= rules.most_pages
            listed = case((is_gone | is_cut, 0), else_=func.coalesce(posts.c.reply_count, 0))
            stored = func.coalesce(counted.c.stored, 0)
            # Only of those that lack some: of the others each thread would cost a look at its pages.
            has_pages = case((listed - stored > FEW, comment_page.exists()), else_=false())
            query = select(
                posts.c.post_id, posts.c.url, listed, stored, literal(rules.counts_hidden),
                func.coalesce(posts.c.revision, ""), has_pages,
            )  # fmt: skip
            query = query.select_from(posts.outerjoin(counted, counted.c.post_id == posts.c.post_id))
            query = query.where(
                posts.c.site == site,
                is_gone
                | posts.c.fetched_at.is_not(None)
                & ~open_page.exists()
                & (func.coalesce(posts.c.revision, "") == func.coalesce(posts.c.fetched_revision, "")),
            )
            query = query.where(listed > FEW) if part is None else query.where(posts.c.post_id.in_(part))
            counts += [ThreadCount(*row) for row in connection.execute(query)]
    return counts
