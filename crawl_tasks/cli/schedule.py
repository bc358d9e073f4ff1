"""`crawl-tasks schedule`: when boards are scanned; another interval, a scan now or none, while the crawl goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

import click

from crawl_tasks.cli.backend import chosen_sites, open_frontier
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.gauges import BoardState
from crawl_tasks.frontier.timetable import Act
from crawl_tasks.monitor.advice import duration
from crawl_tasks.monitor.report import board_row

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
LEAST_S, MOST_S = 1.0, 31_536_000.0


class Duration(click.ParamType[float]):
    """Seconds, or a number with s, m, h or d."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a duration in seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is no duration; write 90, 90s, 5m, 2h or 1d", param, ctx)
        seconds = float(found[1]) * _UNITS[found[2]]
        if not LEAST_S <= seconds <= MOST_S:
            self.fail(f"{value!r} is not between a second and a year", param, ctx)
        return seconds


@click.group(
    epilog=examples(
        "crawl-tasks schedule list demo",
        "crawl-tasks schedule set demo/3 --interval 5m",
        "crawl-tasks schedule now demo/3",
    )
)
def command() -> None:
    """Show and change when boards are scanned. What is changed here holds at once, for all workers and beats."""


@command.command(
    "list",
    short_help="Show when boards are scanned.",
    epilog=examples("crawl-tasks schedule list", "crawl-tasks schedule list demo --json"),
)
@click.argument("sites", nargs=-1)
@click.option(
    "--most", metavar="N", type=click.IntRange(1, 1_000_000), default=200, show_default=True, help="Lines at most."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_(sites: tuple[str, ...], most: int, as_json: bool) -> None:
    """Show the boards of SITES, or of all: how often each is scanned, when next, when last.

    Where posts were stored since the site is watched, also how long after posting: the median and the 95th percentile.
    """
    frontier = open_frontier()
    now_ms = frontier.clock_ms()
    rows = _boards_of(frontier, chosen_sites(frontier, sites))
    for site, board in islice(rows, most):
        row = {"site": site, **board_row(board), "now_ms": now_ms}
        click.echo(json.dumps(row, ensure_ascii=False) if as_json else board_line(site, board, now_ms))
    if not as_json and next(rows, None):
        click.echo(f"more boards are not shown; --most {most} is the limit")


def _boards_of(frontier: Frontier, sites: list[str]) -> Iterator[tuple[str, BoardState]]:
    for site in sites:
        for board in frontier.boards(site):
            yield site, board


def board_line(site: str, board: BoardState, now_ms: int) -> str:
    """Write a board's schedule as one line."""
    last = f"last {span(now_ms - board.scanned_at_ms)} ago" if board.scanned_at_ms else "never scanned"
    every = f"every {span(board.interval_ms)} ({_origin(board)})"
    return (
        f"{printable(f'{site}/{board.board}', 80):<24} {every:<36} {_next(board, now_ms):<18} {last}{_freshness(board)}"
    )


def _freshness(board: BoardState) -> str:
    if not board.ages.count:
        return ""
    return f", posts stored after {duration(board.ages.quantile(0.5))} / {duration(board.ages.quantile(0.95))}"


def _origin(board: BoardState) -> str:
    if board.fixed_ms:
        return "set by hand"
    if board.least_ms == board.most_ms:
        return "fixed"
    return f"{span(board.least_ms)} to {span(board.most_ms)}"


def _next(board: BoardState, now_ms: int) -> str:
    if board.is_held:
        return "held"
    if board.open_pages:
        return "being scanned"
    return f"next in {span(board.due_at_ms - now_ms)}" if board.due_at_ms > now_ms else "due"


def span(ms: float) -> str:
    """Write a duration in its largest fitting unit."""
    seconds = max(0, ms) / 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g}{unit}"
    return f"{seconds:.3g}s"


@command.command(
    "set",
    short_help="Give boards another interval.",
    epilog=examples("crawl-tasks schedule set demo/3 --interval 60s", "crawl-tasks schedule set demo --site-file"),
)
@click.argument("places", nargs=-1, required=True, metavar="SITE[/BOARD]...")
@click.option(
    "--interval", "interval_s", metavar="TIME", type=Duration(), help="Scan them every so often: 90, 90s, 5m, 2h, 1d."
)
@click.option("--site-file", is_flag=True, help="Go back to what the site file says.")
def set_(places: tuple[str, ...], interval_s: float | None, site_file: bool) -> None:
    """Give boards another interval, or with SITE alone all its boards.

    It survives restarts and `sites check`, until the site file gives the board another interval.
    """
    if (interval_s is None) is not site_file:
        raise click.UsageError("give one of --interval and --site-file")
    if interval_s is None:
        _change(places, Act.FREE, "as the site file says")
    else:
        _change(places, Act.FIX, f"scanned every {span(interval_s * 1000)}", round(interval_s * 1000))


@command.command(
    short_help="Make boards due now.",
    epilog=examples("crawl-tasks schedule now demo/3", "crawl-tasks schedule now demo"),
)
@click.argument("places", nargs=-1, required=True, metavar="SITE[/BOARD]...")
def now(places: tuple[str, ...]) -> None:
    """Make boards due now; a board that is being scanned is scanned again afterwards."""
    _change(places, Act.NOW, "due now")


@command.command(
    short_help="Scan boards no more until `go`.",
    epilog=examples("crawl-tasks schedule hold demo/3", "crawl-tasks schedule go demo/3"),
)
@click.argument("places", nargs=-1, required=True, metavar="SITE[/BOARD]...")
def hold(places: tuple[str, ...]) -> None:
    """Scan boards no more until `schedule go`; what is open of them is still fetched."""
    _change(places, Act.HOLD, "held until: crawl-tasks schedule go")


@command.command(short_help="Scan boards again that were held.", epilog=examples("crawl-tasks schedule go demo/3"))
@click.argument("places", nargs=-1, required=True, metavar="SITE[/BOARD]...")
def go(places: tuple[str, ...]) -> None:
    """Scan boards again that were held; they are due at once."""
    _change(places, Act.GO, "scanned again")


def _change(places: tuple[str, ...], act: Act, what: str, interval_ms: int = 0) -> None:
    frontier = open_frontier()
    for site, boards in _wanted(frontier, places).items():
        done = frontier.timetable.change(site, boards, act, interval_ms)
        held = f", {done.held} stay held" if done.held else ""
        click.echo(f"{site}: {done.changed} {'board' if done.changed == 1 else 'boards'} {what}{held}")


def _wanted(frontier: Frontier, places: tuple[str, ...]) -> dict[str, list[str]]:
    wanted: dict[str, list[str]] = {}
    for place in places:
        site, _, board = place.partition("/")
        chosen_sites(frontier, (site,))
        known = [state.board for state in frontier.boards(site)]
        if board and board not in known:
            raise ConfigError(f"site {site} has no board {board!r}; crawl-tasks schedule list {site} names them")
        wanted.setdefault(site, []).extend([board] if board else known)
    return wanted
