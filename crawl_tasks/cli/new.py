"""`crawl-tasks new`: the discovery of a forum, which writes a site file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.terminal import examples, named_addresses
from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.logs import printable
from crawl_tasks.operate.new_site import NewSite, NewSiteFile, by_host, write_site_file
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sites.presets import engine_names

if TYPE_CHECKING:
    from crawl_tasks.discovery import Findings

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
WIDTH = 110
"""Characters of a line of the summary."""
MOST_HOSTS = 8
"""Hosts of a list that are looked at together."""


@click.command(
    epilog=examples(
        "crawl-tasks new https://forum.example.org",
        "crawl-tasks new http://127.0.0.1:8765 --name demo2 -o -",
        "crawl-tasks new https://forum.example.org/community/ --engine phpbb --force",
        "crawl-tasks new --from addresses.txt    # a table with the result of each address",
    )
)
@click.argument("address", required=False)
@click.option("--from", "source", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Look at each address of FILE (one per line), several hosts at a time.")  # fmt: skip
@click.option("--name", metavar="NAME", help="Name of the site. The default is a part of the host's name.")
@click.option("-o", "--output", metavar="FILE",
              help="File to write, or - for the terminal. The default is NAME.yaml among the site files.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--engine", metavar="NAME", help="Use this preset, without looking for signs of the program.")
@click.pass_context
def command(
    ctx: click.Context, address: str | None, source: str | None, name: str | None, *, output: str | None, force: bool,
    engine: str | None,
) -> None:  # fmt: skip
    """Look at a forum and write its site file: program, boards, robots.txt, time zone.

    Give the address of any page: a thread, a board, a home page or a sitemap leads to the forum's front page. The
    command asks for three dozen pages at most, one per second on public hosts, and obeys robots.txt. Boards are looked
    for on the pages of other boards too. If the program has no preset, rules are proposed from a list page and a post
    page.

    At the end the file reads pages of three boards and four to sixteen threads, and they are compared with each other.
    The exit code is 1 if they refute the file, and the file names the reasons. --from shows a table with the result of
    each address.
    """
    settings = load_settings()
    if (address is None) == (source is None) or (source is not None and (name or output)):
        raise click.UsageError("give an ADDRESS, or --from FILE without --name and --output")
    if engine is not None and engine not in engine_names():
        raise ConfigError(f"--engine: there is no preset {engine!r}; there are: {', '.join(engine_names())}")
    if name is not None and not NAME.fullmatch(name):
        raise ConfigError(f"--name: {name!r} is none; write up to 32 of a-z, 0-9, - and _, a letter or digit first")
    wanted = partial(NewSite, name=name, output=output, engine=engine, is_forced=force)
    if source is not None:
        addresses = dict.fromkeys(named_addresses(Path(source).read_text("utf-8").splitlines()))
        ctx.exit(Exit.OK if _look_at_all(map(wanted, addresses), settings) else Exit.FAILURES)
    result = write_site_file(wanted(address or ""), settings)
    _show(result, is_printed=output == "-")
    ctx.exit(Exit.FAILURES if result.proposed.refuted else Exit.OK)


def _show(result: NewSiteFile, *, is_printed: bool) -> None:
    """Show a summary of the findings, and the site file itself if it `is_printed`.

    The summary goes to standard error, so that `-o -` writes nothing but the site file to standard output.
    """
    proposed = result.proposed
    if is_printed:
        click.echo(proposed.text, nl=False)
    held = "; ".join(check.name for check in proposed.checks if check.holds)
    held_lines = wrap(f"holds     {held}" if held else "", WIDTH, subsequent_indent=" " * 10, break_long_words=False)
    for line in (*summary(proposed.findings, result.asked), *held_lines):
        click.echo(printable(line, 600), err=True)
    for line in proposed.refuted:
        click.echo(printable(f"refuted   {line}", 300), err=True)
    if not is_printed:
        mend = "mend it, then " if proposed.refuted else ""
        click.echo(f"written   {result.path}", err=True)
        click.echo(f"next      {mend}crawl-tasks try {proposed.findings.name}", err=True)


def _look_at_all(wanted: Iterable[NewSite], settings: Settings) -> bool:
    """Look at forums, those of one host one after the other, and show a table. Return whether all files are right."""
    table = Table("address", "file", "sure", "what it takes", box=SIMPLE_HEAD)
    console = Console(width=None if Console().is_terminal else 160, highlight=False)
    is_right = True
    with ThreadPoolExecutor(MOST_HOSTS) as pool:
        for rows in pool.map(partial(_rows, settings), by_host(wanted)):
            for cells, is_well in rows:
                is_right = is_right and is_well
                table.add_row(*(escape(printable(cell, 200)) for cell in cells))
    console.print(table)
    return is_right


def _rows(settings: Settings, sites: Sequence[NewSite]) -> list[tuple[tuple[str, str, str, str], bool]]:
    """Return the table's rows of the sites of one host."""
    return [_row(site, settings) for site in sites]


def _row(site: NewSite, settings: Settings) -> tuple[tuple[str, str, str, str], bool]:
    """Return the table's row of a site, and whether its file is right."""
    try:
        result = write_site_file(site, settings)
    except CrawlError as error:
        return (site.address, "none", "", str(error)), False
    proposed = result.proposed
    held = sum(check.holds for check in proposed.checks)
    sure = f"{held} of {len(proposed.checks)} checks hold"
    takes = "; ".join(proposed.refuted[:2]) or f"nothing: crawl-tasks try {proposed.findings.name}"
    return (site.address, result.path.name, sure, takes), not proposed.refuted


def summary(findings: Findings, asked: int) -> list[str]:
    """Return the findings, one line each. `asked` counts the requests."""
    program = str(findings.suspect) if findings.suspect else "unknown: the rules are proposals; check them"
    lines = [f"program   {program}", _boards_line(findings)]
    lines += [f"left out  {url}" for url in findings.left_out]
    zone = f"{findings.zone.name}: {findings.zone.why}" if findings.zone else "UTC, as nothing names it"
    lines.append(f"zone      {zone}")
    if findings.encoding:
        lines.append(f"charset   {findings.encoding}, a guess by the letters: the pages name none that fits")
    if findings.order.order is not None:
        lines.append(f"dates     {findings.order.order.value}: {findings.order.why}")
    lines += [f"date      {line}" for line in findings.dates]
    delay = f"Crawl-delay {findings.delay_s:g} s" if findings.delay_s else "no Crawl-delay"
    lines.append(f"robots    {delay}; {asked} pages asked for")
    if findings.trial is not None:
        lines.append(f"proof     {len(findings.trial.rows)} posts on {findings.trial.request.address}")
    for page in findings.news:
        lines.append(f"{'news' if page.interval_s is None else 'front':<9} {page.path}: {page.reason}")
    private = findings.place.private
    if private:
        lines.append(f"private   {private} is named in private_hosts, so that it may be fetched")
    return lines + [f"remark    {remark}" for remark in _further_remarks(findings)]


def _boards_line(findings: Findings) -> str:
    subs = sum(board.parent_id is not None for board in findings.boards)
    return f"boards    {len(findings.boards)}" + (f", {subs} of them below another" if subs else "")


def _further_remarks(findings: Findings) -> list[str]:
    """Return the remarks without the program, which is the first line, and what refutes the file, which is the last."""
    known = str(findings.suspect)
    return [remark for remark in findings.remarks if remark != known and not remark.startswith("refuted: ")]
