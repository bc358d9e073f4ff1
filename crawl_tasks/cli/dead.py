"""`crawl-tasks dead`: what was given up (dead) or parked, why, and another try for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import click

from crawl_tasks.cli.backend import chosen_sites, open_frontier
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.graves import Grave
from crawl_tasks.model import Stage, State
from crawl_tasks.monitor.advice import counted

_STATES = click.Choice([State.DEAD.value, State.PARKED.value])
_STAGES = click.Choice([stage.value for stage in Stage])
_REVIVED_AT_ONCE = 1000


@click.group(epilog=examples("crawl-tasks dead list", "crawl-tasks dead retry demo --reason unreachable"))
def command() -> None:
    """List, retry or drop requests that were given up (dead) or that wait for a mended rule (parked)."""


@command.command(
    "list",
    short_help="Show what was given up or parked, and why.",
    epilog=examples("crawl-tasks dead list", "crawl-tasks dead list demo --state parked --json"),
)
@click.argument("sites", nargs=-1)
@click.option("--state", type=_STATES, help="Only these; else both.")
@click.option("--parked", is_flag=True, help="The same as --state parked.")
@click.option("--reason", metavar="NAME", help="Only those given up for this reason.")
@click.option("--stage", type=_STAGES, help="Only these.")
@click.option(
    "--most", metavar="N", type=click.IntRange(1, 1_000_000), default=100, show_default=True, help="Lines at most."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_(
    sites: tuple[str, ...],
    *,
    state: str | None,
    parked: bool,
    reason: str | None,
    stage: str | None,
    most: int,
    as_json: bool,
) -> None:
    """Show what was given up in SITES, or in all: its number, when, why, after how many attempts."""
    frontier = open_frontier()
    states = [State.PARKED] if parked else [State(state)] if state else [State.DEAD, State.PARKED]
    graves = (
        grave
        for grave in _graves(frontier, chosen_sites(frontier, sites), states)
        if reason in (None, grave.reason) and stage in (None, grave.request.stage.value)
    )
    count = 0
    for grave in islice(graves, most):
        count += 1
        click.echo(json.dumps(grave_row(grave), ensure_ascii=False) if as_json else grave_line(grave))
    if not as_json:
        click.echo(f"{count} shown; another try: crawl-tasks dead retry SITE" if count else "nothing was given up")


def _graves(frontier: Frontier, sites: list[str], states: list[State]) -> Iterator[Grave]:
    for site in sites:
        for state in states:
            yield from frontier.graves.read(site, state)


def grave_line(grave: Grave) -> str:
    """Write a request that was given up as one line."""
    at = datetime.fromtimestamp(grave.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    why = f"{grave.reason} {grave.details}".strip()
    address = f"{grave.request.site} {grave.request.stage.value} {grave.request.address}"
    tried = counted(grave.attempts, "attempt")
    return printable(f"{grave.rid:>8} {at}Z {grave.state.value} {address} after {tried}: {why}", most=900)


def grave_row(grave: Grave) -> dict[str, str | int]:
    """Give a request that was given up for JSON."""
    request = grave.request
    return {
        "number": grave.rid,
        "site": request.site,
        "state": grave.state.value,
        "stage": request.stage.value,
        "key": request.key,
        "page": request.page,
        "address": request.address,
        "at_ms": grave.at_ms,
        "attempts": grave.attempts,
        "reason": grave.reason,
        "details": grave.details,
    }


@command.command(
    short_help="Show all that is known of one request.", epilog=examples("crawl-tasks dead show demo 4711")
)
@click.argument("site")
@click.argument("number", type=int)
def show(site: str, number: int) -> None:
    """Show all that is known of one request of SITE; its NUMBER is what `dead list` begins with."""
    frontier = open_frontier()
    for grave in _graves(frontier, chosen_sites(frontier, (site,)), [State.DEAD, State.PARKED]):
        if grave.rid == number:
            for name, value in grave_row(grave).items():
                click.echo(f"{name:<9} {printable(str(value), most=10_000)}")
            return
    raise ConfigError(f"{site} has given up no request of number {number}; see: crawl-tasks dead list {site}")


@command.command(
    short_help="Make requests ready again.",
    epilog=examples("crawl-tasks dead retry demo", "crawl-tasks dead retry demo --state parked"),
)
@click.argument("site")
@click.option("--state", type=_STATES, default=State.DEAD.value, show_default=True, help="Which ones.")
@click.option("--parked", is_flag=True, help="The same as --state parked.")
@click.option(
    "--reason", metavar="NAME", default="", help="Only those given up for this reason, as `dead list` shows it."
)
@click.option("--stage", type=_STAGES, help="Only these.")
def retry(site: str, *, state: str, parked: bool, reason: str, stage: str | None) -> None:
    """Make what SITE gave up ready again, with its attempts forgotten; the site's pace holds for it as for all."""
    frontier = open_frontier()
    wanted, total = State.PARKED if parked else State(state), 0
    while revived := frontier.graves.revive(site, wanted, reason, Stage(stage) if stage else None, _REVIVED_AT_ONCE):
        total += revived
    click.echo(f"{counted(total, 'request')} of {site} {'is' if total == 1 else 'are'} ready again")


@command.command(
    short_help="Let go of requests for good.",
    epilog=examples("crawl-tasks dead drop demo --reason too_large", "crawl-tasks dead drop demo --yes"),
)
@click.argument("site")
@click.option("--state", type=_STATES, default=State.DEAD.value, show_default=True, help="Which ones.")
@click.option(
    "--reason", metavar="NAME", default="", help="Only those given up for this reason, as `dead list` shows it."
)
@click.option("--stage", type=_STAGES, help="Only these.")
@click.option("--parked", is_flag=True, help="The same as --state parked.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop(site: str, *, state: str, reason: str, stage: str | None, parked: bool, yes: bool) -> None:
    """Let go of what SITE gave up, for good: it counts as done and is not fetched unless its page changes."""
    frontier = open_frontier()
    state = State.PARKED.value if parked else state
    if not yes:
        click.confirm(f"Drop the {state} requests of {site}{f' for {reason}' if reason else ''}?", abort=True)
    total = 0
    while dropped := frontier.graves.drop(
        site, State(state), reason, Stage(stage) if stage else None, _REVIVED_AT_ONCE
    ):
        total += dropped
    click.echo(f"{counted(total, 'request')} of {site} {'is' if total == 1 else 'are'} dropped")
