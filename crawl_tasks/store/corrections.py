"""Corrections: a site's rows as they would be, had today's rules read the archived pages from the beginning.

The pages are read into a scratch database, by the merge of every store. There stand the values, versions and times that
today's rules find. A stored value is known by its time: that of the page which showed the value. So the values of the
archived pages are taken out of the stored rows, and those of the scratch database are merged with the rest. Values of
pages that are not in the archive stay. So do the marks of full passes, which no single page shows.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

from sqlalchemy import Column, ColumnElement, Connection, Select, Table, delete, select, tuple_, update

from crawl_tasks.model import Items
from crawl_tasks.store import tables
from crawl_tasks.store.author_rows import author_key
from crawl_tasks.store.merge import Replaced, is_mark, merge, times_of, without
from crawl_tasks.store.rows import COMMENTS, FORUMS, POSTS, Key, Row, Shape, Value
from crawl_tasks.store.statements import UNMARKED, Change, Mark, Statements
from crawl_tasks.store.upsert import Store
from crawl_tasks.store.write_table import PORTION, version_key

_PAGES: Final = 200
"""Pages that are written to the scratch database in one transaction."""

_KIND, _FIELD, _VALUE = (tables.names_of(tables.versions).index(name) for name in ("kind", "field", "value"))

_Versions = dict[Key, tuple[Value, float]]
"""Versions by key, each with its value and the last time seen."""


class Timestamps:
    """A set of times, 8 bytes each."""

    def __init__(self) -> None:
        self._times = array("d")
        self._is_sorted = True

    def add(self, time: float) -> None:
        """Add a time."""
        self._times.append(time)
        self._is_sorted = False

    def __contains__(self, time: object) -> bool:
        if not self._is_sorted:
            self._times, self._is_sorted = array("d", sorted(self._times)), True
        at = bisect_left(self._times, cast("float", time))
        return at < len(self._times) and self._times[at] == time


@dataclass(slots=True)
class MergeCounts:
    """The numbers of rows that were added, that got another value in some field, and that no page shows any more."""

    added: int = 0
    changed: int = 0
    removed: int = 0


class Corrections:
    """The corrections of one site: first all pages are added, then the database is corrected.

    Each portion of rows is one transaction, beside other writers. A correction that was cut off is begun anew.
    """

    def __init__(self, store: Store, scratch: Store, site: str) -> None:
        self._store, self._scratch, self._site = store, scratch, site
        self._statements = Statements(store.database.engine.dialect)
        self._covered = Timestamps()
        self._waiting: list[Items] = []
        self._rows = MergeCounts()
        self._is_indexed = False

    def add(self, seen_at: float, items: Items) -> None:
        """Add an archived page by the time of its observation, with the items that today's rules read there."""
        self._covered.add(seen_at)
        self._waiting.append(items)
        if len(self._waiting) >= _PAGES:
            self._write_scratch()

    def post_at(self, address: str) -> str | None:
        """Return the id of the one post that has an address, by the pages that were added before the first call."""
        if not self._is_indexed:
            self._write_scratch()
            with self._scratch.database.writing() as connection:
                connection.exec_driver_sql("CREATE INDEX posts_by_url ON posts (url)")
            self._is_indexed = True
        with self._scratch.database.reading() as connection:
            query = select(tables.posts.c.post_id).where(tables.posts.c.url == address).limit(2)
            ids = connection.execute(query).scalars().all()
        return ids[0] if len(ids) == 1 else None

    def apply(self) -> MergeCounts:
        """Correct the rows of the site."""
        self._write_scratch()
        # In the order of every writer. Rows that no page shows come last, since others are found by their keys.
        for shape in (FORUMS, POSTS, COMMENTS):
            for rows in _portions(self._scratch.database.stream(_of_site(shape, self._site, *shape.columns))):
                self._correct(shape, rows)
            key = [column.name for column in shape.table.primary_key]
            for rows in _portions(self._store.database.stream(_of_site(shape, self._site, *key, "first_seen_at"))):
                doubtful = [shape.key_of(row) for row in rows if cast("float", row[-1]) in self._covered]
                if doubtful:
                    self._remove(shape, doubtful)
        self._correct_authors()
        return self._rows

    def _write_scratch(self) -> None:
        self._scratch.write(self._waiting)
        self._waiting.clear()

    def _correct_authors(self) -> None:
        """Add the authors that today's rules find, and delete those of whom nothing is stored any more."""
        table, of_site = tables.authors, tables.authors.c.site == self._site
        for rows in _portions(self._scratch.database.stream(select(table).where(of_site))):
            with self._store.database.writing() as connection:
                self._statements.keep_authors(connection, rows)
        keys = select(table.c.site, table.c.author_id).where(of_site)
        # The authors before the rows: one who comes meanwhile comes with a row.
        stored = list(self._store.database.stream(keys))
        known = {key for _, key in self._scratch.database.stream(keys)}
        for items in (tables.posts, tables.comments):
            writers = select(author_key(items)).where(items.c.site == self._site).distinct()
            known.update(key for [key] in self._store.database.stream(writers))
        for portion in _portions(row for row in stored if row[1] not in known):
            with self._store.database.writing() as connection:
                _delete(connection, table, cast("list[Key]", portion))

    def _correct(self, shape: Shape, rows: Sequence[Row]) -> None:
        """Write a portion of rows of the scratch database, merged with their stored rows."""
        read = {shape.key_of(row): row for row in rows}
        keys = sorted(read)
        with self._scratch.database.reading() as connection:
            read_versions = _versions_of(connection, shape, keys)
            of_boards = _rows_in(tables.memberships, keys, *tables.memberships.c)
            boards = list(map(tuple, connection.execute(of_boards))) if shape is POSTS else []
        with self._store.database.writing() as connection:
            change = self._statements.next_change(connection) if shape.tracked else None
            self._rows.added += self._statements.add(connection, shape.table, [read[key] for key in keys], change)
            stored = {shape.key_of(row): row for row in self._statements.find(connection, shape, keys)}
            versions = _versions_of(connection, shape, keys)
            kept = self._staying(versions)
            rewritten: list[Row] = []
            marks: list[Mark] = []
            for key, before in stored.items():
                row, losers = self._corrected(shape, before, read[key])
                for lost in losers:
                    _keep_later(read_versions, version_key(shape, key, lost), (lost.value, lost.seen_at))
                if row != before:
                    rewritten.append(row)
                    marks.append(change.mark_of(shape, before, row) if change else UNMARKED)
                    self._rows.changed += row[shape.content] != before[shape.content]
                self._drop_current(shape, row, read_versions, kept)
            if rewritten:
                self._statements.replace(connection, shape.table, rewritten, marks)
            for version, sighting in read_versions.items():
                _keep_later(kept, version, sighting)
            self._write_versions(connection, versions, kept)
            if shape is POSTS:
                alone = [key for key, row in stored.items() if self._is_of_archive_alone(shape, row)]
                _delete(connection, tables.memberships, alone)
                if boards:
                    self._statements.add(connection, tables.memberships, boards)

    def _corrected(self, shape: Shape, stored: Row, read: Row) -> tuple[Row, list[Replaced]]:
        """Return a stored row as it should be, and the values that it supersedes."""
        rest = without(shape, stored, self._covered)
        row, losers = (read, list[Replaced]()) if rest is None else merge(shape, rest, read)
        first = times_of(shape, stored)[1]
        if first not in self._covered and first < times_of(shape, row)[1]:
            row = (*row[: shape.end], first, *row[shape.end + 1 :])
        return row, losers

    @staticmethod
    def _drop_current(shape: Shape, row: Row, *versions: _Versions) -> None:
        """Leave out the versions that a row's current values are."""
        for name, at in zip(shape.tracked, shape.tracked_at, strict=True):
            for group in versions:
                group.pop(version_key(shape, shape.key_of(row), Replaced(name, row[at], 0.0)), None)

    def _write_versions(self, connection: Connection, stored: _Versions, wanted: _Versions) -> None:
        if dropped := [version for version, sighting in stored.items() if wanted.get(version) != sighting]:
            self._statements.drop_versions(connection, dropped)
        if made := [(*version, *sighting) for version, sighting in wanted.items() if stored.get(version) != sighting]:
            self._statements.keep_versions(connection, made)

    def _remove(self, shape: Shape, keys: Sequence[Key]) -> None:
        """Take the archived pages out of the rows of these keys that today's rules find on none of them."""
        with self._scratch.database.reading() as connection:
            still_read = set(map(tuple, connection.execute(_rows_in(shape.table, keys, *shape.table.primary_key))))
        if not (missing := [key for key in keys if key not in still_read]):
            return
        with self._store.database.writing() as connection:
            # Before the locks of rows, as every writer.
            change = self._statements.next_change(connection) if shape.tracked else None
            stored = list(self._statements.find(connection, shape, missing))
            gone = [shape.key_of(row) for row in stored if self._is_of_archive_alone(shape, row)]
            left: list[Row] = []
            marks: list[Mark] = []
            for row in stored:
                if (rest := without(shape, row, self._covered)) and shape.key_of(row) not in gone:
                    left.append(rest)
                    marks.append(change.mark_of(shape, row, rest) if change else UNMARKED)
            versions, removed = _versions_of(connection, shape, missing), _versions_of(connection, shape, gone)
            kept = self._staying({key: sighting for key, sighting in versions.items() if key not in removed})
            for row in left:
                self._drop_current(shape, row, kept)
            self._write_versions(connection, versions, kept)
            if left:
                self._statements.replace(connection, shape.table, left, marks)
            self._delete_rows(connection, shape, gone, change)
        self._rows.removed += len(gone)

    def _delete_rows(self, connection: Connection, shape: Shape, gone: Sequence[Key], change: Change | None) -> None:
        for table in (shape.table, *([tables.memberships] if shape is POSTS else [])):
            _delete(connection, table, gone)
        if not change or not gone:
            return
        self._statements.note_removed(connection, gone, change)
        # Comments that outlive their post have no board any more.
        if shape is POSTS:
            left_over = update(tables.comments).where(_is_in(tables.comments, gone))
            connection.execute(left_over.values(change._asdict()))

    def _is_of_archive_alone(self, shape: Shape, stored: Row) -> bool:
        """Return whether archived pages alone showed a row. A mark of a full pass says only that no page did."""
        if any(time not in self._covered for time in times_of(shape, stored)):
            return False
        rest = without(shape, stored, self._covered)
        values = () if rest is None else zip(shape.names, rest[shape.key_size + 1 : shape.end], strict=True)
        return all(value is None or is_mark(shape, name, value) for name, value in values)

    def _staying(self, versions: _Versions) -> _Versions:
        """Return the versions of pages that are not in the archive, and the marks of full passes."""
        kept: _Versions = {}
        for version, (value, seen_at) in versions.items():
            shape = POSTS if version[_KIND] == "post" else COMMENTS
            if seen_at not in self._covered or is_mark(shape, version[_FIELD], value):
                kept[version] = value, seen_at
        return kept


def _keep_later(versions: _Versions, version: Key, sighting: tuple[Value, float]) -> None:
    if version not in versions or versions[version][1] < sighting[1]:
        versions[version] = sighting


def _portions(rows: Iterable[Row]) -> Iterator[list[Row]]:
    rest = iter(rows)
    while portion := list(map(tuple, islice(rest, PORTION))):
        yield portion


def _of_site(shape: Shape, site: str, *names: str) -> Select[Any]:
    """Return a query for columns of a site's rows, by key."""
    columns, keys = shape.table.c, list(shape.table.primary_key)
    return select(*(columns[name] for name in names)).where(columns.site == site).order_by(*keys)


def _rows_in(table: Table, keys: Sequence[Key], *columns: Column[Any]) -> Select[Any]:
    return select(*columns).where(_is_in(table, keys))


def _delete(connection: Connection, table: Table, keys: Sequence[Key]) -> None:
    if keys:
        connection.execute(delete(table).where(_is_in(table, keys)))


def _is_in(table: Table, keys: Sequence[Key]) -> ColumnElement[bool]:
    """Return the condition that the first columns of a row are one of these keys."""
    return tuple_(*list(table.primary_key)[: len(keys[0])]).in_(keys)


def _versions_of(connection: Connection, shape: Shape, keys: Sequence[Key]) -> _Versions:
    if not shape.tracked or not keys:
        return {}
    owners = [version_key(shape, key, Replaced("", None, 0.0))[:_FIELD] for key in keys]
    rows = connection.execute(
        _rows_in(tables.versions, owners, *(tables.versions.c[name] for name in tables.names_of(tables.versions)))
    )
    return {row[:_VALUE]: row[_VALUE:] for row in map(tuple, rows)}
