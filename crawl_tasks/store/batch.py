"""The batch: items of many pages become one row per key, with the values they supersede among each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from crawl_tasks.model import Comment, Items, Visit
from crawl_tasks.store.merge import Replaced, merge
from crawl_tasks.store.rows import (
    COMMENTS,
    FORUMS,
    POSTS,
    Key,
    Row,
    Shape,
    comment_rows,
    forum_row,
    post_row,
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The rows of one table, by key, and the values superseded within the batch."""

    shape: Shape
    rows: dict[Key, Row] = field(default_factory=dict)
    losers: dict[Key, list[Replaced]] = field(default_factory=dict)

    def add_all(self, rows: Iterable[Row]) -> None:
        """Add many rows, in one step if none of their keys is known, as nearly always."""
        many = list(rows)
        keys = list(map(self.shape.key_of, many))
        fresh = dict(zip(keys, many, strict=True))
        if len(fresh) == len(many) and self.rows.keys().isdisjoint(fresh):
            self.rows.update(fresh)
            return
        for key, row in zip(keys, many, strict=True):
            self.add(key, row)

    def add(self, key: Key, row: Row) -> None:
        """Add a row, merged with the known one of the same key."""
        known = self.rows.setdefault(key, row)
        if known is row:
            return
        self.rows[key], lost = merge(self.shape, known, row)
        if lost:
            self.losers.setdefault(key, []).extend(lost)


@dataclass(frozen=True, slots=True)
class Batch:
    """All rows of one transaction."""

    forums: Gathered
    posts: Gathered
    comments: Gathered
    memberships: set[Key]
    visits: list[Visit]


def gather(pages: Iterable[Items]) -> Batch:
    """Merge pages into one batch."""
    batch = Batch(Gathered(FORUMS), Gathered(POSTS), Gathered(COMMENTS), set(), [])
    comments: dict[str, tuple[list[Comment], list[str]]] = {}
    for page in pages:
        site = page.site
        batch.visits.extend(page.visits)
        for forum in page.forums:
            batch.forums.add((site, forum.forum_id), forum_row(site, forum, _time_of(page)))
        for post in page.posts:
            batch.posts.add((site, post.post_id), post_row(site, post, page.read_by))
            if post.forum_id is not None:
                batch.memberships.add((site, post.post_id, post.forum_id))
        if page.comments:
            of_site, versions = comments.setdefault(site, ([], []))
            of_site.extend(page.comments)
            versions += [page.read_by] * len(page.comments)
    # Comments by site, not by page: they are converted column by column, which pays for many at once.
    for site, (of_site, versions) in comments.items():
        batch.comments.add_all(comment_rows(site, of_site, versions))
    return batch


def _time_of(page: Items) -> float:
    """Return when a page was seen: a Forum carries no time, the posts and comments beside do."""
    times = [post.seen_at for post in page.posts] + [comment.seen_at for comment in page.comments]
    return max(times, default=0.0)
