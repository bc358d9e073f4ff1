"""The file of the search index: words and keys of documents in SQLite, numbered in the order of time.

A document is a post or a comment. The file holds no texts, and knows its place in the change feed: a batch of documents
and that place are one transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, cast

from crawl_tasks.errors import StoreError
from crawl_tasks.store.author_rows import key_of
from crawl_tasks.store.rows import Row
from crawl_tasks.store.search_text import characters, tokenized

# A document's number is its time, and a part of its serial number: the fewer bits, the smaller the index.
_SERIAL_BITS: Final = 17
_LATEST_S: Final = 2**33 - 1
# Where more rows of one second come than it has numbers, the next seconds take them.
_MOST_AHEAD_S: Final = 3600
FIELDS: Final = (
    "site", "post_id", "comment_id", "author", "author_id", "title", "body", "created_at", "first_seen_at",
    "content_hash",
)  # fmt: skip
"""The columns of a document's row."""

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
_FIND: Final = "SELECT id, digest FROM documents WHERE site = ? AND post_id = ? AND comment_id = ?"
_INSERT: Final = "INSERT OR IGNORE INTO documents VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_WORDS: Final = "INSERT INTO words (rowid, text, characters, site, author) VALUES (?, ?, ?, ?, ?)"
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


class IndexFile:
    """An open file. The caller explains errors of SQLite (`explained_file`), and closes the file."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=30, isolation_level=None)

    def tune(self) -> None:
        """Set how SQLite reads and writes the file."""
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA cache_size = -65536")  # KiB

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def meta(self) -> dict[str, str]:
        """Return the values of table `meta`, none of a file without tables."""
        has_meta = self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        return dict(self._connection.execute("SELECT name, value FROM meta")) if has_meta else {}

    def change(self) -> int:
        """Return the last change that was taken in."""
        return int(self._meta("change"))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make the calls within one transaction, the only one that writes."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def make_tables(self, meta: Mapping[str, str]) -> None:
        """Make the tables anew, without documents."""
        for name in ("meta", "documents", "words"):
            self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _TABLES.split(";\n"):
            self._connection.execute(statement)
        for name, value in {**meta, "change": "0", "serial": "0", "witness": "null"}.items():
            self._keep(name, value)

    def take(self, batch: Sequence[tuple[int, Row]]) -> None:
        """Take in rows of the change feed, each behind its change, in the order of the changes."""
        self._add([row for _, row in batch])
        change, row = batch[-1]
        # Rows of the last row's change may follow in the next batch.
        self.note_change(max(self.change(), change - 1))
        self._keep("witness", json.dumps([change, key_in(row)]))

    def note_change(self, change: int) -> None:
        """Note that all changes up to one were taken in."""
        self._keep("change", str(change))

    def search(self, expression: str, since: float | None, until: float | None) -> Generator[Key]:
        """Yield the keys of the documents of a span that match an expression, the newest first."""
        numbers = _number(since or 0, 0), _end(until)
        with closing(self._connection.cursor()) as cursor:
            yield from map(Key._make, cursor.execute(_SEARCH, (expression, *numbers)))

    def by_author(self, site: str, author: str, until: float | None) -> Generator[Key]:
        """Yield the keys of the documents of an author, the newest first."""
        with closing(self._connection.cursor()) as cursor:
            yield from map(Key._make, cursor.execute(_BY_AUTHOR, (author, site, _end(until))))

    def _add(self, rows: Sequence[Row]) -> None:
        serial = int(self._meta("serial"))
        texts: dict[int, tuple[str, str, str, str]] = {}
        for row in rows:
            key = key_in(row)
            _, _, _, author, author_id, title, body, created_at, first_seen_at, content_hash = row
            moment = cast("float", first_seen_at if created_at is None else created_at)
            person = key_of(cast("str | None", author_id), cast("str | None", author)) or None
            digest = f"{content_hash} {int(moment)} {person or ''} {author or ''}"
            if self._has(key, digest):
                continue
            serial += 1
            number = _number(moment, serial)
            while not self._connection.execute(_INSERT, (number, *key, digest, person)).rowcount:
                number += 1 << _SERIAL_BITS  # taken: of the next second
            text = f"{title or ''}\n{body or ''}"
            texts[number] = (tokenized(text), characters(text), tokenized(key.site), tokenized(str(author or "")))
        # In the order of the numbers the whole batch becomes one segment.
        self._connection.executemany(_INSERT_WORDS, ((number, *texts[number]) for number in sorted(texts)))
        self._keep("serial", str(serial))

    def _has(self, key: Key, digest: str) -> bool:
        """Return whether the file has this state of a document. Another state of it is forgotten."""
        known = self._connection.execute(_FIND, key).fetchone()
        if known is None or known[1] == digest:
            return known is not None
        # The words of the former text stay under their number, and lead to no row.
        self._connection.execute(_FORGET, known[:1])
        return False

    def _meta(self, name: str) -> str:
        [value] = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(value)

    def _keep(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


@contextmanager
def explained_file(path: Path) -> Iterator[None]:
    """Raise a StoreError for an error of SQLite, or of the file system."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"search: {path}: {error}; delete the file, and the next search makes it anew") from error


def key_in(row: Row) -> Key:
    """Return the key of a document's row."""
    site, post_id, comment_id = row[:3]
    return Key(cast("str", site), cast("str", post_id), cast("str", comment_id or ""))


def _end(until: float | None) -> int:
    """Return the end of the numbers of all rows before a time."""
    return _number(_LATEST_S if until is None else until + _MOST_AHEAD_S, 0)


def _number(moment: float, serial: int) -> int:
    """Return the number of a document. Times before 1970 count as 1970."""
    seconds = min(max(int(moment), 0), _LATEST_S)
    return (seconds << _SERIAL_BITS) + serial % (1 << _SERIAL_BITS)
