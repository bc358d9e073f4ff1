"""The SQL statements of the upsert, compiled once, run with plain tuples.

SQLAlchemy writes the SQL for the dialect. The rows then go to the driver as they are, because SQLAlchemy's own handling
of parameters costs more than the insert.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Dialect,
    Table,
    Tuple,
    bindparam,
    case,
    cast,
    delete,
    func,
    literal_column,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from crawl_tasks.model import Decision
from crawl_tasks.store import tables
from crawl_tasks.store.rows import Key, RequestRow, Row, Shape

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

    Insert = sqlite.Insert | postgresql.Insert

# Keys of one query: few sizes, so that drivers keep their prepared statements.
_SIZES: Final = (1, 8, 32, 128)
_IS_CHANGE: Final = tables.meta.c.name == literal_column("'change'")
# Statements kept for each combination of columns left out.
_VARIANTS: Final = 100


def _insert_of(dialect: Dialect) -> Callable[[Table], Insert]:
    """Return the dialect's insert with an upsert clause. Another dialect is added here."""
    # The import takes 35 ms that a worker on SQLite need not wait for.
    if dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415

        return postgresql.insert
    return sqlite.insert


Mark = tuple[int | None, float | None, int | None]
"""The values of a row's columns that tell of a change (tables.OF_CHANGE). None leaves one as it is."""

UNMARKED: Final[Mark] = (None, None, None)


class Change(NamedTuple):
    """The number of a transaction, and its time by this machine's clock."""

    change_id: int
    crawled_at: float

    @property
    def mark(self) -> Mark:
        """Return the mark of a new row."""
        return self.change_id, self.crawled_at, self.change_id

    def mark_of(self, shape: Shape, before: Row, row: Row) -> Mark:
        """Return the mark of a row that takes the place of another."""
        if not shape.is_change(before, row):
            return UNMARKED
        return self.change_id, self.crawled_at, self.change_id if shape.is_move(before, row) else None


class Statements:
    """The statements of one dialect, each compiled when first sent: together they cost 15 ms."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._insert = _insert_of(dialect)
        self._add = lru_cache(_VARIANTS)(self._compile_add)
        self._replace = lru_cache(_VARIANTS)(self._compile_replace)
        self._touch = cache(self._compile_touch)
        self._find = cache(self._compile_find)

    def next_change(self, connection: Connection) -> Change:
        """Return a number for this transaction, and the time.

        No other transaction gets a number until this one ends, so commits have the order of the numbers.
        """
        connection.exec_driver_sql(self._count_change)
        return Change(int(connection.exec_driver_sql(self._read_change).scalar_one()), time.time())

    def add(self, connection: Connection, table: Table, rows: Sequence[Row], change: Change | None = None) -> int:
        """Insert the rows with new keys, as of this change. Return the number of rows inserted."""
        mark_columns = (
            zip(tables.OF_CHANGE, ((value,) * len(rows) for value in change.mark), strict=True) if change else ()
        )
        names, values = _without_nulls(table, rows, mark_columns)
        return connection.exec_driver_sql(self._add(table, names), values).rowcount

    def replace(self, connection: Connection, table: Table, rows: Sequence[Row], marks: Sequence[Mark] = ()) -> None:
        """Write rows over those of the same key, each with its mark. What a mark leaves out stays."""
        mark_columns = zip(tables.OF_CHANGE, zip(*marks, strict=True), strict=True) if marks else ()
        names, values = _without_nulls(table, rows, mark_columns)
        connection.exec_driver_sql(self._replace(table, names), values)

    def touch(self, connection: Connection, shape: Shape, rows: Sequence[Row]) -> None:
        """Set nothing but `seen_at`, which is before the key."""
        connection.exec_driver_sql(self._touch(shape), list(rows))

    def find(self, connection: Connection, shape: Shape, keys: Sequence[Key]) -> Iterator[Row]:
        """Return the rows of sorted keys, in their order, locked against other writers."""
        for prefix, group in groupby(keys, key=itemgetter(slice(shape.key_size - 1))):
            ids = [key[-1] for key in group]
            for portion in _portions(ids):
                rows = connection.exec_driver_sql(self._find(shape, len(portion)), (*prefix, *portion))
                yield from map(tuple, rows.all())

    def keep_versions(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Insert versions. A version that is there keeps the later observation, and when it was stored."""
        now = time.time()
        connection.exec_driver_sql(self._keep_version, [(*row, now) for row in rows])

    def keep_authors(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Insert authors. An author who is there gets a name that was seen later."""
        connection.exec_driver_sql(self._keep_author, list(rows))

    def drop_versions(self, connection: Connection, keys: Sequence[Key]) -> None:
        """Delete versions whose value has become current again."""
        connection.exec_driver_sql(self._drop_version, list(keys))

    def note_removed(self, connection: Connection, keys: Sequence[Key], change: Change) -> None:
        """Note for readers of the change feed that posts, comments or, by its name alone, a whole site were removed."""
        rows: list[Row] = [(*key, *("",) * (3 - len(key))) for key in keys]
        self.replace(connection, tables.removals, rows, [change.mark] * len(rows))

    def note(self, connection: Connection, rows: Sequence[RequestRow]) -> None:
        """Insert requests. A request that is there keeps the newer admission and the newer fetch."""
        connection.exec_driver_sql(self._note, list(rows))

    def decide(self, connection: Connection, decisions: Sequence[Decision]) -> None:
        """Write decisions of operators over older ones of the same subject."""
        connection.exec_driver_sql(self._decide, list(map(tuple, decisions)))

    def _compile_add(self, table: Table, names: tuple[str, ...]) -> str:
        return self._compile(self._insert(table).on_conflict_do_nothing(), names)

    def _compile_replace(self, table: Table, names: tuple[str, ...]) -> str:
        statement = self._insert(table)
        # `excluded` has a NULL for every column that is not among the names.
        values = _all_of(statement, table)
        # A row that was merely seen again keeps its change: readers of the change feed must not get such rows.
        for name in values.keys() & set(tables.OF_CHANGE):
            values[name] = func.coalesce(statement.excluded[name], table.c[name])
        return self._upsert(statement, table, values, names=names)

    def _compile_find(self, shape: Shape, size: int) -> str:
        keys = list(shape.table.primary_key)
        matches = [key == bindparam(key.name) for key in keys[:-1]]
        ids = [bindparam(f"id{number}", type_=keys[-1].type) for number in range(size)]
        statement = (
            select(*(shape.table.c[name] for name in shape.columns))
            .where(*matches, keys[-1].in_(ids))
            .order_by(keys[-1])
        )
        # For PostgreSQL. SQLite has one writer at a time and its dialect leaves the clause out.
        return self._compile(statement.with_for_update())

    def _compile_touch(self, shape: Shape) -> str:
        matches = [key == bindparam(f"of_{key.name}", type_=key.type) for key in shape.table.primary_key]
        return self._compile(update(shape.table).where(*matches), ("seen_at",))

    @cached_property
    def _keep_version(self) -> str:
        table = tables.versions
        statement = self._insert(table)
        later = statement.excluded.seen_at > table.c.seen_at
        seen_at = case((later, statement.excluded.seen_at), else_=table.c.seen_at)
        return self._upsert(statement, table, {"seen_at": seen_at})

    @cached_property
    def _keep_author(self) -> str:
        table = tables.authors
        statement = self._insert(table)
        new = statement.excluded
        # Of two names of one moment one stands, whichever came first.
        is_later = _rank_of(new) > _rank_of(table.c)
        return self._upsert(statement, table, {"name": new.name, "seen_at": new.seen_at}, is_later)

    @cached_property
    def _note(self) -> str:
        table = tables.requests
        statement = self._insert(table)
        new = statement.excluded
        values: dict[str, ColumnElement[object]] = {name: new[name] for name in ("address", "priority", "reach")}
        for revision in ("wanted", "done"):
            later = new[f"{revision}_at"] >= func.coalesce(table.c[f"{revision}_at"], literal_column("0"))
            for name in (revision, f"{revision}_at"):
                values[name] = case((later, new[name]), else_=table.c[name])
        return self._upsert(statement, table, values)

    @cached_property
    def _decide(self) -> str:
        table = tables.decisions
        statement = self._insert(table)
        is_newer = statement.excluded.at_ms > table.c.at_ms
        return self._upsert(statement, table, _all_of(statement, table), is_newer)

    @cached_property
    def _count_change(self) -> str:
        count = cast(cast(tables.meta.c.value, BigInteger) + literal_column("1"), tables.meta.c.value.type)
        statement = self._insert(tables.meta).values(name=literal_column("'change'"), value=literal_column("'1'"))
        return self._upsert(statement, tables.meta, {"value": count})

    @cached_property
    def _drop_version(self) -> str:
        matches = [key == bindparam(key.name) for key in tables.versions.primary_key]
        return self._compile(delete(tables.versions).where(*matches))

    @cached_property
    def _read_change(self) -> str:
        return self._compile(select(tables.meta.c.value).where(_IS_CHANGE))

    def _upsert(
        self, statement: Insert, table: Table, values: Mapping[str, ColumnElement[Any]],
        where: ColumnElement[bool] | None = None, names: tuple[str, ...] | None = None,
    ) -> str:  # fmt: skip
        keys = list(table.primary_key)
        return self._compile(statement.on_conflict_do_update(index_elements=keys, set_=values, where=where), names)

    def _compile(self, statement: ClauseElement, names: tuple[str, ...] | None = None) -> str:
        return str(statement.compile(dialect=self._dialect, column_keys=names))


def _rank_of(author: ReadOnlyColumnCollection[str, Any]) -> Tuple:
    """Return the rank of an observation of an author, by which one with a name replaces all without."""
    nothing: ColumnElement[str] = literal_column("''")
    is_named = case((author.name.is_not(None), literal_column("1")), else_=literal_column("0"))
    return tuple_(is_named, author.seen_at, func.coalesce(author.name, nothing))


def _all_of(statement: Insert, table: Table) -> dict[str, ColumnElement[Any]]:
    """Return the new value of every column beside the key."""
    return {column.name: statement.excluded[column.name] for column in table.columns if not column.primary_key}


def _without_nulls(
    table: Table, rows: Sequence[Row], mark_columns: Iterable[tuple[str, Row]]
) -> tuple[tuple[str, ...], list[Row]]:
    """Leave out the columns that are None in every row: binding a None costs SQLite's driver more than a text.

    `mark_columns` has the columns that tell of a change, where the table has them.
    """
    columns = chain(zip(tables.names_of(table), zip(*rows, strict=True), strict=True), mark_columns)
    kept = {name: column for name, column in columns if any(column) or column.count(None) < len(rows)}
    for name in tables.OF_CHANGE:
        if name in kept and name not in table.c:
            del kept[name]
    return tuple(kept), list(zip(*kept.values(), strict=True))


def _portions(ids: list[str]) -> Iterator[list[str]]:
    """Cut into the sizes that have a statement, and fill the last portion up with its own last id."""
    for start in range(0, len(ids), _SIZES[-1]):
        portion = ids[start : start + _SIZES[-1]]
        size = next(size for size in _SIZES if size >= len(portion))
        yield portion + portion[-1:] * (size - len(portion))
