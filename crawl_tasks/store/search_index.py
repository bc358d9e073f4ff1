"""The search index: the words of all posts and comments in a file of its own (index_file.py), and searches in them.

The index follows the change feed (export.py) whenever somebody searches, so storing a page costs nothing. The file may
be deleted at any time. A search returns the newest first, and reads no more of the index than it shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Self

from sqlalchemy import Text, and_, column, values

from crawl_tasks.errors import ConfigError
from crawl_tasks.store.change_feed import last_change, stream_changes
from crawl_tasks.store.index_file import FIELDS, IndexFile, Key, explained_file
from crawl_tasks.store.rows import Row
from crawl_tasks.store.search_text import match_expression
from crawl_tasks.store.selection import ExportKind, RowSelection, Source
from crawl_tasks.store.upsert import Store

LAYOUT: Final = "3"
"""The layout of the index and the rules of its tokens. Another one makes the file anew."""

# Hits whose threads are looked up together.
_LOOKED_AHEAD: Final = 500
# Rows of a transaction: the words of each one become a segment, and segments are merged later.
_BATCH: Final = 20_000


class Hit(NamedTuple):
    """A row that was found, with the values of its source's columns."""

    source: Source
    row: Row


class SearchIndex:
    """The index of one database. Open in the process that uses the index."""

    def __init__(self, path: Path, store: Store) -> None:
        self._path, self._store = path, store
        url = store.database.url
        self._wanted = {"layout": LAYOUT, "database": f"{url.host}:{url.port}/{url.database}"}

    def __enter__(self) -> Self:
        with explained_file(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = IndexFile(self._path)
            try:
                self._file.tune()
                self._prepare()
            except BaseException:
                self._file.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def is_current(self) -> bool:
        """Return whether the index has all rows of the database."""
        with explained_file(self._path):
            return self._file.change() >= self._store.last_change()

    def update(self, note: Callable[[int], None] = lambda _: None) -> int:
        """Take in the rows that were stored since. Return their number. `note` is told the number after each batch.

        One batch is one transaction with its place in the change feed. So an update may be killed, and two may run.

        Raises:
            StoreError: the database cannot be read, or the index cannot be written.
        """
        taken = 0
        last = self._store.last_change()
        sources = RowSelection(fields=FIELDS).sources()
        with (
            explained_file(self._path),
            self._store.database.reading(is_snapshot=True) as snapshot,
            closing(stream_changes(snapshot, sources, self._file.change(), last)) as changes,
        ):
            while batch := list(islice(changes, _BATCH)):
                with self._file.writing():
                    self._file.take([(change, row) for change, _, row in batch])
                taken += len(batch)
                note(taken)
            if last > self._file.change():
                with self._file.writing():
                    self._file.note_change(last)
        return taken

    def by_author(self, site: str, key: str, until: float | None, sources: Sequence[Source], limit: int) -> list[Hit]:
        """Return the newest rows of an author by the key in table `authors`, written before a time."""
        with explained_file(self._path), closing(self._file.by_author(site, key, until)) as keys:
            return self._newest(keys, sources, limit)

    def search(self, query: str, selection: RowSelection, sources: Sequence[Source], limit: int) -> list[Hit]:
        """Return the newest rows with the words of a query, of those that a selection chooses, with any columns.

        Raises:
            ConfigError: the query has no word.
            StoreError: the database or the index cannot be read.
        """
        expression = match_expression(query, {"site": selection.sites, "author": selection.authors})
        documents = self._file.search(expression, selection.since, selection.until)
        with explained_file(self._path), closing(documents) as keys:
            chosen = self._on_boards(keys, selection.boards) if selection.boards else keys
            return self._newest(chosen, sources, limit)

    def _newest(self, keys: Iterator[Key], sources: Sequence[Source], limit: int) -> list[Hit]:
        newest: list[Hit] = []
        size = limit
        while len(newest) < limit and (portion := list(islice(keys, size))):
            hits = self._rows(sources, portion)
            newest += (hits[key] for key in portion if key in hits)
            # Where the selection lets few rows pass, the portions grow.
            size = min(2 * size, 2000)
        return newest[:limit]

    def _on_boards(self, keys: Iterator[Key], boards: Sequence[str]) -> Iterator[Key]:
        """Leave out the rows of threads on other boards. A thread is looked up once, and its rows need not be read."""
        [source] = RowSelection(ExportKind.POSTS, boards=boards, fields=["post_id"]).sources()
        is_there: dict[Key, bool] = {}
        while portion := list(islice(keys, _LOOKED_AHEAD)):
            threads = {key: key._replace(comment_id="") for key in portion}
            unknown = set(threads.values()) - is_there.keys()
            stored = self._rows([source], list(unknown))
            is_there |= {thread: thread in stored for thread in unknown}
            yield from (key for key, thread in threads.items() if is_there[thread])

    def _rows(self, sources: Iterable[Source], keys: Sequence[Key]) -> dict[Key, Hit]:
        """Return the rows of some keys that are stored and chosen: the database decides, not the index."""
        hits: dict[Key, Hit] = {}
        for source in sources:
            size = len(source.order)
            of_kind = [key[:size] for key in keys if bool(key.comment_id) == (source.kind == "comment")]
            if not of_kind:
                continue
            # SQLite would look for the rows of an IN over several columns by a scan.
            wanted = values(*(column(key.name, Text) for key in source.order)).data(of_kind).cte("wanted")
            is_wanted = and_(*(key == wanted.c[key.name] for key in source.order))
            query = source.query(*source.order).where(is_wanted)
            with closing(self._store.database.stream(query)) as rows:
                for row in rows:
                    own = tuple(row)[-size:]
                    hits[Key(*own, *("",) * (3 - size))] = Hit(source, tuple(row)[:-size])
        return hits

    def _prepare(self) -> None:
        """Make the tables, anew for another layout or database, and for a database restored to an earlier state."""
        # First without the lock of a writer: an update holds that for seconds.
        if self._is_ours():
            return
        with self._file.writing():
            if not self._is_ours():
                self._file.make_tables(self._wanted)

    def _is_ours(self) -> bool:
        """Return whether the file is the index of this database as it is now, in our layout."""
        meta = self._file.meta()
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
