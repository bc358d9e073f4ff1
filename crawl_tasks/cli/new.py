"""`crawl-tasks new`: the discovery of a forum, which writes a site file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crawl_tasks import __version__
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.terminal import examples
from crawl_tasks.discovery import PUBLIC_PACE_S, HttpProbe, SiteAddress, place_of, propose_site_file
from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.fetch.address_guard import is_literal, is_local_name, is_public
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.logs import printable
from crawl_tasks.operate.one_page import one_fetcher
from crawl_tasks.permissions import write_public
from crawl_tasks.proxy import read_proxy
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sites.presets import engine_names

if TYPE_CHECKING:
    from crawl_tasks.discovery import Findings, SiteProposal

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_RESOLVED_WITHIN_S = 10.0
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
    options = partial(_NewOptions, name=name, output=output, is_forced=force, engine=engine)
    if source is not None:
        lines = map(str.strip, Path(source).read_text("utf-8").splitlines())
        all_options = [options(line) for line in dict.fromkeys(lines) if line and not line.startswith("#")]
        ctx.exit(Exit.OK if _look_at_all(all_options, settings) else Exit.FAILURES)
    result = _look_at(options(address or ""), settings)
    _show(result, is_printed=output == "-")
    ctx.exit(Exit.FAILURES if result.proposed.refuted else Exit.OK)


class _NewOptions(NamedTuple):
    """One address to look at, and the options for its site file."""

    address: str
    name: str | None
    output: str | None
    is_forced: bool
    engine: str | None


class _NewResult(NamedTuple):
    """A site file that was written to `path`. `asked` counts the requests."""

    path: Path
    proposed: SiteProposal
    asked: int


def _look_at(options: _NewOptions, settings: Settings) -> _NewResult:
    """Look at a forum, and write its file unless it is for the terminal.

    Raises:
        CrawlError: there is no forum, or a file stands there already.
    """
    place = find_address(options.address, settings)
    name = options.name or place.name()
    path = settings.sites_dir / f"{name}.yaml" if options.output is None else Path(options.output)
    # Before the first request: three dozen pages would be fetched, only to refuse the result.
    if options.output != "-" and path.exists() and not options.is_forced:
        raise ConfigError(f"{path}: is there already; --force replaces it, --name chooses another")
    probe = open_probe(place, settings)
    proposed = propose_site_file(probe, place, name, options.engine, contact=settings.contact, origin=str(path))
    if options.output != "-":
        write_public(path, proposed.text)
    return _NewResult(path, proposed, len(probe.asked))


def _show(result: _NewResult, *, is_printed: bool) -> None:
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


def _look_at_all(all_options: Sequence[_NewOptions], settings: Settings) -> bool:
    """Look at forums, those of one host one after the other, and show a table. Return whether all files are right."""
    hosts: dict[str, list[_NewOptions]] = {}
    for options in all_options:
        hosts.setdefault(_host_name(options.address), []).append(options)
    table = Table("address", "file", "sure", "what it takes", box=SIMPLE_HEAD)
    console = Console(width=None if Console().is_terminal else 160, highlight=False)
    is_right = True
    with ThreadPoolExecutor(MOST_HOSTS) as pool:
        for rows in pool.map(partial(_rows, settings), hosts.values()):
            for cells, is_well in rows:
                is_right = is_right and is_well
                table.add_row(*(escape(printable(cell, 200)) for cell in cells))
    console.print(table)
    return is_right


def _host_name(address: str) -> str:
    """Return the name for an address. Two hosts with one name would write one file, and count as one."""
    with suppress(CrawlError):
        return place_of(address).name()
    return address


def _rows(settings: Settings, all_options: Sequence[_NewOptions]) -> list[tuple[tuple[str, str, str, str], bool]]:
    """Return the table's rows of the addresses of one host."""
    return [_row(options, settings) for options in all_options]


def _row(options: _NewOptions, settings: Settings) -> tuple[tuple[str, str, str, str], bool]:
    """Return the table's row of an address, and whether its file is right."""
    try:
        result = _look_at(options, settings)
    except CrawlError as error:
        return (options.address, "none", "", str(error)), False
    proposed = result.proposed
    held = sum(check.holds for check in proposed.checks)
    sure = f"{held} of {len(proposed.checks)} checks hold"
    takes = "; ".join(proposed.refuted[:2]) or f"nothing: crawl-tasks try {proposed.findings.name}"
    return (options.address, result.path.name, sure, takes), not proposed.refuted


def find_address(address: str, settings: Settings) -> SiteAddress:
    """Return an address, with the knowledge whether its host is private.

    Raises:
        ConfigError: the host has no IP address, or is public while CRAWL_CONTACT is not set.
        RefusedAddress: the text is no address.
    """
    place = place_of(address)
    host = (urlsplit(place.url).hostname or "").strip("[]")
    proxy = read_proxy(settings.proxy.get_secret_value(), "CRAWL_PROXY")
    # Such a proxy looks the name up, and this machine may have no name server.
    is_known = not (proxy.host and proxy.looks_up_names) or is_literal(host) or is_local_name(host)
    addresses = Resolver().addresses(host, _RESOLVED_WITHIN_S) if is_known else ()
    if is_known and not addresses:
        raise ConfigError(f"{host}: has no address; check the spelling")
    # One private address among public ones is enough: the address guard would refuse the host, unless it is named.
    if not all(map(is_public, addresses)):
        return place_of(address, private=True)
    if not settings.contact:
        raise ConfigError(
            f"{place.base} is public, so its operator must be able to reach you; "
            "set CRAWL_CONTACT to a page or an e-mail address of yours"
        )
    return place


def open_probe(place: SiteAddress, settings: Settings) -> HttpProbe:
    """Return the HTTP probe for an address, with the pace of a guest on public hosts."""
    agent = f"crawl_tasks/{__version__}" + (f" (+{settings.contact})" if settings.contact else "")
    pace_s = 0.0 if place.private else PUBLIC_PACE_S
    return HttpProbe(one_fetcher(settings), place.policy(agent), pace_s=pace_s, drops_sessions=True)


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
