"""`crawl-tasks export`: stored posts and comments as JSON Lines, CSV or Parquet."""

from __future__ import annotations

import logging
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Unpack

import click

from crawl_tasks.cli.selection_options import RowChoice, selection_of, selection_options
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import StoreError
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.logs import OutageLog, configure_logs
from crawl_tasks.settings import load_settings
from crawl_tasks.store.change_feed import check_feed, export_changes
from crawl_tasks.store.export import count_rows, export
from crawl_tasks.store.export_tree import export_partitions
from crawl_tasks.store.output_format import FORMATS, OutputFormat, format_of
from crawl_tasks.store.queries import counts
from crawl_tasks.store.selection import ExportKind, RowSelection
from crawl_tasks.store.upsert import Store

log = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 1.0


@click.command(
    epilog=examples(
        "crawl-tasks export                                # JSON Lines on standard output",
        "crawl-tasks export --kind comments --site bikes --board 1 --board 2 --since 7d -o week.parquet",
        "crawl-tasks export -o posts.csv.gz --kind posts --fields post_id,title,author,created_at",
        "crawl-tasks export --partition --format parquet -o rows    # one file per kind, site and day",
        "crawl-tasks export --follow --after 4711 | my-program  # as it is stored",
    )
)
@click.option(
    "-o", "--out", default="-", show_default=True, metavar="FILE", help="File to write. - is standard output."
)
@click.option(
    "--kind", type=click.Choice([kind.value for kind in ExportKind]), default=ExportKind.ALL.value, show_default=True
)
@click.option(
    "--format",
    "form",
    type=click.Choice([form.name for form in FORMATS]),
    help="Format. The default is that of FILE's ending.",
)
@selection_options
@click.option("--fields", metavar="NAME,NAME", help="Write only these columns, in this order.")
@click.option("--versions", is_flag=True, help="Also write former titles, bodies and states of these rows.")
@click.option("--partition", is_flag=True, help="FILE is a directory. Write one file per kind, site and day.")
@click.option("--resume", is_flag=True, help="With --partition: leave existing files as they are.")
@click.option("--after", type=click.IntRange(0), metavar="CHANGE", help="Write only what changed after this change_id.")
@click.option("--follow", is_flag=True, help="Continue until Ctrl-C with what is stored later.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def command(
    *, out: str, kind: str, form: str | None, fields: str | None, versions: bool, partition: bool, resume: bool, after:
    int | None, follow: bool, force: bool, **choice: Unpack[RowChoice],
) -> None:  # fmt: skip
    """Write posts and comments as JSON Lines, CSV or Parquet, streamed. FILE appears when it is whole.

    FILE ends in .jsonl, .csv or .parquet, the first two also with .gz or .zst behind. It may be an address, such as
    s3://bucket/rows.parquet (pip install 'crawl-tasks[files]', and s3fs). A row's time is when it was written, and
    where the forum shows none, when it was first seen.

    --after and --follow write each post and comment once, as it is now, in the order of the last changes. Each change
    has a change_id, and rows that were stored together share one. A change_id is complete once a higher one appears.
    Resume after the last complete one and you miss nothing.
    """
    is_feed = after is not None or follow
    _check_options(out, is_feed=is_feed, follow=follow, partition=partition, versions=versions)
    if resume and (not partition or force):
        raise click.UsageError("--resume goes with --partition, and without --force")
    written_as = format_of(f"rows.{form}" if form else "" if partition else out)
    if out == "-" and not written_as.is_text and sys.stdout.isatty():
        raise click.UsageError(f"{written_as.name} is not for a terminal: name a file with -o, or pipe it")
    names = tuple(name.strip() for name in (fields or "").split(",") if name.strip())
    selection = replace(selection_of(choice), kind=ExportKind(kind), fields=names, has_versions=versions)
    if is_feed:
        check_feed(selection)
    selection.sources()  # for its errors, before the database
    settings = load_settings()
    configure_logs(settings.log_format)
    # A signal within a query is no error of the connection, for which SQLAlchemy takes it.
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
    # TERM ends it as Ctrl-C does, so that no part of a file is left.
    with Interrupts(), Store(settings.database_url).open(create=False) as store:
        if is_feed:
            _export_feed(store, out, selection, written_as, after=after or 0, follow=follow, force=force)
            return
        with _progress(store, out, selection) as note:
            if partition:
                rows = export_partitions(store, out, selection, written_as, overwrite=force, resume=resume, note=note)
            else:
                rows = export(store, out, selection, written_as, overwrite=force, note=note)
        if choice["sites"] and not rows:
            _tell_nothing(store, choice["sites"])
    if out != "-":
        click.echo(f"{rows} rows in {out}", err=True)


def _tell_nothing(store: Store, sites: tuple[str, ...]) -> None:
    known = ", ".join(sorted(count.site for count in counts(store))) or "none"
    click.echo(f"nothing of that is stored of site {', '.join(sites)}; sites with posts: {known}", err=True)


@contextmanager
def _progress(store: Store, out: str, selection: RowSelection) -> Iterator[Callable[[int], object]]:
    """Show rows, share and remaining time on a terminal that the rows themselves do not go to."""
    if not sys.stderr.isatty() or (out == "-" and sys.stdout.isatty()):
        yield lambda _: None
        return
    with click.progressbar(length=count_rows(store, selection), label="rows", show_pos=True, file=sys.stderr) as bar:
        yield bar.update


def _check_options(out: str, *, is_feed: bool, follow: bool, partition: bool, versions: bool) -> None:
    """Raise UsageError for options that do not go together."""
    if follow and out != "-":
        raise click.UsageError("--follow writes to standard output: crawl-tasks export --follow > FILE")
    if is_feed and (partition or versions):
        raise click.UsageError("--after and --follow write one file, of rows as they are now")
    if partition and out == "-":
        raise click.UsageError("--partition writes to a directory: -o DIRECTORY")


def _export_feed(
    store: Store, out: str, selection: RowSelection, form: OutputFormat, *, after: int, follow: bool, force: bool
) -> None:
    """Write the change feed."""
    pause = _Pause(follow=follow)
    last = export_changes(
        store, out, selection, form, after=after, goes_on=pause.goes_on, outlasts=pause.outlasts, overwrite=force
    )
    # --follow ends by Ctrl-C, or because the reader has closed the pipe: nobody is there to read a sum.
    if not follow:
        click.echo(f"up to change {last}", err=True)


class _Pause:
    """The pauses of --follow: between two queries, and while the database is away, which is logged."""

    def __init__(self, *, follow: bool) -> None:
        self._is_endless = follow
        self._output = select.poll()
        if follow:
            self._output.register(sys.stdout.fileno(), 0)
        self._outage = OutageLog(log, "the database cannot be read; the feed goes on when it answers")

    def goes_on(self) -> bool:
        """Return whether to make another query, after a pause."""
        self._outage.end()
        return self._pause()

    def outlasts(self, error: StoreError) -> bool:
        """Return whether to make a failed query again, after a pause."""
        if self._is_endless:
            self._outage.fail(error)
        return self._pause()

    def _pause(self) -> bool:
        """Wait. Return whether to go on: for ever, and until the reader of standard output has gone away."""
        if not self._is_endless:
            return False
        events = self._output.poll(LOOK_EVERY_S * 1000)
        return not any(happened & (select.POLLERR | select.POLLHUP) for _, happened in events)
