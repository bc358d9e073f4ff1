"""Database queries for recovery, which fills guard and frontier again, and for summaries.

The iterators stream: they hold a connection, and a portion of the rows, until they are used up or closed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    exists,
    func,
    literal_column,
    or_,
    select,
    union,
)  # fmt: skip

from crawl_tasks.model import FULL_REACH, Reach, Request, Stage
from crawl_tasks.store.tables import comments, forums, posts, requests, versions
from crawl_tasks.store.upsert import Store

_HOUR_S = 3600
_KEYS_AT_ONCE = 500
_NAMED = 3

Query = TypeVar("Query", bound=Select[Any])  # Select is invariant: a bound must leave its columns open


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """Numbers of stored rows of a site. `posts` counts discovered ones too. `last_seen_at` is None without a post."""

    site: str
    forums: int = 0
    posts: int = 0
    fetched_posts: int = 0
    comments: int = 0
    versions: int = 0
    last_seen_at: float | None = None


@dataclass(frozen=True, slots=True)
class KnownRequests:
    """A page with the revision last admitted, or else last done. A page `may_be_open` until that revision is done.

    A page whose last answer said that the post is gone `is_gone`. `wanted_at_ms` is the time of the admission, 0 for a
    page that beat or a person asked for.
    """

    request: Request
    may_be_open: bool
    done_at_ms: int
    wanted_at_ms: int = 0
    is_gone: bool = False

    @property
    def last_at_ms(self) -> int:
        """Return the time of the last admission or fetch."""
        return max(self.done_at_ms, self.wanted_at_ms)

    def is_open(self, since_ms: int) -> bool:
        """Return whether a page that was admitted after a time is surely open.

        Of two requests for one page the older may end last. Its revision is the last one done then, and the page
        may be open: a recovery asks for it once more.
        """
        return self.may_be_open and self.wanted_at_ms > max(self.done_at_ms, since_ms)


def counts(store: Store, site: str | None = None) -> list[SiteCounts]:
    """Return the numbers of stored rows per site, in the order of the names."""
    with store.database.reading() as connection:
        totals = [_totals(connection, table, site) for table in (forums, comments, versions)]
        query = select(posts.c.site, func.count(), func.count(posts.c.fetched_at), func.max(posts.c.seen_at))
        of_posts = {row.site: row for row in connection.execute(_of_site(query.group_by(posts.c.site), posts, site))}
    site_counts = []
    for name in sorted(set(of_posts).union(*totals)):
        number_of_forums, number_of_comments, number_of_versions = (total.get(name, 0) for total in totals)
        _, known, fetched, last_seen_at = of_posts.get(name, (name, 0, 0, None))
        site_counts.append(
            SiteCounts(name, number_of_forums, known, fetched, number_of_comments, number_of_versions, last_seen_at)
        )
    return site_counts


def remembered(store: Store, site: str) -> Iterator[KnownRequests]:
    """Stream the pages of a site that were admitted or done, in the order of their last admission."""
    query = select(requests, _is_gone(requests).label("is_gone")).where(requests.c.site == site)
    query = query.order_by(requests.c.wanted_at, requests.c.key, requests.c.page)
    for row in store.database.stream(query):
        reach = Reach(*json.loads(row.reach)[: len(Reach._fields)]) if row.reach else FULL_REACH
        # Pages that beat or a person asked for have no `wanted`.
        revision = row.done if row.wanted is None else row.wanted
        request = Request(
            site, Stage(row.stage), row.key, row.address, page=row.page, revision=revision, priority=row.priority,
            reach=reach,
        )  # fmt: skip
        done_at_ms, wanted_at_ms = row.done_at or 0, row.wanted_at or 0
        # An earlier revision may have been asked for again since it was done.
        may_be_open = revision != row.done or wanted_at_ms > done_at_ms
        yield KnownRequests(request, may_be_open, done_at_ms, wanted_at_ms, is_gone=bool(row.is_gone))


def short_threads(store: Store, site: str) -> set[str]:
    """Return the ids of the threads of a site that are there with fewer comments than their list says."""
    standing = _comments_of_post().where(func.coalesce(comments.c.state, "normal") != "deleted")
    is_there = func.coalesce(posts.c.state, "normal") != "deleted"
    query = select(posts.c.post_id)
    query = query.where(posts.c.site == site, is_there, posts.c.reply_count > standing.scalar_subquery())
    with store.database.reading() as connection:
        return set(connection.scalars(query))


def read_boards(store: Store, site: str) -> set[str]:
    """Return the boards of a site whose own lists were read."""
    with store.database.reading() as connection:
        return set(connection.scalars(select(forums.c.forum_id).where(forums.c.site == site)))


def with_stored(store: Store, requested: Sequence[Request], stages: Collection[Stage]) -> tuple[Request, ...]:
    """Return the requests of one site, those of the given stages marked whose pages were admitted or done.

    A request whose page was so with its revision, or with any where it has none, `is_stored`. One whose page was so
    with another revision, or is gone, `is_stored_otherwise`.
    """
    stored: dict[tuple[Stage, str, int], str] = {}
    with store.database.reading() as connection:
        for stage in stages:
            keys = sorted({request.key for request in requested if request.stage is stage})
            for query in _last_revisions(requested[0].site, stage, keys):
                for key, page, last, is_gone in connection.execute(query):
                    stored[stage, key, page] = _OF_NO_LIST if is_gone else last
    revisions = [stored.get((request.stage, request.key, request.page)) for request in requested]
    return tuple(_marked(request, last) for request, last in zip(requested, revisions, strict=True))


_OF_NO_LIST = "\0gone"
"""In place of the revision of a page that is gone: no list shows it."""


def _marked(request: Request, last: str | None) -> Request:
    if last is None:
        return request
    is_known = last != _OF_NO_LIST and request.revision in {"", last}
    return request._replace(is_stored=is_known, is_stored_otherwise=not is_known)


def _is_gone(pages: Table) -> ColumnElement[bool]:
    """Return the condition that a page is that of a post which is gone, of table `requests`."""
    of_post = posts.c.site == pages.c.site, posts.c.post_id == pages.c.key, posts.c.state == "deleted"
    return and_(pages.c.stage == Stage.POST.value, exists().where(*of_post))


def _last_revisions(site: str, stage: Stage, keys: Sequence[str]) -> Iterator[Select[Any]]:
    # One stage a query: the primary key begins with site and stage, and without a stage all rows of a site are read.
    table = requests.c
    query = select(table.key, table.page, func.coalesce(table.wanted, table.done), _is_gone(requests))
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        of_keys = table.key.in_(keys[start : start + _KEYS_AT_ONCE])
        yield query.where(table.site == site, table.stage == stage.value, of_keys)


def posting_hours(store: Store, site: str, since: int, until: int) -> dict[str, Counter[int]]:
    """Return the posts and comments of each board of a site by the hour in which they were posted.

    Times are in seconds since the epoch. Where no comment has a time, the last reply of each thread stands for all.
    """
    threads, replies = (
        _posted(posts.c.created_at, site, since, until),
        _posted(comments.c.created_at, site, since, until),
    )
    replies = replies.where(posts.c.site == site, posts.c.post_id == comments.c.post_id)
    hours: dict[str, Counter[int]] = defaultdict(Counter)
    with store.database.reading() as connection:
        rows = connection.execute(replies).all()
        rows = rows or connection.execute(_posted(posts.c.last_reply_at, site, since, until)).all()
        for board, hour, count in (*rows, *connection.execute(threads)):
            hours[board][int(hour)] += count
    return hours


def _posted(at: Column[Any], site: str, since: int, until: int) -> Select[Any]:
    """Return the query of a table's rows by board and hour, of those posted in a span."""
    # A parameter would appear twice, and PostgreSQL would not see that both are the same expression.
    hour = at - at % literal_column(str(_HOUR_S))
    of_span = (at.table.c.site == site, at >= since, at < until, posts.c.forum_id.is_not(None))
    return select(posts.c.forum_id, hour, func.count()).where(*of_span).group_by(posts.c.forum_id, hour)


def readers(store: Store, site: str) -> list[str]:
    """Return the versions of the site file that read the stored posts and comments of a site."""
    by_posts, by_comments = (select(table.c.read_by).where(table.c.site == site) for table in (posts, comments))
    with store.database.reading() as connection:
        read_by = connection.execute(union(by_posts, by_comments)).scalars()
        return sorted(version for version in read_by if version is not None)


def read_before(store: Store, site: str, versions: Collection[str]) -> tuple[int, list[str]]:
    """Return the number of threads of which versions of the site file read a page, and some of their addresses."""
    read = [table.c.read_by.in_(versions) & (table.c.site == site) for table in (posts, comments)]
    threads = union(select(posts.c.post_id).where(read[0]), select(comments.c.post_id).where(read[1])).subquery()
    addresses = select(func.coalesce(posts.c.url, posts.c.post_id)).join(threads, threads.c.post_id == posts.c.post_id)
    with store.database.reading() as connection:
        number = int(connection.execute(select(func.count()).select_from(threads)).scalar_one())
        first = connection.execute(addresses.where(posts.c.site == site).limit(_NAMED)).scalars() if number else ()
        return number, list(first)


def unread_revisions(store: Store, site: str) -> int:
    """Return the number of posts whose list shows another revision than the one that their page was read at."""
    query = _at_rest(site).where(posts.c.revision.is_not(None), posts.c.revision != posts.c.fetched_revision)
    with store.database.reading() as connection:
        return int(connection.execute(query).scalar_one())


def other_counts(store: Store, site: str) -> int:
    """Return the number of threads that have another number of comments than their list says."""
    # Some forums count a deleted comment while its stub is there, so both numbers are right.
    all_comments = _comments_of_post()
    standing = all_comments.where(func.coalesce(comments.c.state, "normal") != "deleted")
    query = _at_rest(site).where(
        or_(posts.c.reply_count > all_comments.scalar_subquery(), posts.c.reply_count < standing.scalar_subquery())
    )
    with store.database.reading() as connection:
        return int(connection.execute(query).scalar_one())


def _comments_of_post() -> Select[Any]:
    of_post = comments.c.site == posts.c.site, comments.c.post_id == posts.c.post_id
    return select(func.count()).select_from(comments).where(*of_post)


def _at_rest(site: str) -> Select[Any]:
    """Return the query that counts the posts of a site that are there and whose page was read."""
    return select(func.count()).where(
        posts.c.site == site,
        posts.c.fetched_revision.is_not(None),
        func.coalesce(posts.c.state, "normal") != "deleted",
    )


def read_by(store: Store, site: str, version: str) -> Iterator[Request]:
    """Stream the pages that a version of the site file read: of posts, and all comment pages of their threads.

    All comment pages, because a comment may have moved to another page of its thread since. The pages longest not
    fetched come first, so that none starves where there is room for a few at a time.
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
    return dict(connection.execute(_of_site(query, table, site)).all())


def _of_site(query: Query, table: Table, site: str | None) -> Query:
    return query if site is None else query.where(table.c.site == site)
