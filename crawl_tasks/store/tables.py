"""The tables and their natural keys. migrations.py numbers their shape.

`forums`, `posts` and `comments` hold one row per natural key. After the key stand `seen_at` (the newest observation)
and the fields of the model, in order. A NULL was never seen. An observation has the moment at which Redis let a worker
ask for its page, in seconds, so observations are in the order of the requests. `first_seen_at` is the oldest. In
`extra` a null is a name that its page showed and shows no more. `stamps` names the fields that are older than `seen_at`
(stamps.py). `change_id` numbers the transaction that last gave a row another text or state, in commit order
(export.py).
"""

from __future__ import annotations

from functools import cache
from typing import Final

from sqlalchemy import BigInteger, Column, Double, Index, MetaData, String, Table, Text

APPLICATION: Final = "crawl_tasks"
# Three keys of this length still fit an index row of PostgreSQL and of MySQL.
ID_LENGTH: Final = 200
SITE_LENGTH: Final = 100
CHANGE_ID: Final = "change_id"

metadata = MetaData()


def _site() -> Column[str]:
    return _key("site", SITE_LENGTH)


def _key(name: str, length: int = ID_LENGTH) -> Column[str]:
    """Return a key column that compares bytes: locks are taken in the order in which Python sorts."""
    by_bytes = String(length).with_variant(String(length, collation="C"), "postgresql")
    return Column(name, by_bytes.with_variant(String(length, collation="utf8mb4_bin"), "mysql"), primary_key=True)


def _text(name: str, *, nullable: bool = True) -> Column[str]:
    # Without a length MySQL's TEXT holds 64 KiB.
    long = Text().with_variant(Text(2**32 - 1), "mysql")
    return Column(name, long, nullable=nullable)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger)


def _time(name: str, *, nullable: bool = False) -> Column[float]:
    return Column(name, Double, nullable=nullable)


forums = Table(
    "forums",
    metadata,
    _site(),
    _key("forum_id"),
    _time("seen_at"),
    _text("title"),
    _text("url"),
    _time("first_seen_at"),
    _text("stamps"),
    sqlite_with_rowid=False,
)

posts = Table(
    "posts",
    metadata,
    _site(),
    _key("post_id"),
    _time("seen_at"),
    Column("forum_id", String(ID_LENGTH)),
    _text("url"),
    _text("title"),
    _text("author"),
    _number("created_at"),
    _text("body"),
    _text("body_html"),
    _number("reply_count"),
    _number("view_count"),
    _number("last_reply_at"),
    _number("edited_at"),
    _text("state"),
    _text("revision"),
    _text("extra"),
    _time("fetched_at", nullable=True),  # NULL while the post is known from lists only
    _text("fetched_revision"),  # the revision whose post page is stored
    _text("read_by"),  # the version of the site file that read the post page
    _time("first_seen_at"),
    _text("stamps"),
    Column("content_hash", String(32), nullable=False),
    _number(CHANGE_ID),
    Index("posts_by_forum", "site", "forum_id"),
    Index("posts_by_change", CHANGE_ID),
    sqlite_with_rowid=False,
)

comments = Table(
    "comments",
    metadata,
    _site(),
    _key("post_id"),
    _key("comment_id"),
    _time("seen_at"),
    _text("parent_id"),
    _text("author"),
    _number("created_at"),
    _text("body"),
    _text("body_html"),
    _number("depth"),
    _number("page"),
    _number("position"),
    _number("edited_at"),
    _text("state"),
    _text("extra"),
    _text("read_by"),  # the version of the site file that read it last
    _time("first_seen_at"),
    _text("stamps"),
    Column("content_hash", String(32), nullable=False),
    _number(CHANGE_ID),
    Index("comments_by_change", CHANGE_ID),
    sqlite_with_rowid=False,
)

# Former titles, bodies and states: one row per value that is not the current one (any more).
versions = Table(
    "versions",
    metadata,
    _site(),
    _key("kind", 10),  # post or comment
    _key("post_id"),
    _key("comment_id"),  # '' for posts
    _key("field", 10),  # title, body or state
    _key("content_hash", 32),  # of the value
    _text("value"),
    _time("seen_at"),  # the last time it was seen
    sqlite_with_rowid=False,
)

# The lists a post was seen on. posts.forum_id is the newest of them.
memberships = Table(
    "memberships",
    metadata,
    _site(),
    _key("post_id"),
    _key("forum_id"),
    sqlite_with_rowid=False,
)

# The requested and fetched pages of a site, one row a page: recovery rebuilds a lost ledger from this table. A page is
# open while `wanted`, the revision last admitted, is not `done`, the revision last fetched. Pages that beat or a person
# asked for have no `wanted`.
requests = Table(
    "requests",
    metadata,
    _site(),
    _key("stage", 10),
    _key("key"),
    Column("page", BigInteger, primary_key=True, autoincrement=False),
    _text("address"),
    _number("priority"),
    _text("reach"),  # as JSON, NULL when the request goes as far as its site does
    _text("wanted"),
    _number("wanted_at"),  # ms, Redis' clock
    _text("done"),
    _number("done_at"),
    sqlite_with_rowid=False,
)

# The sites as they were published last, as JSON.
sites = Table("sites", metadata, _site(), _text("text", nullable=False))

# The last decision of an operator about each subject of a site: recovery brings these back before all else.
decisions = Table(
    "decisions",
    metadata,
    _site(),
    _key("subject", 220),  # a word and the id of a board
    _text("value", nullable=False),
    _number("at_ms"),  # Redis' clock
    _text("who", nullable=False),
    _text("why", nullable=False),
    _text("text", nullable=False),  # as Redis holds it
    sqlite_with_rowid=False,
)

meta = Table("meta", metadata, _key("name", 50), Column("value", String(100), nullable=False))


@cache
def names_of(table: Table) -> tuple[str, ...]:
    """Return the names of the columns of a table's rows, in their order. The statements write `change_id`."""
    return tuple(column.name for column in table.columns if column.name != CHANGE_ID)
