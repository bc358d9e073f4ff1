"""`crawl-tasks ledger`: the books must balance, counted from the structures themselves."""

from __future__ import annotations

import json

import click

from crawl_tasks.cli.backend import chosen_sites, open_frontier
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.helptext import examples
from crawl_tasks.frontier.census import Census


@click.command(epilog=examples("crawl-tasks ledger", "crawl-tasks ledger demo --json"))
@click.argument("sites", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, sites: tuple[str, ...], as_json: bool) -> None:
    """Check that admitted = ready + released + leased + delayed + parked + dead + done, for SITES or all.

    Each site is counted at one instant, while the crawl goes on. Exit code 1 when a ledger does not balance.
    """
    frontier = open_frontier()
    books = [frontier.census(name) for name in chosen_sites(frontier, sites)]
    if as_json:
        click.echo(json.dumps([ledger_row(census) for census in books], ensure_ascii=False))
    else:
        for census in books:
            click.echo(ledger_line(census))
    if not all(census.is_balanced for census in books):
        ctx.exit(Exit.FAILURES)


def ledger_line(census: Census) -> str:
    """Write the balance of a site as one line."""
    if not census.is_balanced:
        return (
            f"{census.imbalance()}: DOES NOT BALANCE; please report this with the output of: crawl-tasks status --json"
        )
    return (
        f"{census.site}: admitted {census.admitted} = ready {census.ready} + released {census.released}"
        f" + leased {census.leased} + delayed {census.delayed} + parked {census.parked} + dead {census.dead}"
        f" + done {census.done}: balances"
    )


def ledger_row(census: Census) -> dict[str, str | int | bool]:
    """Give the balance of a site for JSON."""
    return {
        "site": census.site,
        "admitted": census.admitted,
        "ready": census.ready,
        "released": census.released,
        "leased": census.leased,
        "delayed": census.delayed,
        "parked": census.parked,
        "dead": census.dead,
        "done": census.done,
        "balances": census.is_balanced,
        "imbalance": census.imbalance(),
    }
