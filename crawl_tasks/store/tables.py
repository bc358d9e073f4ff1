"""The tables and their natural keys. migrations.py numbers their shape, and docs/data.md shows the comments here.

`forums`, `posts` and `comments` hold one row per natural key. After the key stand `seen_at` (the newest observation)
and the fields of the model, in order. A NULL was never seen. An observation has the moment at which Redis let a worker
ask for its page, in seconds, so observations are in the order of the requests. `first_seen_at` is the oldest. In
`extra` a null is a name that its page showed and shows no more. `stamps` names the fields that are older than `seen_at`
(stamps.py). `change_id` numbers the transaction that last changed a row, in commit order (change_feed.py), and
`crawled_at` is the time of that transaction. Counts and what tells of our reading make no change (rows.py).
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Final

from sqlalchemy import BigInteger, Column, Double, Index, MetaData, String, Table, Text

APPLICATION: Final = "crawl_tasks"
# Three keys of this length still fit an index row of PostgreSQL.
ID_LENGTH: Final = 200
SITE_LENGTH: Final = 100
META_LENGTH: Final = 50
CHANGE_ID: Final = "change_id"
CRAWLED_AT: Final = "crawled_at"
PLACED_ID: Final = "placed_id"
OF_CHANGE: Final = (CHANGE_ID, CRAWLED_AT, PLACED_ID)
"""The columns that tell of the transaction which changed a row."""
UNIT: Final = "unit"
"""The name under which a column's info holds its unit."""


class Unit(StrEnum):
    """The meaning of a column that its SQL type does not say."""

    SECONDS = "seconds since 1970"
    MILLISECONDS = "milliseconds since 1970"
    JSON = "JSON"


metadata = MetaData()


def _site() -> Column[str]:
    return _key("site", "The name of the site file.", SITE_LENGTH)


def _key(name: str, comment: str, length: int = ID_LENGTH) -> Column[str]:
    """Return a key column that compares bytes: locks are taken in the order in which Python sorts."""
    by_bytes = String(length).with_variant(String(length, collation="C"), "postgresql")
    return Column(name, by_bytes, primary_key=True, comment=comment)


def _text(name: str, comment: str, *, nullable: bool = True) -> Column[str]:
    return Column(name, Text, nullable=nullable, comment=comment)


def _number(name: str, comment: str) -> Column[int]:
    return Column(name, BigInteger, comment=comment)


def _forum_time(name: str, comment: str) -> Column[int]:
    return Column(name, BigInteger, comment=f"{comment} The forum's clock.", info={UNIT: Unit.SECONDS})


def _time(name: str, comment: str, *, nullable: bool = False) -> Column[float]:
    return Column(name, Double, nullable=nullable, comment=f"{comment} Our clock.", info={UNIT: Unit.SECONDS})


def _redis_ms(name: str, comment: str) -> Column[int]:
    return Column(name, BigInteger, comment=f"{comment} Redis' clock.", info={UNIT: Unit.MILLISECONDS})


def _extra() -> Column[str]:
    comment = "More fields that the site file names, as a JSON object. A null is a name that its page shows no more."
    column = _text("extra", comment)
    column.info[UNIT] = Unit.JSON
    return column


def _seen_at() -> Column[float]:
    return _time("seen_at", "The newest observation: when Redis let a worker ask for the page.")


def _first_seen_at() -> Column[float]:
    return _time("first_seen_at", "The oldest observation.")


def _stamps() -> Column[str]:
    return _text("stamps", "Internal: the fields that are older than `seen_at`. Exports leave it out.")


def _state() -> Column[str]:
    return _text("state", "`normal`, `deleted` or `masked`. NULL means `normal`.")


def _read_by() -> Column[str]:
    return _text("read_by", "The version of the site file that read the page.")


def _author_id() -> Column[str]:
    comment = "The forum's id of the author. NULL where no page shows one."
    return Column("author_id", String(ID_LENGTH), comment=comment)


def _content_hash() -> Column[str]:
    comment = "A hash of the title, the body and the state. Another text has another hash."
    return Column("content_hash", String(32), nullable=False, comment=comment)


def _change_id() -> Column[int]:
    return _number(CHANGE_ID, "The transaction that last changed the row, apart from counts.")


def _crawled_at() -> Column[float]:
    # No order rests on it: a worker's clock may be wrong, and `change_id` has the order.
    return _time(CRAWLED_AT, "When the row last changed, apart from counts.", nullable=True)


forums = Table(
    "forums",
    metadata,
    _site(),
    _key("forum_id", "The forum's id of the board."),
    _seen_at(),
    _text("title", "The name of the board."),
    _text("url", "The address of the board."),
    _first_seen_at(),
    _stamps(),
    sqlite_with_rowid=False,
    comment="The boards of a site.",
)

posts = Table(
    "posts",
    metadata,
    _site(),
    _key("post_id", "The forum's id of the thread."),
    _seen_at(),
    Column("forum_id", String(ID_LENGTH), comment="The board, the newest where the thread moved."),
    _text("url", "The address of the thread."),
    _text("title", "The title of the thread."),
    _text("author", "The name of the author, as the page shows it."),
    _forum_time("created_at", "When the post was written."),
    _text("body", "The text of the first post. NULL while only lists showed the thread."),
    _text("body_html", "The markup of the text, cleaned. NULL unless the site file asks for it."),
    _number("reply_count", "The number of replies that the forum shows."),
    _number("view_count", "The number of views that the forum shows."),
    _forum_time("last_reply_at", "When the last reply was written."),
    _forum_time("edited_at", "When the author last edited the post."),
    _state(),
    _text("revision", "What the list shows of the thread's last change, such as the number of replies."),
    _extra(),
    _time("fetched_at", "When the post page was fetched. NULL while only lists showed the thread.", nullable=True),
    _text("fetched_revision", "The revision whose post page is stored."),
    _read_by(),
    _author_id(),
    _first_seen_at(),
    _stamps(),
    _content_hash(),
    _change_id(),
    _crawled_at(),
    _number(PLACED_ID, "The transaction that gave the thread its board."),
    Index("posts_by_forum", "site", "forum_id"),
    Index("posts_by_time", "created_at"),
    Index("posts_by_site", "site", "created_at"),
    Index("posts_by_change", CHANGE_ID),
    sqlite_with_rowid=False,
    comment="The threads, each with its first post. A thread that only lists showed has no text yet.",
)

comments = Table(
    "comments",
    metadata,
    _site(),
    _key("post_id", "The thread."),
    _key("comment_id", "The forum's id of the comment. Unique in the thread."),
    _seen_at(),
    _text("parent_id", "The answered comment. NULL for an answer to the post, or where the forum shows none."),
    _text("author", "The name of the author, as the page shows it."),
    _forum_time("created_at", "When the comment was written."),
    _text("body", "The text."),
    _text("body_html", "The markup of the text, cleaned. NULL unless the site file asks for it."),
    _number("depth", "The level of nesting, 0 for an answer to the post."),
    _number("page", "The comment page, from 1."),
    _number("position", "The place on that page, from 0."),
    _forum_time("edited_at", "When the author last edited the comment."),
    _state(),
    _extra(),
    _read_by(),
    _author_id(),
    _first_seen_at(),
    _stamps(),
    _content_hash(),
    _change_id(),
    _crawled_at(),
    Index("comments_by_time", "created_at"),
    Index("comments_by_change", CHANGE_ID),
    sqlite_with_rowid=False,
    comment="The replies.",
)

versions = Table(
    "versions",
    metadata,
    _site(),
    _key("kind", "`post` or `comment`.", 10),
    _key("post_id", "The thread."),
    _key("comment_id", "The comment, empty for a post."),
    _key("field", "`title`, `body` or `state`.", 10),
    _key("content_hash", "A hash of the value.", 32),
    _text("value", "The former value."),
    _time("seen_at", "The last time that a page showed the value."),
    _time(CRAWLED_AT, "When the value was stored as a former one.", nullable=True),
    sqlite_with_rowid=False,
    comment="Former titles, bodies and states, one row for each value that is not the current one any more.",
)

# A row that is stored again has a later change than its removal.
removals = Table(
    "removals",
    metadata,
    _site(),
    _key("post_id", "The thread, empty for the whole site."),
    _key("comment_id", "The comment, empty for a post, which its comments outlive."),
    _number(CHANGE_ID, "The transaction of the last removal."),
    _time(CRAWLED_AT, "When that was.", nullable=True),
    Index("removals_by_change", CHANGE_ID),
    sqlite_with_rowid=False,
    comment="The posts and comments that a command removed, for readers of the change feed.",
)

authors = Table(
    "authors",
    metadata,
    _site(),
    _key("author_id", "The forum's id of the author. Where no page shows one, `@` and the name."),
    _text("name", "The newest name of the author."),
    _time("seen_at", "The newest observation of an id. Of a name without an id, one of them."),
    Index("authors_by_name", "name"),
    sqlite_with_rowid=False,
    comment="The authors of the post pages and comments that were stored.",
)

memberships = Table(
    "memberships",
    metadata,
    _site(),
    _key("post_id", "The thread."),
    _key("forum_id", "The board."),
    sqlite_with_rowid=False,
    comment="The boards whose lists showed a thread. `posts.forum_id` is the newest of them.",
)

# A page is open while `wanted` is not `done`.
requests = Table(
    "requests",
    metadata,
    _site(),
    _key("stage", "`list`, `post` or `comment`.", 10),
    _key("key", "The board or the thread."),
    Column("page", BigInteger, primary_key=True, autoincrement=False, comment="The page of the board or the thread."),
    _text("address", "The address of the page."),
    _number("priority", "The priority of the request."),
    _text("reach", "The limits of the request, as JSON. NULL when it goes as far as its site does."),
    _text("wanted", "The revision last admitted. NULL for pages that beat or a person asked for."),
    _redis_ms("wanted_at", "The time of the admission."),
    _text("done", "The revision last fetched."),
    _redis_ms("done_at", "The time of the fetch."),
    sqlite_with_rowid=False,
    comment="The pages that were requested and fetched. Recovery rebuilds a lost ledger from this table.",
)

sites = Table(
    "sites",
    metadata,
    _site(),
    _text("text", "The site file as JSON.", nullable=False),
    _text("installation", "The CRAWL_REDIS_PREFIX of the installation that crawls the site.", nullable=False),
    comment="The sites as they were published last.",
)

decisions = Table(
    "decisions",
    metadata,
    _site(),
    _key("subject", "A word, such as `pause`, and the id of a board.", 220),
    _text("value", "The decision.", nullable=False),
    _redis_ms("at_ms", "The time of the decision."),
    _text("who", "The operator, as user@host.", nullable=False),
    _text("why", "The reason that was given.", nullable=False),
    _text("text", "The entry as Redis holds it.", nullable=False),
    sqlite_with_rowid=False,
    comment="The last decision of an operator about each subject of a site. Recovery brings them back before all else.",
)

meta = Table(
    "meta",
    metadata,
    _key("name", "`application`, `schema`, `change`; of a ledger `epoch`, `drawn@`, `change@CRAWL:CELL`.", META_LENGTH),
    Column("value", String(100), nullable=False, comment="The value: of `change` the last `change_id`."),
    comment="The identity of the database.",
)


@cache
def names_of(table: Table) -> tuple[str, ...]:
    """Return the names of the columns of a table's rows, in their order. The statements write those of a change."""
    return tuple(column.name for column in table.columns if column.name not in OF_CHANGE)
