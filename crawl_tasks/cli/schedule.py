"""`crawl-tasks schedule`: the scan schedule of boards, shown and changed while the crawl goes on."""

from __future__ import annotations

import re
from itertools import islice

import click
from rich.cells import cell_len

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.operator import operator, tell_unstored, why_option
from crawl_tasks.cli.terminal import echo_json, examples
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import BoardState
from crawl_tasks.logs import printable
from crawl_tasks.monitor.cell_snapshots import snapshot_cells
from crawl_tasks.monitor.freshness import SHARE, expected_delay_s
from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.output_language import gettext, use_language
from crawl_tasks.monitor.report import board_row
from crawl_tasks.operate.decisions import store_decisions
from crawl_tasks.operate.schedule import board_states, boards_at, change_schedule, obstacles
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.settings import load_settings

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
LEAST_S, MOST_S = 1.0, 31_536_000.0
LEAST_SHOWN = 0.001
"""The least rate of a board that is shown, in new replies an hour."""


class Duration(click.ParamType[float]):
    """The option type of a duration: seconds, or a number with s, m, h or d."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a duration in seconds."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no duration; write 90, 90s, 5m, 2h or 1d", param, ctx)
        seconds = float(match[1]) * _UNITS[match[2]]
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
    """Show and change when boards are scanned. A change takes effect at once, for all workers and beats."""


@command.command(
    "list",
    short_help="Show when boards are scanned.",
    epilog=examples(
        "crawl-tasks schedule list", "crawl-tasks schedule list demo/3", "crawl-tasks schedule list --json"
    ),
)
@click.argument("places", nargs=-1, metavar="[SITE[/BOARD]]...")
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=200,
    show_default=True,
    help="Show at most N lines.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_(places: tuple[str, ...], most: int, as_json: bool) -> None:
    """Show how often boards are scanned, when next and when last: some boards, those of a SITE, or all.

    If posts were stored since the site is watched, it also shows how long after posting: the median and the 95th
    percentile. A priced schedule also shows the replies that a board is expected to have, and how soon they are found.
    """
    settings = load_settings()
    use_language(settings.language)
    cells = open_cells(settings)
    wanted = {site: set(boards) for site, boards in boards_at(cells, places).items()}
    chosen = chosen_sites(cells, tuple(wanted))
    rows = (row for row in board_states(chosen) if not wanted or row[1].board in wanted[row[0]])
    for name, board, now_ms in islice(rows, most):
        if as_json:
            echo_json({"site": name, **board_row(board), "now_ms": now_ms})
        else:
            click.echo(board_line(name, board, now_ms))
    # One board beyond the limit tells that there are more, without reading all of them.
    if not as_json and next(rows, None):
        click.echo(gettext("more boards are not shown; --most {count} is the limit", count=most))
    for site in () if as_json else snapshot_cells(cells, chosen).sites:
        if site.expected is not None:
            _show_expected(chosen[site.name], site.name)
            click.echo(gettext("{site}: {text}", site=site.name, text=site.expected))


def _show_expected(frontier: Frontier, site: str) -> None:
    rates = [(board.expected_h, board.gap_s) for board in Inspector(frontier).boards(site)]
    median, most = (expected_delay_s(rates, share) for share in (0.5, SHARE))
    if median is not None:
        text = "{site}: half of the new replies are expected within {median}, 95 % within {most}"
        click.echo(gettext(text, site=site, median=duration(median), most=duration(most)))


def board_line(site: str, board: BoardState, now_ms: int) -> str:
    """Return the schedule of a board as one line."""
    last = gettext("never scanned")
    if board.gone_at_ms:
        last = gettext("gone at the forum since {duration}", duration=span(now_ms - board.gone_at_ms))
    elif board.scanned_at_ms:
        last = gettext("last {duration} ago", duration=span(now_ms - board.scanned_at_ms))
    every = gettext("every {duration} ({origin})", duration=span(board.interval_ms), origin=_origin(board))
    name = printable(f"{site}/{board.board}", 80)
    places = (_wide(name, 24), _wide(every, 36), _wide(_next(board, now_ms), 18), last)
    rate = gettext(", {count:.3g} new an hour", count=board.rate_h) if board.rate_h >= LEAST_SHOWN else ""
    return f"{' '.join(places)}{rate}{_freshness(board)}"


def _wide(text: str, cells: int) -> str:
    """Return a text that fills so many cells of a terminal at least, of which a Chinese character has two."""
    return text + " " * (cells - cell_len(text))


def _freshness(board: BoardState) -> str:
    if not board.ages.count:
        return ""
    median, most = (duration(board.ages.quantile(share)) for share in (0.5, 0.95))
    return gettext(", stored after {median} / {most}", median=median, most=most)


def _origin(board: BoardState) -> str:
    if board.fixed_ms:
        return gettext("set by hand")
    if board.least_ms == board.most_ms:
        return gettext("fixed")
    return gettext("{least} to {most}", least=span(board.least_ms), most=span(board.most_ms))


def _next(board: BoardState, now_ms: int) -> str:
    if board.is_held:
        return gettext("held")
    if board.open_pages:
        return gettext("being scanned")
    wait_ms = board.due_at_ms - now_ms
    return gettext("next in {duration}", duration=span(wait_ms)) if wait_ms > 0 else gettext("due")


def span(ms: float) -> str:
    """Return a duration in the largest fitting unit."""
    seconds = max(0, ms) / 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        # Only from two units on: 90m is exact where 1.5h looks rounded.
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
    "--interval", "interval_s", metavar="TIME", type=Duration(), help="Time between two scans: 90, 90s, 5m, 2h, 1d."
)
@click.option("--site-file", is_flag=True, help="Return to the interval of the site file.")
@why_option
def set_(places: tuple[str, ...], interval_s: float | None, site_file: bool, why: str) -> None:
    """Give boards another interval. SITE without a board means all its boards.

    The interval survives restarts and `sites check`, until the site file gives the board another one.
    """
    if (interval_s is None) is not site_file:
        raise click.UsageError("give one of --interval and --site-file")
    if interval_s is None:
        _change(places, Act.FREE, "as the site file says", why=why)
    else:
        _change(places, Act.FIX, f"scanned every {span(interval_s * 1000)}", round(interval_s * 1000), why)


@command.command(
    short_help="Make boards due now.",
    epilog=examples("crawl-tasks schedule now demo/3", "crawl-tasks schedule now demo"),
)
@click.argument("places", nargs=-1, required=True, metavar="SITE[/BOARD]...")
def now(places: tuple[str, ...]) -> None:
    """Make boards due now. A board that is being scanned is scanned again afterwards."""
    _change(places, Act.NOW, "due now")
    chosen = chosen_sites(open_cells(), tuple(dict.fromkeys(place.partition("/")[0] for place in places)))
    for line in obstacles(chosen):
        click.echo(line, err=True)


@command.command(
    short_help="Stop scanning boards until `go`.",
    epilog=examples("crawl-tasks schedule hold demo/3", "crawl-tasks schedule go demo/3"),
)
@click.argument("places", nargs=-1, required=True, metavar="SITE[/BOARD]...")
@why_option
def hold(places: tuple[str, ...], why: str) -> None:
    """Stop scanning boards until `schedule go`. Their open requests are still fetched."""
    _change(places, Act.HOLD, "held until: crawl-tasks schedule go", why=why)


@command.command(short_help="Scan held boards again.", epilog=examples("crawl-tasks schedule go demo/3"))
@click.argument("places", nargs=-1, required=True, metavar="SITE[/BOARD]...")
@why_option
def go(places: tuple[str, ...], why: str) -> None:
    """Scan held boards again. They are due at once."""
    _change(places, Act.GO, "scanned again", why=why)


def _change(places: tuple[str, ...], act: Act, outcome: str, interval_ms: int = 0, why: str = "") -> None:
    settings = load_settings()
    cells = open_cells(settings)
    for site, changed, held in change_schedule(cells, places, act, operator(why), interval_ms):
        still_held = f", {held} stay held" if held else ""
        click.echo(f"{site}: {changed} {'board' if changed == 1 else 'boards'} {outcome}{still_held}")
    tell_unstored(store_decisions(settings.database_url, cells))
