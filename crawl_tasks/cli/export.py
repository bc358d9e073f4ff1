"""`crawl-tasks export`: what is stored, as JSON Lines or CSV."""

from __future__ import annotations

import click

from crawl_tasks.cli.helptext import examples
from crawl_tasks.settings import load_settings
from crawl_tasks.store.export import Format, Kind, export
from crawl_tasks.store.upsert import Store


@click.command(
    epilog=examples(
        "crawl-tasks export                                # JSON Lines on standard output",
        "crawl-tasks export -o posts.csv --kind posts --site demo",
        "crawl-tasks export --kind comments | head -3",
    )
)
@click.option("-o", "--out", default="-", show_default=True, metavar="FILE", help="Where to; - is standard output.")
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]), default=Kind.ALL.value, show_default=True)
@click.option("--format", "form", type=click.Choice([form.value for form in Format]), help="Else as FILE's name ends.")
@click.option("--site", help="Only this site.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def command(out: str, kind: str, form: str | None, site: str | None, force: bool) -> None:
    """Write posts and comments as JSON Lines or CSV, streamed; FILE appears when it is whole."""
    with Store(load_settings().database_url).open(create=False) as store:
        rows = export(store, out, kind, form or format_of(out), site, overwrite=force)
    if out != "-":
        click.echo(f"{rows} rows in {out}", err=True)


def format_of(out: str) -> Format:
    """Read the format from a file's name; JSON Lines unless it says CSV."""
    return Format.CSV if out.lower().endswith(".csv") else Format.JSONL
