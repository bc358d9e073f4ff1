"""Beside the flow: what the database knows, for recovery, which fills guard and frontier again, and for summaries.

The iterators stream: they hold a connection, and a portion of the rows, until they are used up or closed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, Table, func, select, union

from crawl_tasks.model import FULL_REACH, Reach, Request, Stage
from crawl_tasks.store.tables import comments, forums, posts, requests, versions
from crawl_tasks.store.upsert import Store

Query = TypeVar("Query", bound=Select[Any])  # Select is invariant: a bound must leave its columns open


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """How much of a site is stored. `posts` counts the discovered ones too; `last_seen_at` is None without a post."""

    site: str
    forums: int = 0
    posts: int = 0
    fetched_posts: int = 0
    comments: int = 0
    versions: int = 0
    last_seen_at: float | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A page as it was last admitted, or else done; it is open while that revision was not done.

    `wanted_at_ms` is when this revision was admitted, 0 when something else than a page of the forum asked for it.
    """

    request: Request
    is_open: bool
    done_at_ms: int
    wanted_at_ms: int = 0


def counts(store: Store, site: str | None = None) -> list[SiteCounts]:
    """Count what is stored, per site, in the order of their names."""
    with store.database.reading() as connection:
        totals = [_totals(connection, table, site) for table in (forums, comments, versions)]
        query = select(posts.c.site, func.count(), func.count(posts.c.fetched_at), func.max(posts.c.seen_at))
        of_posts = {row[0]: row for row in connection.execute(_of_site(query.group_by(posts.c.site), posts, site))}
    found = []
    for name in sorted(set(of_posts).union(*totals)):
        number_of_forums, number_of_comments, number_of_versions = (total.get(name, 0) for total in totals)
        _, known, fetched, last_seen_at = of_posts.get(name, (name, 0, 0, None))
        found.append(
            SiteCounts(name, number_of_forums, known, fetched, number_of_comments, number_of_versions, last_seen_at)
        )
    return found


def remembered(store: Store, site: str) -> Iterator[Remembered]:
    """Stream the pages of a site that were admitted or done, in the order of their last admission."""
    query = (
        select(requests).where(requests.c.site == site).order_by(requests.c.wanted_at, requests.c.key, requests.c.page)
    )
    for row in store.database.stream(query):
        reach = Reach(*json.loads(row.reach)) if row.reach else FULL_REACH
        revision = row.done if row.wanted is None else row.wanted
        request = Request(
            site, Stage(row.stage), row.key, row.address, page=row.page, revision=revision, priority=row.priority,
            reach=reach,
        )  # fmt: skip
        yield Remembered(request, revision != row.done, row.done_at or 0, row.wanted_at or 0)


def readers(store: Store, site: str) -> list[str]:
    """Name the versions of the site file that read what is stored of a site."""
    by_posts, by_comments = (select(table.c.read_by).where(table.c.site == site) for table in (posts, comments))
    with store.database.reading() as connection:
        found = connection.execute(union(by_posts, by_comments)).scalars()
        return sorted(version for version in found if version is not None)


def read_by(store: Store, site: str, version: str) -> Iterator[Request]:
    """Stream the pages that a version of the site file read: of posts, and all comment pages of their threads.

    A comment may have gone to another page of its thread since, so that the page it stood on would not be enough. Those
    come first that were longest not fetched, so that none starves where there is room for a few at a time.
    """
    of_post = select(posts.c.post_id, posts.c.url, posts.c.revision).order_by(posts.c.post_id)
    of_post = of_post.where(posts.c.site == site, posts.c.read_by == version, posts.c.url.is_not(None))
    for key, url, revision in store.database.stream(of_post):
        yield Request(site, Stage.POST, key, url, revision=revision or "")
    threads = select(comments.c.post_id).where(comments.c.site == site, comments.c.read_by == version)
    revision = func.coalesce(requests.c.wanted, requests.c.done)
    of_comments = select(requests.c.key, requests.c.page, requests.c.address, revision)
    of_comments = of_comments.where(requests.c.site == site, requests.c.stage == Stage.COMMENT.value)
    of_comments = of_comments.where(requests.c.key.in_(threads), requests.c.address.is_not(None))
    for key, page, address, last in store.database.stream(
        of_comments.order_by(requests.c.done_at, requests.c.key, requests.c.page)
    ):
        yield Request(site, Stage.COMMENT, key, address, page=page, revision=last or "")


def _totals(connection: Connection, table: Table, site: str | None) -> dict[str, int]:
    query = select(table.c.site, func.count()).group_by(table.c.site)
    return {row[0]: row[1] for row in connection.execute(_of_site(query, table, site))}


def _of_site(query: Query, table: Table, site: str | None) -> Query:
    return query if site is None else query.where(table.c.site == site)
