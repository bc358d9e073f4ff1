"""After the flow: what is stored leaves as JSONL or CSV, whole or what changed, streamed: a table of any size fits.

A file gets its name only when it is whole. Nothing in a CSV can be taken for a formula.
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

from crawl_tasks.store.output import opened
from crawl_tasks.store.records import Value
from crawl_tasks.store.tables import CHANGE_ID, comments, posts
from crawl_tasks.store.upsert import Store

ExportedRow = dict[str, Value]

_INTERNAL: Final = frozenset({"stamps"})
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run what begins so


class Kind(StrEnum):
    """What to export."""

    POSTS = "posts"
    COMMENTS = "comments"
    ALL = "all"


class Format(StrEnum):
    """How to write it."""

    JSONL = "jsonl"
    CSV = "csv"


_TABLES: Final[dict[Kind, dict[str, Table]]] = {
    Kind.POSTS: {"post": posts},
    Kind.COMMENTS: {"comment": comments},
    Kind.ALL: {"post": posts, "comment": comments},
}


def export(
    store: Store,
    out: str,
    kind: Kind | str = Kind.ALL,
    format: Format | str = Format.JSONL,
    site: str | None = None,
    *,
    sites: Sequence[str] = (),
    known: Set[int] = frozenset(),
    overwrite: bool = True,
) -> int:
    """Write what is stored to a file, or to stdout when `out` is "-", and return the number of rows written.

    Posts come before comments, each in the order of their keys. JSONL has one object per line, with its "kind";
    CSV has a header, and a cell that a spreadsheet would take for a formula begins with an apostrophe.
    A reader that closes the pipe ends the export quietly.

    Args:
        store: what is exported.
        out: a file, or "-".
        kind: posts, comments or all.
        format: JSONL or CSV.
        site: only this one.
        sites: only these, if any are given.
        known: fingerprints of rows that are left out while they are as they were.
        overwrite: replace the file if it exists.

    Raises:
        ConfigError: `out` cannot be written there, or exists and `overwrite` is not set.
        CrawlError: the disk filled up; the file of that name, if there was one, is as before.
        StoreError: the database cannot be read.
    """
    wanted = _TABLES[Kind(kind)]
    header, line_of = _jsonl() if Format(format) is Format.JSONL else _csv(wanted)
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
    kind: Kind | str = Kind.ALL,
    format: Format | str = Format.JSONL,
    site: str | None = None,
    *,
    after: int = 0,
    goes_on: Callable[[], bool] = lambda: False,
    overwrite: bool = True,
) -> int:
    """Write what became another text or state since a change, in the order of the commits; return the last change.

    Each row stands once, as it is now, with the `change_id` of its last change. Rows of one transaction share it: a
    reader has finished with a change when a row of a later one comes, or the look ends. Whoever goes on from the last
    change it has finished with misses none, and sees at most the rows of the change after it again. All up to the
    change that is returned were written. Rows that a version without changes stored come first, and only from 0.

    Args:
        store: what is exported.
        out: a file, or "-".
        kind: posts, comments or all.
        format: JSONL or CSV.
        site: only this one.
        after: the last change that the reader knows.
        goes_on: asked after each look, when all it found was handed on; true for another one.
        overwrite: replace the file if it exists.

    Raises:
        ConfigError: `out` cannot be written there, or exists and `overwrite` is not set.
        CrawlError: the disk filled up.
        StoreError: the database cannot be read.
    """
    wanted = _TABLES[Kind(kind)]
    header, line_of = _jsonl() if Format(format) is Format.JSONL else _csv(wanted)
    with opened(out, overwrite=overwrite) as file:
        file.write(header)
        while True:
            last = store.last_change()
            with ExitStack() as stack:
                for row in _changes(store, wanted, [site] if site else (), after, last, stack):
                    file.write(line_of(row))
            file.flush()
            after = max(after, last)
            if not goes_on():
                break
    return after


def fingerprints(store: Store, sites: Sequence[str]) -> frozenset[int]:
    """Note every post and comment of some sites with its text, in some 100 bytes of memory each."""
    with closing(_rows(store, _TABLES[Kind.ALL], sites)) as rows:
        return frozenset(map(_fingerprint, rows))


def _fingerprint(row: ExportedRow) -> int:
    # A post of a list is another row once its page was fetched.
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
    """Merge the changes of the tables; the stack gives their connections back."""
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
    """A file for csv.writer that hands the line back."""

    def write(self, line: str) -> str:
        return line
