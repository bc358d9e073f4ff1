"""The export: stored rows as one file, streamed, so that a table of any size fits.

selection.py has the rows and row_writers.py the formats. A file gets its name only when complete, and is of one moment.
export_tree.py writes many files, and change_feed.py the changes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select

from crawl_tasks.store.atomic_file import ByteFile, opened
from crawl_tasks.store.output_format import OutputFormat, compressed
from crawl_tasks.store.row_writers import RowWriter, row_writer
from crawl_tasks.store.rows import Row
from crawl_tasks.store.selection import RowSelection, Source
from crawl_tasks.store.upsert import Store

EVERYTHING: Final = RowSelection()
JSON_LINES: Final = OutputFormat()

_NOTED: Final = 10_000


def count_rows(store: Store, selection: RowSelection) -> int:
    """Return the number of rows that an export of a selection has."""
    with store.database.reading() as connection:
        queries = (
            select(func.count()).select_from(source.rows).where(source.condition) for source in selection.sources()
        )
        return sum(int(connection.execute(query).scalar_one()) for query in queries)


def export(
    store: Store,
    out: str,
    selection: RowSelection = EVERYTHING,
    form: OutputFormat = JSON_LINES,
    *,
    after: int | None = None,
    overwrite: bool = True,
    note: Callable[[int], object] = lambda _: None,
) -> int:
    """Write the chosen rows to a file, or to stdout if `out` is "-". Return the number of rows written.

    All rows are of one moment. Posts come before comments and these before versions, each in the order of their keys.
    A reader that closes the pipe of stdout ends the export quietly.

    Args:
        store: the database.
        out: a file by its path or address, or "-".
        selection: the rows and columns.
        form: format and compression.
        after: a change. Rows without a new text or state since then are left out.
        overwrite: replace an existing file.
        note: is told of each so many rows.

    Raises:
        ConfigError: `out` cannot be written, or exists and `overwrite` is not set, or a field is unknown.
        CrawlError: the disk filled up. A file of that name, if there was one, is as before.
        StoreError: the database cannot be read.
    """
    sources = selection.sources()
    written = 0
    with (
        writing(out, form, sources, overwrite=overwrite) as (writer, _),
        store.database.reading(is_snapshot=True) as connection,
    ):
        for source in sources:
            query = source.query() if after is None else source.query().where(source.change > after)
            for row, _ in stream(connection, query.order_by(*source.order), source):
                writer.write(source, row)
                written += 1
                if written % _NOTED == 0:
                    note(_NOTED)
    note(written % _NOTED)
    return written


@contextmanager
def writing(
    out: str, form: OutputFormat, sources: Sequence[Source], *, overwrite: bool
) -> Iterator[tuple[RowWriter, ByteFile]]:
    """Open a file for the rows of some sources. A failure within the block leaves no file."""
    with opened(out, overwrite=overwrite) as plain, compressed(plain, form) as file:
        writer = row_writer(form.form, file, sources)
        yield writer, file
        writer.close()


def stream(connection: Connection, query: Select[Any], source: Source) -> Generator[tuple[Row, Row]]:
    """Yield the values of the columns and those of the hidden ones."""
    end = len(source.columns)
    with connection.execute(query) as rows:
        for row in rows:
            values: Row = tuple(row)
            yield values[:end], values[end:]
