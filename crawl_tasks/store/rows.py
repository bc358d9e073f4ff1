"""Database rows: posts, comments, boards and visits as tuples in the order of their table's columns.

The rows of items are:

    key..., seen_at, fields..., first_seen_at, stamps[, content_hash]

(`change_id` and `crawled_at` are no part of a row: the statements write them.) stamps.py explains column `stamps`, and
merge.py joins two rows of one key. A page has one request row, with its admission and its fetch in whatever order they
arrive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from operator import itemgetter
from typing import Final, cast

from sqlalchemy import Table

from crawl_tasks.model import (
    FULL_REACH,
    PLAIN_COMMENT,
    PLAIN_POST,
    PLAIN_VISIT,
    VISIT_PAGE,
    Comment,
    Extra,
    Forum,
    Post,
    Reach,
    Visit,
)
from crawl_tasks.store import tables
from crawl_tasks.store.stamps import sources_text

Value = str | int | float | None
Row = tuple[Value, ...]
Key = tuple[str, ...]
Page = tuple[str, str, str, int]
RequestRow = tuple[str, str, str, int, str, int, str | None, str | None, int | None, str | None, int | None]

CONTENT_HASH: Final = -1
"""The position of `content_hash` in the rows of posts and comments."""
_DONE: Final = 9
"""The position of `done` in a request row. The admission is before."""

_NONE: Final = frozenset[str]()
# A post's own page decides these fields: a list may show a thread of another board, and only the day.
_OWNED: Final = {
    (False, False): _NONE,
    (True, False): frozenset({"forum_id"}),
    (False, True): frozenset({"created_at"}),
    (True, True): frozenset({"forum_id", "created_at"}),
}
# Admissions first: the row exists then when the fetch of the same page completes the row.
_ADMITTED_FIRST: Final = itemgetter(Visit._fields.index("is_done"), Visit._fields.index("at_ms"))


_IS_NUMBER: Final = re.compile(r"[-+]?[\d., ]*\d[\d., ]*[kKmM]?").fullmatch
# Stored rows have this spelling, with blanks: another one would show as a change.
_EXTRA_JSON: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


_UNTOLD: Final = frozenset({
    "seen_at", "reply_count", "view_count", "last_reply_at", "revision", "extra", "fetched_at", "fetched_revision",
    "read_by", "page", "position", "first_seen_at", "stamps", "content_hash",
})  # fmt: skip
"""Columns that make no change: counts, places on a page, and what tells of our reading. Of `extra` only numbers."""


class Shape:
    """The positions of columns in the rows of one table."""

    def __init__(self, table: Table, key_size: int, tracked: tuple[str, ...]) -> None:
        columns = tables.names_of(table)
        place = {name: index for index, name in enumerate(columns)}
        self.table: Final = table
        self.key_size: Final = key_size
        self.tracked: Final = tracked
        self.columns: Final = columns
        self.end: Final = place["first_seen_at"]
        self.stamps_at: Final = place["stamps"]
        self.fetched_at: Final = place.get("fetched_at")
        self.state_at: Final = place.get("state")
        self.posted_at: Final = place.get("created_at")
        self.board_at: Final = place["forum_id"] if "forum_id" in columns[key_size:] else None
        self.joins_extra: Final = "fetched_at" in place
        self.names: Final = columns[key_size + 1 : self.end]
        self.place_of: Final = {name: index for index, name in enumerate(self.names)}
        # Columns from here on tell of the reading, not of the item.
        derived = place.get("fetched_at", place.get("read_by", self.end))
        self.content: Final = slice(key_size + 1, derived)
        # What a reader of the change feed keeps.
        kept = [index for name, index in place.items() if index > key_size and name not in _UNTOLD]
        self._kept: Final[Callable[[Row], Row]] = itemgetter(*kept)
        self._extra_at: Final = place.get("extra")
        self.tracked_at: Final = tuple(place[name] for name in tracked)
        self.tracked_of: Final[Callable[[Row], Row]] = itemgetter(*self.tracked_at or (0, 1))
        self.key_of: Final[Callable[[Row], Key]] = itemgetter(*range(key_size))

    def is_change(self, before: Row, row: Row) -> bool:
        """Return whether readers of the change feed are told that a row took the place of another."""
        if self._kept(before) != self._kept(row):
            return True
        if self.fetched_at is not None and before[self.fetched_at] is None and row[self.fetched_at] is not None:
            return True
        at = self._extra_at
        return at is not None and before[at] != row[at] and _uncounted(before[at]) != _uncounted(row[at])

    def is_move(self, before: Row, row: Row) -> bool:
        """Return whether a thread has another board than before, and so have its comments."""
        return self.board_at is not None and before[self.board_at] != row[self.board_at]


FORUMS: Final = Shape(tables.forums, 2, ())
POSTS: Final = Shape(tables.posts, 2, ("title", "body", "state"))
COMMENTS: Final = Shape(tables.comments, 3, ("body", "state"))


def _check_columns(table: Table, *names: str, at: int = 0) -> None:
    """Raise TypeError if other columns stand from a position on: rows take fields by position, without their names."""
    columns = tables.names_of(table)[at:][: len(names)]
    if columns != names:
        raise TypeError(f"the columns of table {table.name} from {at} on are {columns}, not {names}")


_check_columns(tables.posts, "site", *Post._fields[:PLAIN_POST])
_check_columns(tables.posts, "author_id", "first_seen_at", "stamps", "content_hash", at=CONTENT_HASH - 3)
_check_columns(tables.comments, "site", *Comment._fields[:PLAIN_COMMENT])
_check_columns(tables.comments, "author_id", "first_seen_at", "stamps", "content_hash", at=CONTENT_HASH - 3)
_check_columns(tables.requests, *Visit._fields[:PLAIN_VISIT])
_check_columns(tables.requests, "done", "done_at", at=_DONE)


def digest(*values: Value) -> str:
    """Return a hash of values, 32 hexadecimal digits. None and the empty string differ."""
    # Clean text holds no NUL, so a NUL and the character after it can only be ours.
    text = "\0,".join(["\0-" if value is None else f"{value}" for value in values])
    return blake2b(text.encode(), digest_size=16).hexdigest()


def forum_row(site: str, forum: Forum, seen_at: float) -> Row:
    """Return a forum's row. A Forum carries no time, so `seen_at` is the page's."""
    return (site, forum.forum_id, seen_at, forum.title, forum.url, seen_at, None)


def post_row(site: str, post: Post, read_by: str = "") -> Row:
    """Return a post's row. A body proves that the post page itself was fetched, as `is_page` does."""
    fetched = post.is_page or post.body is not None
    own = _OWNED[post.forum_id is not None, post.created_at is not None] if post.is_page else _NONE
    names = tuple(post.extra) if post.extra and not fetched else ()
    return (
        site,
        *post[:PLAIN_POST],
        extra_json(post.extra),
        post.seen_at if fetched else None,
        post.revision if fetched else None,
        read_by or None if fetched else None,
        post.author_id,
        post.seen_at,
        sources_text(own, names, post.forum_id or "") if own or names else None,
        digest(post.title, post.body, post.state),
    )


def comment_rows(site: str, comments: Sequence[Comment], read_by: Sequence[str]) -> Iterator[Row]:
    """Return the rows of comments, built column by column: this runs once for every comment of the crawl."""
    columns = dict(zip(Comment._fields, zip(*comments, strict=True), strict=True))
    times, bodies, states, extras = columns["seen_at"], columns["body"], columns["state"], columns["extra"]
    packed = extras if extras.count(None) == len(extras) else map(extra_json, extras)
    # The same text as digest() makes of two values.
    texts = map("\0,".join, zip(_marked(bodies), _marked(states), strict=True))
    hashes = [blake2b(text.encode(), digest_size=16).hexdigest() for text in texts]
    readers = [version or None for version in read_by]
    plain = list(columns.values())[:PLAIN_COMMENT]
    return zip(repeat(site), *plain, packed, readers, columns["author_id"], times, repeat(None), hashes)


def _marked(values: Sequence[str | None]) -> Sequence[str]:
    if all(values):
        # all() is false for a None, so this holds no None.
        return cast("Sequence[str]", values)
    return ["\0-" if value is None else value for value in values]


def extra_json(extra: Extra | None) -> str | None:
    """Return the text of column `extra`."""
    if not extra:
        return None if extra is None else "{}"
    return _extra_text(tuple(extra.items()))


def _uncounted(extra: Value) -> dict[str, str]:
    """Return what an extra says, but for numbers: likes are a count."""
    decoded: dict[str, str | None] = json.loads(extra) if isinstance(extra, str) else {}
    return {name: value for name, value in decoded.items() if value is not None and not _IS_NUMBER(value)}


@lru_cache(maxsize=256)  # most are a flag or a count, alike in many rows
def _extra_text(items: tuple[tuple[str, str | None], ...]) -> str:
    return _EXTRA_JSON(dict(items))


def request_rows(visits: Sequence[Visit]) -> list[RequestRow]:
    """Return the rows of table `requests`, sorted by key: the newest admission and fetch of each page."""
    known = visits if _fit(visits) else [visit for visit in visits if _fit([visit])]
    rows: dict[Page, RequestRow] = {}
    for visit in sorted(known, key=_ADMITTED_FIRST):
        page = visit[:VISIT_PAGE]
        if not visit.is_done:
            rows[page] = (*visit[:PLAIN_VISIT], _shown(visit.reach), visit.revision, visit.at_ms, None, None)
        elif page in rows:
            rows[page] = (*rows[page][:_DONE], visit.revision, visit.at_ms)
        else:
            rows[page] = (*visit[:PLAIN_VISIT], _shown(visit.reach), None, None, visit.revision, visit.at_ms)
    # No two rows have the same page, with which a row begins: the comparison never gets to a None.
    return sorted(rows.values())


def _fit(visits: Sequence[Visit]) -> bool:
    """Return whether all values fit the key columns. Recovery must find and fetch again a page that does not fit."""
    sites, _, keys, _, _, _, _, revisions, _, _ = zip(*visits, strict=True)
    longest_key, longest_site = max(map(len, keys)), max(map(len, sites))
    return (
        longest_key <= tables.ID_LENGTH and longest_site <= tables.SITE_LENGTH and "\0" not in "".join(keys + revisions)
    )


def _shown(reach: Reach) -> str | None:
    return None if reach == FULL_REACH else json.dumps(reach)
