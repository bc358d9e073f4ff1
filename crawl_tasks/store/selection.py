"""The selection: the rows and columns that an export takes, as queries.

A comment has the board of its thread. A row's time is the forum's, and where the forum shows none, the time of the
oldest observation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    Table,
    and_,
    func,
    literal_column,
    null,
    or_,
    select,
    true,
)

from crawl_tasks.errors import ConfigError
from crawl_tasks.model import UNREADABLE
from crawl_tasks.store.tables import (
    CHANGE_ID,
    CRAWLED_AT,
    PLACED_ID,
    UNIT,
    Unit,
    comments,
    posts,
    removals,
    versions,
)

_INTERNAL: Final = "stamps"
DAY_S: Final = 86400
# The years 1 to 9999 in seconds: Python, pandas and DuckDB read them all.
EARLIEST_S: Final = -62_135_596_800
LATEST_S: Final = 253_402_300_799
REMOVED: Final = "removed"
"""The kind of the lines that tell of a removed post, comment or site."""
STATES: Final = ("normal", *sorted(UNREADABLE))


class ExportKind(StrEnum):
    """The tables to export."""

    POSTS = "posts"
    COMMENTS = "comments"
    ALL = "all"


class ColumnType(StrEnum):
    """The type of an exported column."""

    TEXT = "text"
    INTEGER = "integer"
    TIME = "time"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """A column of the export, and the expression that selects the column."""

    name: str
    type: ColumnType
    value: ColumnElement[Any]


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of one kind, with their columns."""

    kind: str
    columns: tuple[ExportColumn, ...]
    rows: FromClause
    condition: ColumnElement[bool]
    order: tuple[ColumnElement[Any], ...]
    site: ColumnElement[str]
    moment: ColumnElement[float]
    change: ColumnElement[int]

    def query(self, *hidden: ColumnElement[Any]) -> Select[Any]:
        """Return the query of the rows, with more columns after those of the export."""
        return select(*(column.value for column in self.columns), *hidden).select_from(self.rows).where(self.condition)

    def with_columns(self, names: Sequence[str], empty: Mapping[str, ExportColumn]) -> Source:
        """Return the source with these columns, empty ones for those that it lacks."""
        own = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(own.get(name, empty[name]) for name in names))

    def moved(self, after: int) -> Source | None:
        """Return the comments of threads that moved, if they show a board, with the change of the move as their change.

        Comments that changed after `after` themselves are left out.
        """
        if self.kind != "comment" or all(column.name != "forum_id" for column in self.columns):
            return None
        rows = posts.join(comments, _same(comments, posts, "site", "post_id"))
        # Every move is a change of the post, whose index is the way to the few of them.
        is_recent = and_(posts.c[CHANGE_ID] > after, posts.c[PLACED_ID] > after)
        # No index of the comments by their change: most of them are before.
        is_before = func.coalesce(comments.c[CHANGE_ID], 0) <= after
        return replace(self, rows=rows, condition=and_(self.condition, is_recent, is_before), change=posts.c[PLACED_ID])

    def without(self, *names: str) -> Source:
        """Return the source without these columns."""
        return replace(self, columns=tuple(column for column in self.columns if column.name not in names))


@dataclass(frozen=True, slots=True)
class RowSelection:
    """The choice of rows and columns. An empty tuple chooses all, and times are seconds, `until` exclusive.

    `has_versions` adds the former titles, bodies and states of the chosen rows.
    """

    kind: ExportKind = ExportKind.ALL
    sites: Sequence[str] = ()
    boards: Sequence[str] = ()
    authors: Sequence[str] = ()
    states: Sequence[str] = ()
    since: float | None = None
    until: float | None = None
    fields: Sequence[str] = ()
    has_versions: bool = False

    def whole_days(self) -> RowSelection:
        """Return the selection with its times widened to whole days of UTC."""
        if self.since is None and self.until is None:
            return self
        # A file of times that no calendar has is of no such days.
        since = EARLIEST_S if self.since is None else self.since // DAY_S * DAY_S
        until = LATEST_S if self.until is None else -(-self.until // DAY_S) * DAY_S
        return replace(self, since=since, until=until)

    def sources(self) -> list[Source]:
        """Return the sources in the order of the export: posts, comments, versions of posts, versions of comments.

        Raises:
            ConfigError: a field is no column of them.
        """
        tables = [table for table in (posts, comments) if self.kind in {ExportKind.ALL, table.name}]
        sources = [self._items(table) for table in tables]
        if self.has_versions:
            sources += [self._versions(table) for table in tables]
        return self._chosen(sources)

    def feed(self) -> list[Source]:
        """Return the sources of the change feed: those of the rows, and the removals.

        Raises:
            ConfigError: a field is no column of them.
        """
        return self._chosen([*replace(self, fields=(), has_versions=False).sources(), self._removals()])

    def _chosen(self, sources: list[Source]) -> list[Source]:
        """Return sources with the chosen columns."""
        known = {column.name: column.type for source in sources for column in source.columns}
        if strange := [name for name in self.fields if name not in known]:
            raise ConfigError(f"export: there is no field {strange[0]}; there are {', '.join(known)}")
        if not self.fields:
            return sources
        empty = {name: ExportColumn(name, known[name], null()) for name in self.fields}
        return [source.with_columns(self.fields, empty) for source in sources]

    def _items(self, table: Table) -> Source:
        kind = table.name.removesuffix("s")
        columns = [_constant("kind", kind)]
        columns += [_column(column.name, column) for column in table.columns if column.name != _INTERNAL]
        rows: FromClause = table
        if table is comments:
            rows = table.outerjoin(posts, _same(table, posts, "site", "post_id"))
            columns.insert(1 + len(table.primary_key), _column("forum_id", posts.c.forum_id))
        return self._source(kind, columns, rows, table, table)

    def _versions(self, table: Table) -> Source:
        """Return the versions of a table's rows under the same condition."""
        keys = [column.name for column in table.primary_key]
        rows = versions.join(table, _same(versions, table, *keys))
        if table is comments:
            rows = rows.outerjoin(posts, _same(table, posts, "site", "post_id"))
        kind = "version"
        of_kind = versions.c.kind == table.name.removesuffix("s")
        columns = [
            _constant("kind", kind),
            _column("site", versions.c.site),
            _column("post_id", versions.c.post_id),
            ExportColumn("comment_id", ColumnType.TEXT, func.nullif(versions.c.comment_id, "")),
            _column("forum_id", posts.c.forum_id),
            *(_column(name, versions.c[name]) for name in ("field", "value", "seen_at", "content_hash", CRAWLED_AT)),
        ]
        source = self._source(kind, columns, rows, versions, table)
        return replace(source, condition=and_(of_kind, source.condition))

    def _removals(self) -> Source:
        """Return the removals of the chosen kind: an empty comment is a post, and an empty post the whole site."""
        at = removals.c
        of_kind = {
            ExportKind.POSTS: at.comment_id == "",
            ExportKind.COMMENTS: or_(at.comment_id != "", at.post_id == ""),
            ExportKind.ALL: true(),
        }
        columns = [
            _constant("kind", REMOVED),
            _column("site", at.site),
            *(
                ExportColumn(str(key.name), ColumnType.TEXT, func.nullif(key, ""))
                for key in (at.post_id, at.comment_id)
            ),
            _column(CHANGE_ID, at[CHANGE_ID]),
            _column(CRAWLED_AT, at[CRAWLED_AT]),
        ]
        return Source(
            kind=REMOVED,
            columns=tuple(columns),
            rows=removals,
            condition=and_(of_kind[self.kind], at.site.in_(self.sites) if self.sites else true()),
            order=tuple(removals.primary_key),
            site=at.site,
            moment=at[CRAWLED_AT],
            change=at[CHANGE_ID],
        )

    def _source(
        self, kind: str, columns: Iterable[ExportColumn], rows: FromClause, keyed: Table, table: Table
    ) -> Source:
        """Return a source with the keys of `keyed`, and with the times, changes and condition of an item table."""
        return Source(
            kind=kind,
            columns=tuple(columns),
            rows=rows,
            condition=self._condition(table),
            order=tuple(keyed.primary_key),
            site=keyed.c.site,
            moment=func.coalesce(table.c.created_at, table.c.first_seen_at),
            change=table.c[CHANGE_ID],
        )

    def _condition(self, table: Table) -> ColumnElement[bool]:
        wanted: list[ColumnElement[bool]] = [
            column.in_(values)
            for column, values in (
                (table.c.site, self.sites),
                (posts.c.forum_id, self.boards),
                (table.c.author, self.authors),
                (func.coalesce(table.c.state, "normal"), self.states),
            )
            if values
        ]
        if self.since is not None:
            wanted.append(_either(table, lambda time: time >= self.since))
        if self.until is not None:
            wanted.append(_either(table, lambda time: time < self.until))
        return and_(true(), *wanted)


def _constant(name: str, value: str) -> ExportColumn:
    return ExportColumn(name, ColumnType.TEXT, literal_column(f"'{value}'"))


def _column(name: str, column: ColumnElement[Any]) -> ExportColumn:
    name = str(name)  # SQLAlchemy's names are of a class of its own, which JSON does not take
    unit = getattr(column, "info", {}).get(UNIT)
    if unit is Unit.SECONDS:
        return ExportColumn(name, ColumnType.TIME, column)
    if unit is Unit.JSON:
        return ExportColumn(name, ColumnType.JSON, column)
    is_integer = isinstance(column.type, BigInteger)
    return ExportColumn(name, ColumnType.INTEGER if is_integer else ColumnType.TEXT, column)


def _either(table: Table, test: Callable[[ColumnElement[Any]], ColumnElement[bool]]) -> ColumnElement[bool]:
    """Return a test of a row's time. No index would serve a test of `coalesce`."""
    return or_(test(table.c.created_at), and_(table.c.created_at.is_(None), test(table.c.first_seen_at)))


def _same(left: Table, right: Table, *names: str) -> ColumnElement[bool]:
    return and_(*(left.c[name] == right.c[name] for name in names))
