"""The export: stored rows as JSONL or CSV, all or the changes only, streamed, so that a table of any size fits.

A file gets its name only when complete. No cell of a CSV can be taken for a formula.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, closing
from enum import StrEnum
from heapq import merge
from typing import Final

from sqlalchemy import ColumnElement, Table, select, true

from crawl_tasks.errors import StoreError
from crawl_tasks.store.atomic_file import opened
from crawl_tasks.store.rows import Value
from crawl_tasks.store.tables import CHANGE_ID, comments, posts
from crawl_tasks.store.upsert import Store

ExportedRow = dict[str, Value]

_INTERNAL: Final = frozenset({"stamps"})
# A spreadsheet would run a cell that begins with one of these (CSV injection).
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


class ExportKind(StrEnum):
    """The tables to export."""

    POSTS = "posts"
    COMMENTS = "comments"
    ALL = "all"


class ExportFormat(StrEnum):
    """The format of the file."""

    JSONL = "jsonl"
    CSV = "csv"


_TABLES: Final[dict[ExportKind, dict[str, Table]]] = {
    ExportKind.POSTS: {"post": posts},
    ExportKind.COMMENTS: {"comment": comments},
    ExportKind.ALL: {"post": posts, "comment": comments},
}


def export(
    store: Store,
    out: str,
    kind: ExportKind | str = ExportKind.ALL,
    format: ExportFormat | str = ExportFormat.JSONL,
    site: str | None = None,
    *,
    sites: Sequence[str] = (),
    known: Set[int] = frozenset(),
    overwrite: bool = True,
) -> int:
    """Write the stored rows to a file, or to stdout if `out` is "-". Return the number of rows written.

    Posts come before comments, each in the order of their keys. JSONL has one object per line, with its "kind". CSV has
    a header, and a cell that a spreadsheet would take for a formula begins with an apostrophe. A reader that closes the
    pipe ends the export quietly.

    Args:
        store: the database.
        out: a file, or "-".
        kind: posts, comments or all.
        format: JSONL or CSV.
        site: only this one.
        sites: only these, if any are given.
        known: fingerprints of rows to leave out while unchanged.
        overwrite: replace an existing file.

    Raises:
        ConfigError: `out` cannot be written, or exists and `overwrite` is not set.
        CrawlError: the disk filled up. A file of that name, if there was one, is as before.
        StoreError: the database cannot be read.
    """
    wanted = _TABLES[ExportKind(kind)]
    header, line_of = _jsonl() if ExportFormat(format) is ExportFormat.JSONL else _csv(wanted)
    written = 0
    with opened(out, overwrite=overwrite) as file, closing(_rows(store, wanted, [site] if site else sites)) as rows:
        file.write(header)
        for row in rows:
            if known and _fingerprint(row) in known:
                continue
            file.write(line_of(row))
            written += 1
    return written


def export_changes(
    store: Store,
    out: str,
    kind: ExportKind | str = ExportKind.ALL,
    format: ExportFormat | str = ExportFormat.JSONL,
    site: str | None = None,
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
        kind: posts, comments or all.
        format: JSONL or CSV.
        site: only this one.
        after: the last change that the reader knows.
        goes_on: called after each query, when all its rows were written. True asks for another query.
        outlasts: called when the database failed. True asks again, from the last finished change on.
        overwrite: replace an existing file.

    Raises:
        ConfigError: `out` cannot be written, or exists and `overwrite` is not set.
        CrawlError: the disk filled up.
        StoreError: the database cannot be read.
    """
    wanted = _TABLES[ExportKind(kind)]
    header, line_of = _jsonl() if ExportFormat(format) is ExportFormat.JSONL else _csv(wanted)
    with opened(out, overwrite=overwrite) as file:
        file.write(header)
        while True:
            try:
                # Before the rows are read: a change that is committed meanwhile belongs to the next query.
                last = store.last_change()
                with ExitStack() as stack:
                    for row in _changes(store, wanted, [site] if site else (), after, last, stack):
                        file.write(line_of(row))
                        # All changes before that of this row are written.
                        after = max(after, int(row[CHANGE_ID] or 0) - 1)
            except StoreError as error:
                if not outlasts(error):
                    raise
                continue
            file.flush()
            after = max(after, last)
            if not goes_on():
                break
    return after


def fingerprints(store: Store, sites: Sequence[str]) -> frozenset[int]:
    """Return the fingerprints of all posts and comments of some sites, in some 100 bytes of memory each."""
    with closing(_rows(store, _TABLES[ExportKind.ALL], sites)) as rows:
        return frozenset(map(_fingerprint, rows))


def _fingerprint(row: ExportedRow) -> int:
    # A post known from a list counts as another row once the page was fetched.
    return hash(
        (
            row["kind"],
            row["site"],
            row["post_id"],
            row.get("comment_id"),
            row["content_hash"],
            row.get("fetched_revision"),
        )
    )


def _rows(store: Store, wanted: dict[str, Table], sites: Sequence[str]) -> Generator[ExportedRow]:
    for kind, table in wanted.items():
        yield from _stream(store, kind, table, sites, true(), table.primary_key)


def _changes(
    store: Store, wanted: dict[str, Table], sites: Sequence[str], after: int, last: int, stack: ExitStack
) -> Iterator[ExportedRow]:
    """Merge the changes of the tables. The stack gives their connections back."""
    streams = []
    for kind, table in wanted.items():
        change = table.c[CHANGE_ID]
        is_new = (change > after) & (change <= last)
        if after == 0:
            is_new |= change.is_(None)
        order = (change.nulls_first(), *table.primary_key)
        streams.append(stack.enter_context(closing(_stream(store, kind, table, sites, is_new, order))))
    return merge(*streams, key=lambda row: row[CHANGE_ID] or 0)


def _stream(
    store: Store,
    kind: str,
    table: Table,
    sites: Sequence[str],
    condition: ColumnElement[bool],
    order: Iterable[ColumnElement[object]],
) -> Generator[ExportedRow]:
    names = ("kind", *_columns(table))
    query = select(*(table.c[name] for name in names[1:])).where(condition).order_by(*order)
    if sites:
        query = query.where(table.c.site.in_(sites))
    with closing(store.database.stream(query)) as rows:
        for row in rows:
            yield dict(zip(names, (kind, *row), strict=True))


def _columns(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.name not in _INTERNAL]


def _jsonl() -> tuple[str, Callable[[ExportedRow], str]]:
    dump = json.JSONEncoder(ensure_ascii=False).encode

    def line_of(row: ExportedRow) -> str:
        extra = row["extra"]
        if not isinstance(extra, str):
            return dump(row) + "\n"
        shown = {name: one for name, one in json.loads(extra).items() if one is not None}
        return dump({**row, "extra": shown}) + "\n"

    return "", line_of


def _csv(wanted: dict[str, Table]) -> tuple[str, Callable[[ExportedRow], str]]:
    names = list(dict.fromkeys(["kind", *(name for table in wanted.values() for name in _columns(table))]))
    line = csv.writer(_Echo()).writerow

    def line_of(row: ExportedRow) -> str:
        text: str = line([_safe(row.get(name)) for name in names])
        return text

    header: str = line(names)
    return header, line_of


def _safe(value: Value) -> Value:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


class _Echo:
    """A file for csv.writer that returns the line."""

    def write(self, line: str) -> str:
        return line
