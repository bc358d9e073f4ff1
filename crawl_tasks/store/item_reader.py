"""The item reader: stored posts and comments for a person who reads. Each read goes by an index and has a bound."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, func, literal, null, select, tuple_

from crawl_tasks.errors import StoreError
from crawl_tasks.store import tables
from crawl_tasks.store.author_rows import author_key
from crawl_tasks.store.search_index import Hit, SearchIndex
from crawl_tasks.store.selection import ColumnType, ExportColumn, ExportKind, RowSelection, Source
from crawl_tasks.store.upsert import Store

log = logging.getLogger(__name__)

PAGE_ROWS: Final = 50
"""Rows of a list."""
THREAD_ROWS: Final = 200
"""Comments on a page of a thread."""

# Of a longer thread the first comments by id are put in order and shown.
_MOST_COMMENTS: Final = 50_000
# Of a longer text the beginning is shown.
_MOST_CHARACTERS: Final = 50_000
# The first update of the index takes minutes for millions of rows. Nobody waits for its end.
_UPDATE_WAIT_S: Final = 1.0

_COMMENT = tables.comments.c
_VERSION = tables.versions.c


class StoredItem(NamedTuple):
    """A post or comment. A comment has the title of its thread. Times are in seconds."""

    site: str
    post_id: str
    comment_id: str | None
    title: str | None
    author: str | None
    author_key: str | None
    body: str | None
    state: str | None
    url: str | None
    created_at: int | None
    edited_at: int | None
    first_seen_at: float
    parent_id: str | None


class ItemVersion(NamedTuple):
    """A former title, body or state of a post, whose `comment_id` is empty, or of a comment."""

    comment_id: str
    field: str
    value: str | None
    seen_at: float


class StoredThread(NamedTuple):
    """A page of a thread: some of all comments with their depths, in the order of reading, and former values."""

    post: StoredItem
    comments: Sequence[tuple[int, StoredItem]]
    former: Sequence[ItemVersion]
    all_comments: int


class SearchResult(NamedTuple):
    """The newest items that were found. With `is_partial` the search index does not have all rows yet."""

    items: Sequence[StoredItem]
    is_partial: bool


class ItemReader:
    """The reads of one database, which is opened at the first read. Threads may share a reader."""

    def __init__(self, url: str, index_file: Path) -> None:
        self._url, self._index_file = url, index_file
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._update: threading.Thread | None = None
        self._update_began = 0.0

    def close(self) -> None:
        """Close the database. The next read opens it again."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None

    def sites(self) -> list[str]:
        """Return the sites of which a file was published."""
        with self._opened().database.reading() as connection:
            return list(connection.execute(select(tables.sites.c.site).order_by(tables.sites.c.site)).scalars())

    def newest(self, site: str, until: float, before: tuple[int, str, str] | None = None) -> list[StoredItem]:
        """Return the newest posts, of all sites where `site` is empty.

        Posts without a time of the forum are left out, and those dated after `until`: a forum's clock may be ahead.
        `before` is time, site and id of the last post of the page before.
        """
        at = tables.posts.c
        order = (at.created_at, at.site, at.post_id)
        [source] = _sources(RowSelection(ExportKind.POSTS, sites=[site] if site else []))
        # SQLite finds its place in the index by the time alone.
        query = source.query().where(at.created_at <= int(until if before is None else min(until, before[0])))
        if before is not None:
            query = query.where(tuple_(*order) < tuple_(*map(literal, before)))
        return self._items(query.order_by(*(column.desc() for column in order)).limit(PAGE_ROWS))

    def thread(self, site: str, post_id: str, page: int = 1) -> StoredThread | None:
        """Return a page of a thread, from 1, None where no such thread is stored."""
        posts, comments = _sources(RowSelection(sites=[site]))
        matches = self._items(posts.query().where(tables.posts.c.post_id == post_id))
        if not matches:
            return None
        keys = select(_COMMENT.comment_id, _COMMENT.parent_id, _COMMENT.page, _COMMENT.position, _COMMENT.created_at)
        of_thread = keys.where(_COMMENT.site == site, _COMMENT.post_id == post_id).limit(_MOST_COMMENTS)
        with closing(self._opened().database.stream(of_thread)) as rows:
            ordered = in_reading_order(tuple(row) for row in rows)
        depths = dict(ordered[(page - 1) * THREAD_ROWS : page * THREAD_ROWS])
        is_shown = (_COMMENT.post_id == post_id, _COMMENT.comment_id.in_(depths))
        items = {item.comment_id: item for item in self._items(comments.query().where(*is_shown))}
        visible = [(depth, items[comment_id]) for comment_id, depth in depths.items() if comment_id in items]
        value = func.substr(_VERSION.value, 1, _MOST_CHARACTERS)
        versions = select(_VERSION.comment_id, _VERSION.field, value, _VERSION.seen_at).where(
            _VERSION.site == site,
            _VERSION.kind.in_(("post", "comment")),
            _VERSION.post_id == post_id,
            _VERSION.comment_id.in_(["", *depths]),
        )
        with closing(self._opened().database.stream(versions.order_by(_VERSION.seen_at))) as rows:
            former = [ItemVersion(*row) for row in rows]
        return StoredThread(matches[0], visible, former, len(ordered))

    def author_name(self, site: str, key: str) -> str | None:
        """Return the newest name of an author, None where no such author is stored."""
        at = tables.authors.c
        with self._opened().database.reading() as connection:
            return connection.execute(select(at.name).where(at.site == site, at.author_id == key)).scalar_one_or_none()

    def by_author(self, site: str, key: str, until: float | None = None) -> SearchResult:
        """Return the newest posts and comments of an author by the key in table `authors`."""
        with SearchIndex(self._index_file, self._opened()) as index:
            is_partial = self._update_index(index)
            sources = _sources(RowSelection(sites=[site], until=until))
            items = _items_of(index.by_author(site, key, until, sources, PAGE_ROWS))
        # Since the index took a row in, its author may have become another.
        return SearchResult([item for item in items if item.author_key == key], is_partial)

    def search(self, query: str, selection: RowSelection) -> SearchResult:
        """Return the newest rows with the words of a query, of those that a selection chooses.

        Raises:
            ConfigError: the query has no word.
        """
        with SearchIndex(self._index_file, self._opened()) as index:
            is_partial = self._update_index(index)
            return SearchResult(_items_of(index.search(query, selection, _sources(selection), PAGE_ROWS)), is_partial)

    def _opened(self) -> Store:
        with self._lock:
            if self._store is None:
                self._store = Store(self._url).open(create=False)
            return self._store

    def _update_index(self, index: SearchIndex) -> bool:
        """Take in the rows that were stored since, for a moment at most. Return whether that goes on."""
        if index.is_current():
            return False
        store = self._opened()
        with self._lock:
            if self._update is None or not self._update.is_alive():
                self._update = threading.Thread(target=self._take_in, args=[store], name="search index", daemon=True)
                self._update_began = time.monotonic()
                self._update.start()
            update, began = self._update, self._update_began
        # Whoever comes while a long update goes on does not wait for it once more.
        update.join(max(0.0, began + _UPDATE_WAIT_S - time.monotonic()))
        return update.is_alive()

    def _take_in(self, store: Store) -> None:
        try:
            with SearchIndex(self._index_file, store) as index:
                index.update()
        except StoreError as error:
            log.warning("the search index takes in no rows", extra={"error": str(error)})

    def _items(self, query: Select[Any]) -> list[StoredItem]:
        with closing(self._opened().database.stream(query)) as rows:
            return [StoredItem._make(row) for row in rows]


def _sources(selection: RowSelection) -> list[Source]:
    """Return the sources of a selection with the columns of StoredItem."""
    return [_shown(source) for source in selection.sources()]


def _shown(source: Source) -> Source:
    table = tables.metadata.tables[f"{source.kind}s"]
    values: dict[str, ColumnElement[Any]] = {name: table.c.get(name, null()) for name in StoredItem._fields}
    values |= {
        "title": tables.posts.c.title,
        "author_key": author_key(table),
        "body": func.substr(table.c.body, 1, _MOST_CHARACTERS),
    }
    return replace(source, columns=tuple(ExportColumn(name, ColumnType.TEXT, value) for name, value in values.items()))


def _items_of(hits: Iterable[Hit]) -> list[StoredItem]:
    return [StoredItem._make(hit.row) for hit in hits]


def in_reading_order(
    rows: Iterable[tuple[str, str | None, int | None, int | None, int | None]],
) -> list[tuple[str, int]]:
    """Return the ids of a thread's comments with their depths, each answer behind its parent.

    A row has id, parent, page, position and time. Parents that are not stored, and circles of parents, are no parents.
    """
    ordered = sorted(rows, key=lambda row: (row[2] or 0, row[3] or 0, row[4] or 0, row[0]))
    known = {row[0] for row in ordered}
    answers: defaultdict[str | None, list[str]] = defaultdict(list)
    for comment_id, parent, *_ in ordered:
        answers[parent if parent in known and parent != comment_id else None].append(comment_id)
    depths: dict[str, int] = {}
    for start in (None, *(row[0] for row in ordered)):
        # After those below the post come the circles, each from its first comment.
        roots = answers[None] if start is None else [start]
        waiting = [(comment_id, 0) for comment_id in reversed(roots) if comment_id not in depths]
        while waiting:
            comment_id, depth = waiting.pop()
            if comment_id not in depths:
                depths[comment_id] = depth
                waiting += ((below, depth + 1) for below in reversed(answers.get(comment_id, ())))
    return list(depths.items())
