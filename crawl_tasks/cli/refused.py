"""`crawl-tasks refused`: messages and start entries that nobody can read."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.refused import Refused
from crawl_tasks.settings import load_settings

SHORT = 10
"""Characters of an id that are shown; any beginning that only one entry has will do."""


@click.group(epilog=examples("crawl-tasks refused list", "crawl-tasks refused show 3f2a"))
def command() -> None:
    """List, show, retry or drop messages and start entries that were refused; the newest 1000 are kept."""


@command.command(
    "list",
    short_help="Show what was refused, and why.",
    epilog=examples("crawl-tasks refused list", "crawl-tasks refused list --json"),
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_(as_json: bool) -> None:
    """Show what was refused, newest first: id, where it came from, why."""
    entries = open_frontier().refused.all()
    for entry in entries:
        line = f"{entry.id[:SHORT]}  {entry.origin}: {entry.reason}"
        click.echo(json.dumps(_row(entry), ensure_ascii=False) if as_json else printable(line, most=300))
    if not as_json:
        click.echo(f"{len(entries)} refused" if entries else "nothing was refused")


@command.command(short_help="Show the content of one entry.", epilog=examples("crawl-tasks refused show 3f2a"))
@click.argument("id_", metavar="ID")
def show(id_: str) -> None:
    """Show the content of one entry."""
    [entry] = _named(open_frontier().refused.all(), (id_,))
    click.echo(f"{entry.id}\n{printable(f'{entry.origin}: {entry.reason}', most=2000)}")
    click.echo(printable(entry.content.decode("utf-8", "backslashreplace"), most=100_000))


@command.command(
    short_help="Put entries back where they came from.",
    epilog=examples("crawl-tasks refused retry 3f2a", "crawl-tasks refused retry --all"),
)
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All of them.")
def retry(ids: tuple[str, ...], everything: bool) -> None:
    """Put entries back where they came from, after what refused them is mended."""
    settings = load_settings()
    refused = open_frontier(settings).refused
    chosen = _chosen(refused.all(), ids, everything=everything)
    start_key = settings.start_key if settings.start_key and "{" not in settings.start_key else ""
    count = refused.retry(chosen, start_key or f"{settings.redis_prefix}:start") if chosen else 0
    click.echo(f"{count} are back where they came from")


@command.command(
    short_help="Let go of entries for good.",
    epilog=examples("crawl-tasks refused drop 3f2a", "crawl-tasks refused drop --all"),
)
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All of them.")
def drop(ids: tuple[str, ...], everything: bool) -> None:
    """Let go of entries for good."""
    refused = open_frontier().refused
    chosen = _chosen(refused.all(), ids, everything=everything)
    click.echo(f"{refused.drop(chosen) if chosen else 0} are dropped")


def _chosen(entries: Sequence[Refused], ids: tuple[str, ...], *, everything: bool) -> list[str]:
    if everything == bool(ids):
        raise click.UsageError("name entries by their ids, or all with --all")
    return [entry.id for entry in (entries if everything else _named(entries, ids))]


def _named(entries: Sequence[Refused], ids: tuple[str, ...]) -> list[Refused]:
    named = []
    for beginning in ids:
        fitting = [entry for entry in entries if entry.id.startswith(beginning)]
        if len({entry.id for entry in fitting}) != 1:
            raise ConfigError(
                f"{len(fitting) or 'no'} refused entries have an id that begins with {beginning!r};"
                " see: crawl-tasks refused list"
            )
        named.append(fitting[0])
    return named


def _row(entry: Refused) -> dict[str, str]:
    content = entry.content.decode("utf-8", "backslashreplace")
    return {"id": entry.id, "origin": entry.origin, "reason": entry.reason, "content": content}
