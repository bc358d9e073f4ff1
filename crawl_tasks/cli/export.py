"""`crawl-tasks export`: what is stored, as JSON Lines or CSV."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import click

from crawl_tasks.cli.helptext import examples
from crawl_tasks.settings import load_settings
from crawl_tasks.store.export import Format, Kind, export, export_changes
from crawl_tasks.store.known import counts
from crawl_tasks.store.upsert import Store

LOOK_EVERY_S: Final = 1.0


@click.command(
    epilog=examples(
        "crawl-tasks export                                # JSON Lines on standard output",
        "crawl-tasks export -o posts.csv --kind posts --site demo",
        "crawl-tasks export --kind comments | head -3",
        "crawl-tasks export --follow --after 4711 | my-program  # as it is stored",
    )
)
@click.option("-o", "--out", default="-", show_default=True, metavar="FILE", help="Where to; - is standard output.")
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]), default=Kind.ALL.value, show_default=True)
@click.option("--format", "form", type=click.Choice([form.value for form in Format]), help="Else as FILE's name ends.")
@click.option("--site", metavar="NAME", help="Only this site.")
@click.option("--after", type=click.IntRange(0), metavar="CHANGE", help="Only what changed after this change_id.")
@click.option("--follow", is_flag=True, help="Go on until Ctrl-C with what is stored from then on.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def command(
    out: str, kind: str, form: str | None, site: str | None, after: int | None, follow: bool, force: bool
) -> None:
    """Write posts and comments as JSON Lines or CSV, streamed; FILE appears when it is whole.

    With --after or --follow each post and comment is written once, as it is now, in the order of its last change, whose
    number is its change_id. What was stored together shares it: a change is finished when a greater one comes. Go on
    after the last finished one, and none is missed.
    """
    if follow and out != "-":
        raise click.UsageError("--follow writes to standard output: crawl-tasks export --follow > FILE")
    with Store(load_settings().database_url).open(create=False) as store:
        if after is not None or follow:
            last = export_changes(
                store,
                out,
                kind,
                form or format_of(out),
                site,
                after=after or 0,
                goes_on=_once_more(follow),
                overwrite=force,
            )
            if not follow:  # it ends by Ctrl-C, or because its reader has had enough
                click.echo(f"up to change {last}", err=True)
            return
        rows = export(store, out, kind, form or format_of(out), site, overwrite=force)
        if site is not None and not rows:
            there = ", ".join(sorted(count.site for count in counts(store))) or "none"
            click.echo(f"nothing of that is stored of site {site!r}; sites with posts: {there}", err=True)
    if out != "-":
        click.echo(f"{rows} rows in {out}", err=True)


def _once_more(follow: bool) -> Callable[[], bool]:
    def wait() -> bool:
        time.sleep(LOOK_EVERY_S)
        return True

    return wait if follow else lambda: False


def format_of(out: str) -> Format:
    """Read the format from a file's name; JSON Lines unless it says CSV."""
    return Format.CSV if out.lower().endswith(".csv") else Format.JSONL
