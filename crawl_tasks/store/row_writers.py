"""Row writers of the export: JSON Lines, CSV and Parquet.

Ids stay text, and times carry their zone (UTC). No cell of a CSV can be taken for a formula.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol, cast

import orjson

from crawl_tasks.store.atomic_file import ByteFile
from crawl_tasks.store.output_format import FileFormat
from crawl_tasks.store.rows import Row, Value
from crawl_tasks.store.selection import EARLIEST_S, LATEST_S, ColumnType, ExportColumn, Source

Convert = Callable[[Any], Any]
"""A function of a stored value that is not None."""

# A spreadsheet would run a cell that begins with one of these (CSV injection); those of full width too, in East Asia.
# The last is our own sign.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'")
# Rows of a row group of Parquet are held in memory: so many, or less where their texts are long.
_GROUP_ROWS: Final = 20_000
_GROUP_CHARACTERS: Final = 8_000_000


class RowWriter(Protocol):
    """The writer of one file's rows."""

    def write(self, source: Source, row: Row) -> None:
        """Write the values of a source's columns."""

    def close(self) -> None:
        """Write the rest of the rows, where a format keeps some."""
        return


def row_writer(form: FileFormat, file: ByteFile, sources: Sequence[Source]) -> RowWriter:
    """Return the writer of a format, for rows of these sources."""
    match form:
        case FileFormat.JSONL:
            return _JsonLines(file, sources)
        case FileFormat.CSV:
            return _Csv(file, sources)
        case FileFormat.PARQUET:
            return _Parquet(file, sources)


class _JsonLines(RowWriter):
    """One object a line, with the columns of its kind."""

    def __init__(self, file: ByteFile, sources: Sequence[Source]) -> None:
        self._write = file.write
        self._plans = {source.kind: _Plan(source.columns, _JSONL) for source in sources}

    def write(self, source: Source, row: Row) -> None:
        plan = self._plans[source.kind]
        document = dict(zip(plan.names, plan.converted(row), strict=True))
        self._write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z))


class _Csv(RowWriter):
    """A header and a line a row, with all columns."""

    def __init__(self, file: ByteFile, sources: Sequence[Source]) -> None:
        self._write = file.write
        self._line: Callable[[Iterable[Any]], str] = csv.writer(_Echo()).writerow
        names = list(_columns(sources))
        self._plans = {source.kind: _Plan(source.columns, _CSV, names) for source in sources}
        self._write(self._line(names).encode())

    def write(self, source: Source, row: Row) -> None:
        self._write(self._line(self._plans[source.kind].among_all(row)).encode())


class _Parquet(RowWriter):
    """Row groups with all columns, as many rows at a time as memory may hold."""

    def __init__(self, file: ByteFile, sources: Sequence[Source]) -> None:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415

        types = {
            ColumnType.TEXT: pyarrow.string(),
            ColumnType.INTEGER: pyarrow.int64(),
            ColumnType.TIME: pyarrow.timestamp("us", tz="UTC"),
            ColumnType.JSON: pyarrow.string(),
        }
        columns = _columns(sources)
        self._plans = {source.kind: _Plan(source.columns, _PARQUET, list(columns)) for source in sources}
        self._table_of = pyarrow.Table.from_arrays
        self._array_of = pyarrow.array
        self._schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[list[Any]] = []
        self._characters = 0

    def write(self, source: Source, row: Row) -> None:
        plan = self._plans[source.kind]
        self._rows.append(plan.among_all(row))
        self._characters += plan.characters(row)
        if len(self._rows) >= _GROUP_ROWS or self._characters >= _GROUP_CHARACTERS:
            self._write_group()

    def close(self) -> None:
        if self._rows:
            self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        columns = zip(self._schema, zip(*self._rows, strict=True), strict=True)
        arrays = [self._array_of(values, field.type) for field, values in columns]
        self._writer.write_table(self._table_of(arrays, schema=self._schema))
        self._rows.clear()
        self._characters = 0


def _columns(sources: Sequence[Source]) -> dict[str, ColumnType]:
    return {column.name: column.type for source in sources for column in source.columns}


class _Plan:
    """The conversion of one source's rows for one format. `every` has the names of all columns of the file."""

    def __init__(
        self, columns: Sequence[ExportColumn], converts: Mapping[ColumnType, Convert], every: Sequence[str] = ()
    ) -> None:
        self.names: Final = [column.name for column in columns]
        self._converts = [(at, converts[column.type]) for at, column in enumerate(columns) if column.type in converts]
        self._texts = [at for at, column in enumerate(columns) if column.type in {ColumnType.TEXT, ColumnType.JSON}]
        # The value after the last is a None, for columns that only other kinds have.
        self._places = [self.names.index(name) if name in self.names else len(columns) for name in every]

    def converted(self, row: Row) -> list[Any]:
        """Return the values as the format spells them."""
        values: list[Any] = list(row)
        for at, convert in self._converts:
            if values[at] is not None:
                values[at] = convert(values[at])
        return values

    def among_all(self, row: Row) -> list[Any]:
        """Return the values in the order of all columns, None where the kind has no such column."""
        values = self.converted(row)
        values.append(None)
        return [values[at] for at in self._places]

    def characters(self, row: Row) -> int:
        """Return the length of all texts of a row."""
        return sum(len(cast("str", row[at])) for at in self._texts if row[at] is not None)


class _Echo:
    """A file for csv.writer that returns the line."""

    def write(self, line: str) -> str:
        return line


def moment_of(seconds: float) -> datetime | None:
    """Return a time in UTC, None for one outside of the years 1 to 9999."""
    is_credible = EARLIEST_S <= seconds <= LATEST_S
    return datetime.fromtimestamp(seconds, UTC) if is_credible else None


def _iso(seconds: float) -> str | None:
    moment = moment_of(seconds)
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def _microseconds(seconds: float) -> int | None:
    is_credible = moment_of(seconds) is not None
    return round(seconds * 1_000_000) if is_credible else None


def _shown(extra: str) -> dict[str, str]:
    """Return the names of an extra that its page shows still."""
    return {name: value for name, value in orjson.loads(extra).items() if value is not None}


def _shown_text(extra: str) -> str:
    return orjson.dumps(_shown(extra)).decode()


def _safe(value: Value) -> Value:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


_JSONL: Final[dict[ColumnType, Convert]] = {ColumnType.TIME: moment_of, ColumnType.JSON: _shown}
_CSV: Final[dict[ColumnType, Convert]] = {
    ColumnType.TEXT: _safe,
    ColumnType.TIME: _iso,
    ColumnType.JSON: _shown_text,
}
_PARQUET: Final[dict[ColumnType, Convert]] = {ColumnType.TIME: _microseconds, ColumnType.JSON: _shown_text}
