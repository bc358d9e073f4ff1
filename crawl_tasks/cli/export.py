"""`crawl-tasks export`: stored posts and comments as JSON Lines or CSV."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Final

import click

from crawl_tasks.cli.help_text import examples
from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.logs import OutageLog, configure_logs
from crawl_tasks.settings import load_settings
from crawl_tasks.store.export import ExportFormat, ExportKind, export, export_changes
from crawl_tasks.store.queries import counts
from crawl_tasks.store.upsert import Store

log = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 1.0
_FORMATS: Final = {
    ".csv": ExportFormat.CSV,
    ".jsonl": ExportFormat.JSONL,
    ".ndjson": ExportFormat.JSONL,
    "": ExportFormat.JSONL,
}


@click.command(
    epilog=examples(
        "crawl-tasks export                                # JSON Lines on standard output",
        "crawl-tasks export -o posts.csv --kind posts --site demo",
        "crawl-tasks export --kind comments | head -3",
        "crawl-tasks export --follow --after 4711 | my-program  # as it is stored",
    )
)
@click.option("-o", "--out", default="-", show_default=True, metavar="FILE", help="Where to; - is standard output.")
@click.option(
    "--kind", type=click.Choice([kind.value for kind in ExportKind]), default=ExportKind.ALL.value, show_default=True
)
@click.option(
    "--format", "form", type=click.Choice([form.value for form in ExportFormat]), help="Else as FILE's name ends."
)
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--after", type=click.IntRange(0), metavar="CHANGE", help="Only what changed after this change_id.")
@click.option("--follow", is_flag=True, help="Go on until Ctrl-C with what is stored from then on.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def command(
    out: str, kind: str, form: str | None, site: str | None, after: int | None, follow: bool, force: bool
) -> None:
    """Write posts and comments as JSON Lines or CSV, streamed. FILE appears when it is whole.

    With --after or --follow each post and comment is written once, as it is now, in the order of the last changes. The
    number of a change is the change_id. Rows that were stored together share one: a change is finished when a greater
    one comes. Go on after the last finished one, and none is missed.
    """
    if follow and out != "-":
        raise click.UsageError("--follow writes to standard output: crawl-tasks export --follow > FILE")
    written_as = form or format_of(out)
    settings = load_settings()
    configure_logs(settings.log_format)
    with Store(settings.database_url).open(create=False) as store:
        if after is not None or follow:
            feed = _Feed(follow=follow)
            last = export_changes(
                store,
                out,
                kind,
                written_as,
                site,
                after=after or 0,
                goes_on=feed.goes_on,
                outlasts=feed.outlasts,
                overwrite=force,
            )
            # --follow ends by Ctrl-C, or because the reader has closed the pipe: nobody is there to read a sum.
            if not follow:
                click.echo(f"up to change {last}", err=True)
            return
        rows = export(store, out, kind, written_as, site, overwrite=force)
        if site is not None and not rows:
            there = ", ".join(sorted(count.site for count in counts(store))) or "none"
            click.echo(f"nothing of that is stored of site {site!r}; sites with posts: {there}", err=True)
    if out != "-":
        click.echo(f"{rows} rows in {out}", err=True)


class _Feed:
    """The pauses of --follow: between two queries, and while the database is away, which is logged."""

    def __init__(self, *, follow: bool) -> None:
        self._is_endless = follow
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
        if self._is_endless:
            time.sleep(LOOK_EVERY_S)
        return self._is_endless


def format_of(out: str) -> ExportFormat:
    """Return the format by the name of a file: CSV for .csv, JSON Lines for .jsonl, .ndjson or no ending.

    Raises:
        ConfigError: the name ends as a file of another format.
    """
    suffix = Path(out).suffix.lower()
    if suffix not in _FORMATS:
        raise ConfigError(
            f"{out[:200]}: {suffix} is no format of an export; name a file .jsonl or .csv, or export with --format"
        )
    return _FORMATS[suffix]
