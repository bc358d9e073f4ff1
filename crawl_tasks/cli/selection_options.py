"""The options that choose stored rows: --site, --board, --author, --state, --since and --until."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypedDict, TypeVar
from unicodedata import normalize

import click

from crawl_tasks.store.selection import STATES, RowSelection

_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d{1,6})([mhdw])")


class SinceOption(click.ParamType[int]):
    """A time in seconds since the epoch, written as a time ago or as a date. One without a zone is of UTC."""

    name = "AGO|DATE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time in seconds since the epoch, at least 1."""
        text = str(value)
        # At least 1: a reach of 0 means no limit, and a time before 1970 would turn into one.
        ago = _AGO.fullmatch(text)
        if ago:
            return max(1, int(time.time()) - int(ago[1]) * _UNITS[ago[2]])
        try:
            date = datetime.fromisoformat(text)
            moment = max(1, int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()))
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is neither a time ago (30m, 12h, 7d, 4w) nor a date (2026-01-31)", param, ctx)
        if moment > time.time():
            self.fail(f"{text!r} is still to come (dates without a zone are in UTC); name one that is past", param, ctx)
        return moment


Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--site", "sites", metavar="NAME", multiple=True, help="Only rows of this site. May be repeated."),
    click.option(
        "--board",
        "boards",
        metavar="ID",
        multiple=True,
        help="Only rows of this board of the one --site. May be repeated.",
    ),
    click.option(
        "--author", "authors", metavar="NAME", multiple=True, help="Only rows by this author. May be repeated."
    ),
    click.option(
        "--state", "states", type=click.Choice(STATES), multiple=True, help="Only rows in this state. May be repeated."
    ),
    click.option("--since", type=SinceOption(), help="Only rows written since then, as 7d or 2026-01-31."),
    click.option("--until", type=SinceOption(), help="Only rows written before, as 1d or 2026-01-31."),
)


class RowChoice(TypedDict):
    """The values of the options."""

    sites: tuple[str, ...]
    boards: tuple[str, ...]
    authors: tuple[str, ...]
    states: tuple[str, ...]
    since: int | None
    until: int | None


def selection_options(function: Function) -> Function:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def selection_of(choice: RowChoice) -> RowSelection:
    """Return the selection of all posts and comments that the options choose."""
    if choice["boards"] and len(choice["sites"]) != 1:
        raise click.UsageError("--board is of one site; name it: --site NAME --board 1")
    # Names on HTML pages are stored in NFC. Those of JSON are as the forum spells them, and macOS types NFD.
    spelt = {normalize(form, name) for name in choice["authors"] for form in ("NFC", "NFD")}
    choice["authors"] = (*choice["authors"], *sorted(spelt.difference(choice["authors"])))
    return RowSelection(**choice)
