"""The export: stored rows as files, all or the changes only, streamed, so that a table of any size fits.

selection.py has the rows and row_writers.py the formats. A file gets its name only when complete.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from sqlalchemy import ColumnElement, Select, func, select

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.store.atomic_file import ByteFile, is_address, is_written, opened
from crawl_tasks.store.output_format import OutputFormat, compressed
from crawl_tasks.store.row_writers import RowWriter, moment_of, row_writer
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

    Posts come before comments and these before versions, each in the order of their keys. A reader that closes the pipe
    ends the export quietly.

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
    with _writing(out, form, sources, overwrite=overwrite) as (writer, _):
        for source in sources:
            query = source.query() if after is None else source.query().where(source.change > after)
            for row, _ in _stream(store, query.order_by(*source.order), source):
                writer.write(source, row)
                written += 1
                if written % _NOTED == 0:
                    note(_NOTED)
    note(written % _NOTED)
    return written


def export_partitions(
    store: Store,
    directory: str,
    selection: RowSelection = EVERYTHING,
    form: OutputFormat = JSON_LINES,
    *,
    overwrite: bool = False,
    resume: bool = False,
    note: Callable[[int], object] = lambda _: None,
) -> int:
    """Write a file for each kind, site and day. Return the number of rows written.

    A file has a name such as `kind=comment/site=demo/day=2026-01-31/rows.parquet`. These are Hive partitions: DuckDB,
    pandas and Spark read the directories as columns, so the files hold neither kind nor site. The days are those of
    UTC, and always whole: `since` and `until` are widened to the begin and the end of a day.

    Args:
        store: the database.
        directory: a path or an address, made if it is missing.
        selection: the rows and columns.
        form: format and compression.
        overwrite: replace existing files.
        resume: leave existing files as they are, and write the missing ones.
        note: is told of the rows of each file.

    Raises:
        ConfigError: as for `export`, of the first file that exists.
        CrawlError: the disk filled up. All files are whole.
        StoreError: the database cannot be read.
    """
    sources = [source.without("kind", "site") for source in selection.whole_days().sources()]
    written = 0
    for source in sources:
        query = source.query(source.site, source.moment).order_by(source.site, source.moment, *source.order)
        with closing(_stream(store, query, source)) as rows:
            for (site, day), group in groupby(rows, key=_site_and_day):
                place = f"{directory}/kind={source.kind}/site={quote(site, safe='')}/day={day}"
                file, before = f"{place}/rows.{form.name}", written
                if resume and is_written(file):
                    continue
                if not is_address(file):
                    _make_directory(Path(place))
                with _writing(file, form, [source], overwrite=overwrite) as (writer, _):
                    for row, _ in group:
                        writer.write(source, row)
                        written += 1
                note(written - before)
    return written


def export_changes(
    store: Store,
    out: str,
    selection: RowSelection = EVERYTHING,
    form: OutputFormat = JSON_LINES,
    *,
    after: int = 0,
    goes_on: Callable[[], bool] = lambda: False,
    outlasts: Callable[[StoreError], bool] = lambda _: False,
    overwrite: bool = True,
) -> int:
    """Write the change feed after a change: rows with a new text or state, in commit order. Return the last change.

    Each row stands once, in the present state, with the `change_id` of its last change. Rows of one transaction share a
    change. A reader has finished with a change when a row of a later one comes, or the query ends. A reader that goes
    on from the last finished change misses none, and sees at most the rows of the next one again. All changes up to the
    returned one were written. Rows stored by a version without changes come first, and only from 0.

    Args:
        store: the database.
        out: a file, or "-".
        selection: the rows and columns.
        form: format and compression.
        after: the last change that the reader knows.
        goes_on: called after each query, when all its rows were written. True asks for another query.
        outlasts: called when the database failed. True asks again, from the last finished change on.
        overwrite: replace an existing file.

    Raises:
        ConfigError: `out` cannot be written, or exists and `overwrite` is not set, or a field is unknown.
        CrawlError: the disk filled up.
        StoreError: the database cannot be read.
    """
    sources = selection.sources()
    with _writing(out, form, sources, overwrite=overwrite) as (writer, file):
        while True:
            try:
                # Before the rows are read: a change that is committed meanwhile belongs to the next query.
                last = store.last_change()
                with closing(stream_changes(store, sources, after, last)) as changes:
                    for change, source, row in changes:
                        writer.write(source, row)
                        # All changes before that of this row are written.
                        after = max(after, change - 1)
            except StoreError as error:
                if not outlasts(error):
                    raise
                continue
            file.flush()
            after = max(after, last)
            if not goes_on():
                break
    return after


def stream_changes(
    store: Store, sources: Sequence[Source], after: int, last: int
) -> Generator[tuple[int, Source, Row]]:
    """Yield the rows of the changes after one and up to another, each with its change, in commit order."""
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(_changes_of(store, source, after, last))) for source in sources]
        yield from merge(*streams, key=itemgetter(0))


@contextmanager
def _writing(
    out: str, form: OutputFormat, sources: Sequence[Source], *, overwrite: bool
) -> Iterator[tuple[RowWriter, ByteFile]]:
    """Open a file for the rows of some sources. A failure within the block leaves no file."""
    with opened(out, overwrite=overwrite) as plain, compressed(plain, form) as file:
        writer = row_writer(form.form, file, sources)
        yield writer, file
        writer.close()


def _stream(store: Store, query: Select[Any], source: Source) -> Generator[tuple[Row, Row]]:
    """Yield the values of the columns and those of the hidden ones."""
    end = len(source.columns)
    with closing(store.database.stream(query)) as rows:
        for row in rows:
            values: Row = tuple(row)
            yield values[:end], values[end:]


def _changes_of(store: Store, source: Source, after: int, last: int) -> Generator[tuple[int, Source, Row]]:
    change = source.change
    parts: list[ColumnElement[bool]] = [(change > after) & (change <= last)]
    if after == 0:
        # Apart: for both by one query a database would sort all its rows before it gives the first.
        parts.insert(0, change.is_(None))
    for part in parts:
        query = source.query(change).where(part).order_by(change, *source.order)
        with closing(_stream(store, query, source)) as rows:
            for row, [number] in rows:
                yield cast("int", number or 0), source, row


def _site_and_day(row: tuple[Row, Row]) -> tuple[str, str]:
    """Return the site and the UTC day of a row, from its hidden columns."""
    site, moment = row[1]
    day = moment_of(float(cast("float", moment)))
    # The name that Hive gives to a NULL.
    return str(site), day.date().isoformat() if day is not None else "__HIVE_DEFAULT_PARTITION__"


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"export: {directory}: {error.strerror}; name a directory that you may write to") from error
