"""The options that choose stored rows: --site, --board, --author, --state, --since and --until."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

import click

from crawl_tasks.cli.since_option import SinceOption
from crawl_tasks.store.selection import STATES, RowSelection

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--site", "sites", metavar="NAME", multiple=True, help="Only this site, or these."),
    click.option("--board", "boards", metavar="ID", multiple=True, help="Only this board of the one --site, or these."),
    click.option("--author", "authors", metavar="NAME", multiple=True, help="Only by this author, or these."),
    click.option("--state", "states", type=click.Choice(STATES), multiple=True, help="Only in this state, or these."),
    click.option("--since", type=SinceOption(), help="Only what was written since, 7d or 2026-01-31."),
    click.option("--until", type=SinceOption(), help="Only what was written before, 1d or 2026-01-31."),
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
    return RowSelection(**choice)
