"""`crawl-tasks shelf`: pages whose items could not be read or stored, why, and another try for them."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.frontier.shelf import Shelved


@click.group(epilog=examples("crawl-tasks shelf list", "crawl-tasks shelf retry"))
def command() -> None:
    """List, retry or drop pages whose items no store worker could read or no database took."""


@command.command("list", short_help="Show what was laid aside, and why.", epilog=examples("crawl-tasks shelf list"))
def list_() -> None:
    """Show what was laid aside: when, why, and how the items begin."""
    count = 0
    for count, page in enumerate(open_frontier().shelf.pages(), 1):  # noqa: B007 (it is what is printed at the end)
        click.echo(_line(page))
    click.echo(f"{count} shown; another try: crawl-tasks shelf retry" if count else "nothing was laid aside")


def _line(page: Shelved) -> str:
    at = datetime.fromtimestamp(page.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return printable(f"{at}Z {page.reason}: {page.items[:200].decode(errors='replace')}", most=900)


@command.command(short_help="Have everything stored again.", epilog=examples("crawl-tasks shelf retry"))
def retry() -> None:
    """Have everything stored that was laid aside; what still cannot be comes back."""
    click.echo(f"{_all(back=True)} pages wait for the store again")


@command.command(short_help="Delete everything for good.", epilog=examples("crawl-tasks shelf drop --yes"))
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop(yes: bool) -> None:
    """Delete everything that was laid aside; its pages count as done and are not fetched again unless they change."""
    if not yes:
        click.confirm("Delete the items of all pages that were laid aside?", abort=True)
    click.echo(f"{_all(back=False)} pages are dropped")


def _all(*, back: bool) -> int:
    shelf = open_frontier().shelf
    left = total = shelf.size()  # what comes back meanwhile is left where it is
    while left > 0 and (taken := shelf.take(back=back)):
        left -= taken
    return total - max(0, left)
