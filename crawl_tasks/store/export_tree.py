"""The partitioned export: a directory with a file for each kind, site and day of UTC.

A file has a name such as `kind=comment/site=demo/day=2026-01-31/rows.parquet`. These are Hive partitions: DuckDB,
pandas and Spark read the directories as columns, so the files hold neither kind nor site. All files are of one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, cast
from urllib.parse import quote

from sqlalchemy import Connection, case

from crawl_tasks.errors import ConfigError
from crawl_tasks.store.atomic_file import find_files, is_address, is_written, remove_file
from crawl_tasks.store.export import EVERYTHING, JSON_LINES, stream, writing
from crawl_tasks.store.output_format import OutputFormat
from crawl_tasks.store.row_writers import moment_of
from crawl_tasks.store.rows import Row
from crawl_tasks.store.selection import EARLIEST_S, LATEST_S, RowSelection, Source
from crawl_tasks.store.upsert import Store

_NO_DAY: Final = "__HIVE_DEFAULT_PARTITION__"
"""The name that Hive gives to a NULL: the day of rows whose time no calendar has."""


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

    The days are those of UTC, and always whole: `since` and `until` are widened to the begin and the end of a day.

    Args:
        store: the database.
        directory: a path or an address, made if it is missing.
        selection: the rows and columns.
        form: format and compression.
        overwrite: replace existing files, and remove those of the chosen kinds, sites and days that have no rows any
            more.
        resume: leave existing files as they are, and write the missing ones.
        note: is told of the rows of each file.

    Raises:
        ConfigError: as for `export`, of the first file that exists.
        CrawlError: the disk filled up. All files are whole.
        StoreError: the database cannot be read.
    """
    selection = selection.whole_days()
    sources = [source.without("kind", "site") for source in selection.sources()]
    written = 0
    made: set[str] = set()
    with store.database.reading(is_snapshot=True) as connection:
        # Versions of posts and of comments are one kind, and share their files.
        for kind, group in groupby(sources, key=lambda source: source.kind):
            of_kind = list(group)
            for (site, day), rows in groupby(_by_day(connection, of_kind), key=itemgetter(0)):
                place = f"{directory}/kind={kind}/site={quote(site, safe='')}/day={day}"
                file, before = f"{place}/rows.{form.name}", written
                made.add(_partition_of(file))
                if resume and is_written(file):
                    continue
                if not is_address(file):
                    _make_directory(Path(place))
                with writing(file, form, of_kind, overwrite=overwrite) as (writer, _):
                    for _, source, row in rows:
                        writer.write(source, row)
                        written += 1
                note(written - before)
    if overwrite:
        files = _chosen_files(directory, selection, {source.kind for source in sources}, f"rows.{form.name}")
        _remove_others(files, made)
    return written


def _remove_others(files: Iterable[str], made: Container[str]) -> None:
    """Remove the files of partitions that were not made."""
    for file in files:
        if _partition_of(file) not in made:
            remove_file(file)


def _partition_of(file: str) -> str:
    """Return a file's directories of kind, site and day. The same file may be spelt in several ways before them."""
    return "/".join(file.split("/")[-4:-1])


def _by_day(connection: Connection, sources: Sequence[Source]) -> Iterator[tuple[tuple[str, str], Source, Row]]:
    """Yield the rows of sources of one kind by site and time, each with its site and day."""
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(_timed(connection, source))) for source in sources]
        for (site, moment), source, row in merge(*streams, key=itemgetter(0)):
            day = moment_of(moment)
            yield (site, _NO_DAY if day is None else day.date().isoformat()), source, row


def _timed(connection: Connection, source: Source) -> Generator[tuple[tuple[str, float], Source, Row]]:
    """Yield the rows of a source with site and time. All times that no calendar has are one, for they share a file."""
    moment = case((source.moment.between(EARLIEST_S, LATEST_S), source.moment), else_=LATEST_S + 1)
    query = source.query(source.site, moment).order_by(source.site, moment, *source.order)
    for row, (site, at) in stream(connection, query, source):
        yield (str(site), float(cast("float", at))), source, row


def _chosen_files(directory: str, selection: RowSelection, kinds: set[str], name: str) -> Iterator[str]:
    """Yield the files of this name that the partitions of some kinds, and of the chosen sites and days, have."""
    sites = {f"site={quote(site, safe='')}" for site in selection.sites}
    first, end = (None if at is None else _day_of(at) for at in (selection.since, selection.until))
    for kind in sorted(kinds):
        for file in find_files(f"{directory}/kind={kind}", name):
            site, day = file.split("/")[-3:-1]
            day = day.removeprefix("day=")
            is_whole = first is None and end is None
            is_day = day != _NO_DAY and (first is None or first <= day) and (end is None or day < end)
            if (not sites or site in sites) and (is_whole or is_day):
                yield file


def _day_of(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"export: {directory}: {error.strerror}; name a directory that you may write to") from error
