"""`crawl-tasks top`: the busiest sites, followed until Ctrl-C."""

from __future__ import annotations

import time

import click
from rich.console import Console
from rich.live import Live

from crawl_tasks.cli.backend import chosen_sites, open_frontier
from crawl_tasks.cli.helptext import examples
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.monitor.top import recent, top_table


@click.command(epilog=examples("crawl-tasks top", "crawl-tasks top --most 10 --every 5", "crawl-tasks top --looks 2"))
@click.argument("sites", nargs=-1)
@click.option(
    "--most", metavar="N", type=click.IntRange(1, 10_000), default=30, show_default=True, help="Sites to show."
)
@click.option(
    "--every",
    "every_s",
    metavar="SECONDS",
    type=click.FloatRange(0.2, 3600),
    default=2.0,
    show_default=True,
    help="Time between two looks.",
)
@click.option("--looks", metavar="N", type=click.IntRange(1), help="End after so many looks, and print the last.")
def command(sites: tuple[str, ...], most: int, every_s: float, looks: int | None) -> None:
    """Show SITES, or all, the busiest first: rates of the last minute, what is open and late, what to do."""
    frontier = open_frontier()
    names = chosen_sites(frontier, sites) if sites else []
    history, console = recent(), Console()
    if looks is not None:
        for look in range(looks):
            time.sleep(every_s if look else 0)
            history.note(snapshot := take_snapshot(frontier, names))
        console.print(top_table(snapshot, history, most, console.width))
        return
    with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
        while True:
            history.note(snapshot := take_snapshot(frontier, names))
            live.update(top_table(snapshot, history, most, console.width), refresh=True)
            time.sleep(every_s)
