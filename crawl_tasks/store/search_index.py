"""The search index: a file of SQLite with the words of all posts and comments, kept apart from the database.

The index follows the change feed (export.py) whenever somebody searches, so storing a page costs nothing. The file
holds words and keys, no texts, and may be deleted at any time. Its document numbers have the order of time: a search
gives the newest first, and reads no more of the index than it shows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Self, cast

from sqlalchemy import Text, and_, column, values

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.store.author_rows import key_of
from crawl_tasks.store.change_feed import last_change, stream_changes
from crawl_tasks.store.rows import Row
from crawl_tasks.store.search_text import characters, match_expression, tokenized
from crawl_tasks.store.selection import ExportKind, RowSelection, Source
from crawl_tasks.store.upsert import Store

LAYOUT: Final = "3"
"""The layout of the index and the rules of its tokens. Another one makes the file anew."""

# Hits whose threads are looked up together.
_LOOKED_AHEAD: Final = 500
# Rows of a transaction: the words of each one become a segment, and segments are merged later.
_BATCH: Final = 20_000
# A document's number is its time, and a part of its serial number: the fewer bits, the smaller the index.
_SERIAL_BITS: Final = 17
_LATEST_S: Final = 2**33 - 1
# Where more rows of one second come than it has numbers, the next seconds take them.
_MOST_AHEAD_S: Final = 3600
_FIELDS: Final = (
    "site", "post_id", "comment_id", "author", "author_id", "title", "body", "created_at", "first_seen_at",
    "content_hash",
)  # fmt: skip

_TABLES: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, site TEXT NOT NULL, post_id TEXT NOT NULL, comment_id TEXT NOT NULL, digest TEXT NOT NULL,
  author TEXT, UNIQUE (site, post_id, comment_id)
);
CREATE INDEX documents_by_author ON documents (author, site, id);
CREATE VIRTUAL TABLE words USING fts5 (
  text, characters, site, author, content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
"""
_INSERT: Final = "INSERT OR IGNORE INTO documents VALUES (?, ?, ?, ?, ?, ?)"
_FORGET: Final = "UPDATE documents SET site = '', post_id = id, comment_id = '', author = NULL WHERE id = ?"
_SEARCH: Final = """
SELECT documents.site, post_id, comment_id FROM words JOIN documents ON documents.id = words.rowid
WHERE words MATCH ? AND words.rowid >= ? AND words.rowid < ? ORDER BY words.rowid DESC
"""
_BY_AUTHOR: Final = """
SELECT site, post_id, comment_id FROM documents WHERE author = ? AND site = ? AND id < ? ORDER BY id DESC
"""


class Key(NamedTuple):
    """The key of a post, or of a comment."""

    site: str
    post_id: str
    comment_id: str


class Hit(NamedTuple):
    """A row that was found, with the values of its source's columns."""

    source: Source
    row: Row


class SearchIndex:
    """The index of one database. Open in the process that uses the index."""

    def __init__(self, file: Path, store: Store) -> None:
        self._file, self._store = file, store
        url = store.database.url
        self._wanted = {"layout": LAYOUT, "database": f"{url.host}:{url.port}/{url.database}"}

    def __enter__(self) -> Self:
        with _explained(self._file):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._file, timeout=30, isolation_level=None)
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute("PRAGMA cache_size = -65536")  # KiB
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def is_current(self) -> bool:
        """Return whether the index has all rows of the database."""
        with _explained(self._file):
            return self._change() >= self._store.last_change()

    def update(self, note: Callable[[int], None] = lambda _: None) -> int:
        """Take in the rows that were stored since. Return their number. `note` is told the number after each batch.

        One batch is one transaction with its place in the change feed. So an update may be killed, and two may run.

        Raises:
            StoreError: the database cannot be read, or the index cannot be written.
        """
        taken = 0
        last = self._store.last_change()
        sources = RowSelection(fields=_FIELDS).sources()
        with (
            _explained(self._file),
            self._store.database.reading(is_snapshot=True) as snapshot,
            closing(stream_changes(snapshot, sources, self._change(), last)) as changes,
        ):
            while batch := list(islice(changes, _BATCH)):
                # Rows of the last row's change may follow in the next batch.
                with self._writing() as connection:
                    self._take(connection, [row for _, _, row in batch])
                    self._keep(connection, "change", str(max(self._change(), batch[-1][0] - 1)))
                    change, _, row = batch[-1]
                    self._keep(connection, "witness", json.dumps([change, _key(row)]))
                taken += len(batch)
                note(taken)
            if last > self._change():
                with self._writing() as connection:
                    self._keep(connection, "change", str(last))
        return taken

    def by_author(self, site: str, key: str, until: float | None, sources: Sequence[Source], limit: int) -> list[Hit]:
        """Return the newest rows of an author by the key in table `authors`, written before a time."""
        with _explained(self._file), closing(self._connection.cursor()) as cursor:
            keys = cursor.execute(_BY_AUTHOR, (key, site, _end(until)))
            return self._newest(map(Key._make, keys), sources, limit)

    def search(self, query: str, selection: RowSelection, sources: Sequence[Source], limit: int) -> list[Hit]:
        """Return the newest rows with the words of a query, of those that a selection chooses, with any columns.

        Raises:
            ConfigError: the query has no word.
            StoreError: the database or the index cannot be read.
        """
        begin = _number(selection.since or 0, 0)
        expression = match_expression(query, {"site": selection.sites, "author": selection.authors})
        with _explained(self._file), closing(self._connection.cursor()) as cursor:
            rows = cursor.execute(_SEARCH, (expression, begin, _end(selection.until)))
            keys: Iterator[Key] = map(Key._make, rows)
            if selection.boards:
                keys = self._on_boards(keys, selection.boards)
            return self._newest(keys, sources, limit)

    def _newest(self, keys: Iterator[Key], sources: Sequence[Source], limit: int) -> list[Hit]:
        found: list[Hit] = []
        size = limit
        while len(found) < limit and (some := list(islice(keys, size))):
            hits = self._rows(sources, some)
            found += (hits[key] for key in some if key in hits)
            # Where the selection lets few rows pass, the portions grow.
            size = min(2 * size, 2000)
        return found[:limit]

    def _on_boards(self, keys: Iterator[Key], boards: Sequence[str]) -> Iterator[Key]:
        """Leave out the rows of threads on other boards. A thread is looked up once, and its rows need not be read."""
        [source] = RowSelection(ExportKind.POSTS, boards=boards, fields=["post_id"]).sources()
        is_there: dict[Key, bool] = {}
        while some := list(islice(keys, _LOOKED_AHEAD)):
            threads = {key: key._replace(comment_id="") for key in some}
            unknown = set(threads.values()) - is_there.keys()
            found = self._rows([source], list(unknown))
            is_there |= {thread: thread in found for thread in unknown}
            yield from (key for key, thread in threads.items() if is_there[thread])

    def _rows(self, sources: Iterable[Source], keys: Sequence[Key]) -> dict[Key, Hit]:
        """Return the rows of some keys that are stored and chosen: the database decides, not the index."""
        found: dict[Key, Hit] = {}
        for source in sources:
            size = len(source.order)
            some = [key[:size] for key in keys if bool(key.comment_id) == (source.kind == "comment")]
            if not some:
                continue
            # SQLite would look for the rows of an IN over several columns by a scan.
            wanted = values(*(column(key.name, Text) for key in source.order)).data(some).cte("wanted")
            is_wanted = and_(*(key == wanted.c[key.name] for key in source.order))
            query = source.query(*source.order).where(is_wanted)
            with closing(self._store.database.stream(query)) as rows:
                for row in rows:
                    own = tuple(row)[-size:]
                    found[Key(*own, *("",) * (3 - size))] = Hit(source, tuple(row)[:-size])
        return found

    def _prepare(self) -> None:
        """Make the tables, anew for another layout or database, and for a database restored to an earlier state."""
        # First without the lock of a writer: an update holds that for seconds.
        if self._is_ours():
            return
        with self._writing() as connection:
            if self._is_ours():
                return
            for name in ("meta", "documents", "words"):
                connection.execute(f"DROP TABLE IF EXISTS {name}")
            for statement in _TABLES.split(";\n"):
                connection.execute(statement)
            for name, value in (self._wanted | {"change": "0", "serial": "0", "witness": "null"}).items():
                self._keep(connection, name, value)

    def _is_ours(self) -> bool:
        """Return whether the file is the index of this database as it is now, in our layout."""
        found = self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        meta = dict(self._connection.execute("SELECT name, value FROM meta")) if found else {}
        return meta.items() >= self._wanted.items() and self._is_past(int(meta["change"]), meta["witness"])

    def _is_past(self, known: int, witness: str) -> bool:
        """Return whether the last row taken in is stored as of then or later. In a restored database it is not."""
        try:
            with self._store.database.reading() as connection:
                last_change(connection, known)
        except ConfigError:
            return False
        if witness == "null":
            return True
        change, key = json.loads(witness)
        hits = self._rows(RowSelection(fields=["change_id"]).sources(), [Key(*key)])
        return any(int(hit.row[0] or 0) >= change for hit in hits.values())

    def _take(self, connection: sqlite3.Connection, batch: Sequence[Row]) -> None:
        serial = int(self._meta("serial"))
        texts: dict[int, tuple[str, str, str, str]] = {}
        for row in batch:
            key = _key(row)
            _, _, _, author, author_id, title, body, created_at, first_seen_at, content_hash = row
            moment = cast("float", first_seen_at if created_at is None else created_at)
            person = key_of(cast("str | None", author_id), cast("str | None", author)) or None
            digest = f"{content_hash} {int(moment)} {person or ''} {author or ''}"
            known = connection.execute(
                "SELECT id, digest FROM documents WHERE site = ? AND post_id = ? AND comment_id = ?", key
            ).fetchone()
            if known is not None:
                if known[1] == digest:
                    continue
                # The words of the former text stay under their number, and lead to no row.
                connection.execute(_FORGET, known[:1])
            serial += 1
            number = _number(moment, serial)
            while not connection.execute(_INSERT, (number, *key, digest, person)).rowcount:
                number += 1 << _SERIAL_BITS  # taken: of the next second
            text = f"{title or ''}\n{body or ''}"
            texts[number] = (tokenized(text), characters(text), tokenized(key.site), tokenized(str(author or "")))
        # In the order of the numbers the whole batch becomes one segment.
        connection.executemany(
            "INSERT INTO words (rowid, text, characters, site, author) VALUES (?, ?, ?, ?, ?)",
            ((number, *texts[number]) for number in sorted(texts)),
        )
        self._keep(connection, "serial", str(serial))

    def _change(self) -> int:
        return int(self._meta("change"))

    def _meta(self, name: str) -> str:
        [value] = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(value)

    @staticmethod
    def _keep(connection: sqlite3.Connection, name: str, value: str) -> None:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"search: {file}: {error}; delete the file, and the next search makes it anew") from error


def _key(row: Row) -> Key:
    site, post_id, comment_id = row[:3]
    return Key(cast("str", site), cast("str", post_id), cast("str", comment_id or ""))


def _end(until: float | None) -> int:
    """Return the end of the numbers of all rows before a time."""
    return _number(_LATEST_S if until is None else until + _MOST_AHEAD_S, 0)


def _number(moment: float, serial: int) -> int:
    """Return the number of a document. Times before 1970 count as 1970."""
    seconds = min(max(int(moment), 0), _LATEST_S)
    return (seconds << _SERIAL_BITS) + serial % (1 << _SERIAL_BITS)
