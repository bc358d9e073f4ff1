"""The change feed: rows as they are now, in the order of their last changes, and what was removed.

A change is a transaction that gave some rows other values than counts (rows.py), or removed some. Rows of one
transaction share its number.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from heapq import merge
from operator import itemgetter
from typing import Final, cast

from sqlalchemy import ColumnElement, Connection

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.store.export import EVERYTHING, JSON_LINES, stream, writing
from crawl_tasks.store.ledger_notes import read_changes
from crawl_tasks.store.output_format import OutputFormat
from crawl_tasks.store.rows import Row
from crawl_tasks.store.selection import REMOVED, ExportKind, RowSelection, Source
from crawl_tasks.store.upsert import Store

_ANEW: Final = "begin again with an empty copy and --after 0"


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
    """Write the change feed after a change, in commit order. Return the last change.

    Each row stands once, in the present state, with the `change_id` of its last change. A removal is a row of kind
    `removed`, before the rows of the same change. Rows of one transaction share a change. A reader has finished with a
    change when a row of a later one comes, or the query ends. A reader that goes on from the greatest finished change
    misses none, and sees at most the rows of the next one again. All changes up to the returned one were written. Rows
    stored by a version without changes come first, and only from 0. Comments of a thread that moved come in the place
    of the move, with their own, earlier change.

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
        ConfigError: `out` cannot be written, or exists and `overwrite` is not set, or a field is unknown, or the
            database was restored and has another past than the reader.
        CrawlError: the disk filled up.
        StoreError: the database cannot be read.
    """
    sources = selection.feed()
    with writing(out, form, sources, overwrite=overwrite) as (writer, file):
        while True:
            try:
                with store.database.reading(is_snapshot=True) as connection:
                    last = last_change(connection, after)
                    with closing(stream_changes(connection, sources, after, last)) as changes:
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


def last_change(connection: Connection, after: int) -> int:
    """Return the last change, for a reader that knows those up to `after`.

    Raises:
        ConfigError: the reader knows changes that a restore took back.
    """
    last, lost = read_changes(connection)
    if after > last:
        raise ConfigError(
            f"change {after} is not in this database, whose last is {last}: it was restored from a backup, or is "
            f"another one; {_ANEW}"
        )
    if any(begin < after <= end for begin, end in lost):
        raise ConfigError(f"change {after} was lost when this database was restored from a backup; {_ANEW}")
    return last


def stream_changes(
    connection: Connection, sources: Sequence[Source], after: int, last: int
) -> Generator[tuple[int, Source, Row]]:
    """Yield the rows of the changes after one and up to another, each with its change, in commit order."""
    with ExitStack() as stack:
        # A row may be stored again in the transaction that removed it, so removals come first.
        ordered = sorted(sources, key=lambda source: source.kind != REMOVED)
        streams = [stack.enter_context(closing(_changes_of(connection, source, after, last))) for source in ordered]
        if after:
            moved = [replayed for source in sources if (replayed := source.moved(after)) is not None]
            streams += [stack.enter_context(closing(_rows_of(connection, source, after, last))) for source in moved]
        yield from merge(*streams, key=itemgetter(0))


def _changes_of(connection: Connection, source: Source, after: int, last: int) -> Generator[tuple[int, Source, Row]]:
    if after == 0:
        # Apart: for both by one query a database would sort all its rows before it gives the first.
        yield from _rows_where(connection, source, source.change.is_(None))
    yield from _rows_of(connection, source, after, last)


def _rows_of(connection: Connection, source: Source, after: int, last: int) -> Generator[tuple[int, Source, Row]]:
    yield from _rows_where(connection, source, (source.change > after) & (source.change <= last))


def _rows_where(
    connection: Connection, source: Source, condition: ColumnElement[bool]
) -> Generator[tuple[int, Source, Row]]:
    query = source.query(source.change).where(condition).order_by(source.change, *source.order)
    with closing(stream(connection, query, source)) as rows:
        for row, [number] in rows:
            yield cast("int", number or 0), source, row


def check_feed(selection: RowSelection) -> None:
    """Refuse choices with which a reader's copy would not end as the tables are.

    Raises:
        ConfigError: a row that changes could leave the selection, or the columns do not identify a row.
    """
    filters = {
        "--board": selection.boards,
        "--author": selection.authors,
        "--state": selection.states,
        "--since": selection.since,
        "--until": selection.until,
    }
    if chosen := [name for name, value in filters.items() if value]:
        raise ConfigError(
            f"--after and --follow take no {chosen[0]}: a row that changes and is chosen no more would stay with its"
            " reader; take --site and --kind, and leave rows out where they are read"
        )
    keys = {"kind", "site", "post_id", "comment_id", "change_id"}
    if selection.kind is ExportKind.POSTS:
        keys.remove("comment_id")
    if selection.fields and (missing := sorted(keys - set(selection.fields))):
        raise ConfigError(f"--fields of changes need {', '.join(missing)} too, to know a row and a removed one by")
