"""`crawl-tasks status`: the state of sites, once or as a live screen, by site or as a sorted table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice

import click
from rich.console import Console
from rich.live import Live

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.terminal import echo_json, examples
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.monitor.cell_snapshots import snapshot_cells
from crawl_tasks.monitor.output_language import gettext, use_language
from crawl_tasks.monitor.progress import Progress, plain_text
from crawl_tasks.monitor.report import snapshot_row
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.monitor.top import COLUMNS, recent, top_table
from crawl_tasks.operate.connection import name_standing
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.settings import Settings, load_settings


@click.command(
    epilog=examples(
        "crawl-tasks status",
        "crawl-tasks status --watch",
        "crawl-tasks status --watch --sort late --most 10     # where boards are late, and what each site needs",
        "crawl-tasks status demo --json | jq .sites",
    )
)
@click.argument("sites", nargs=-1)
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C.")
@click.option(
    "--sort", metavar="COLUMN", type=click.Choice(list(COLUMNS)),
    help=f"Show one line per site with rates of the last minute, sorted by COLUMN: {', '.join(COLUMNS)}.",
)  # fmt: skip
@click.option("--most", metavar="N", type=click.IntRange(1, 10_000), default=30, show_default=True,
              help="With --sort: show at most N sites.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON. With --watch print one line per reading.")
@click.option("--every", "every_s", metavar="SECONDS", type=click.FloatRange(0.2, 3600), default=1.0, show_default=True,
              help="Time between two readings.")  # fmt: skip
def command(sites: tuple[str, ...], *, watch: bool, sort: str | None, most: int, as_json: bool, every_s: float) -> None:
    """Show the open, done and failed requests of SITES, or of all, with their boards, the queues and the outbox.

    --sort shows one line per site, the greatest first, with its remedy. The rates need two readings.
    """
    if sort and as_json:
        raise click.UsageError("--sort is for people; sort --json with jq")
    settings = load_settings()
    use_language(settings.language)
    cells = open_cells(settings, stays=watch)
    # Only for its error: a misspelt site ends the command with the names of the published ones.
    chosen_sites(cells, sites)
    snapshots = _snapshots(settings, cells, sites, every_s)
    if sort:
        _show_table(snapshots, sort, most, is_followed=watch)
    elif watch and not as_json:
        with Progress(gettext("status"), is_onlooker=True) as progress:
            for snapshot in snapshots:
                progress.show(snapshot)
    else:
        for snapshot in snapshots if watch else islice(snapshots, 1):
            if as_json:
                echo_json(snapshot_row(snapshot))
            else:
                click.echo(plain_text(snapshot))


def _snapshots(settings: Settings, cells: Cells, sites: tuple[str, ...], every_s: float) -> Iterator[Snapshot]:
    """Yield a snapshot every `every_s` seconds, of the named sites or of all, including newly published ones."""
    while True:
        # A named site may move to another cell meanwhile.
        yield name_standing(settings, snapshot_cells(cells, chosen_sites(cells, sites) if sites else None))
        time.sleep(every_s)


def _show_table(snapshots: Iterator[Snapshot], sort: str, most: int, *, is_followed: bool) -> None:
    history, console = recent(), Console()
    # Rates are differences, so a single table takes two snapshots.
    if not is_followed:
        for snapshot in islice(snapshots, 2):
            history.note(snapshot)
        console.print(top_table(snapshot, history, most, console.width, sort))
        return
    # Of a live screen nothing is written to a pipe or a file before its end, which never comes.
    with Live(console=console, auto_refresh=False, screen=True) if console.is_terminal else nullcontext() as live:
        for snapshot in snapshots:
            history.note(snapshot)
            table = top_table(snapshot, history, most, console.width, sort)
            if live is None:
                console.print(table)
            else:
                live.update(table, refresh=True)
