"""`crawl-tasks status`: one look, or a screen that follows."""

from __future__ import annotations

import json
import time

import click

from crawl_tasks.cli.backend import chosen_sites, open_frontier
from crawl_tasks.cli.helptext import examples
from crawl_tasks.monitor.progress import Progress, plain_text
from crawl_tasks.monitor.report import snapshot_row
from crawl_tasks.monitor.snapshot import take_snapshot


@click.command(
    epilog=examples("crawl-tasks status", "crawl-tasks status --watch", "crawl-tasks status demo --json | jq .sites")
)
@click.argument("sites", nargs=-1)
@click.option("--watch", is_flag=True, help="Follow until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --watch one line a look.")
@click.option(
    "--every",
    "every_s",
    metavar="SECONDS",
    type=click.FloatRange(0.2, 3600),
    default=1.0,
    show_default=True,
    help="Time between two looks.",
)
def command(sites: tuple[str, ...], watch: bool, as_json: bool, every_s: float) -> None:
    """Show what SITES, or all, have open, done and failed; their boards; the queues and the outbox."""
    frontier = open_frontier()
    names = chosen_sites(frontier, sites)
    if watch and not as_json:
        with Progress("status", is_onlooker=True) as progress:
            while True:
                progress.show(take_snapshot(frontier, names))
                time.sleep(every_s)
    while True:
        snapshot = take_snapshot(frontier, names)
        click.echo(json.dumps(snapshot_row(snapshot), ensure_ascii=False) if as_json else plain_text(snapshot))
        if not watch:
            return
        time.sleep(every_s)
