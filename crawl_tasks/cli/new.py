"""`crawl-tasks new`: the discovery of a forum, which writes a site file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crawl_tasks import __version__
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.one_page import one_fetcher
from crawl_tasks.cli.terminal import examples, printable
from crawl_tasks.discovery.probe.http_probe import PUBLIC_PACE_S, HttpProbe
from crawl_tasks.discovery.probe.site_address import SiteAddress, place_of
from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.date_samples import samples_of
from crawl_tasks.discovery.proof.dry_run import missing_in, thin_fields, try_site
from crawl_tasks.discovery.proof.findings import Findings, site_file
from crawl_tasks.discovery.proof.gone_thread import with_gone_rules
from crawl_tasks.discovery.proof.news_page import find_linking_page
from crawl_tasks.discovery.proof.site_check import SiteCheck
from crawl_tasks.discovery.start_page import discover
from crawl_tasks.discovery.text.yaml_rules import settled
from crawl_tasks.discovery.timezone_by_ages import zone_by_trials
from crawl_tasks.discovery.timezone_by_feed import feed_differences, zone_by_feed
from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.fetch.address_guard import is_literal, is_local_name, is_public
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.permissions import write_public
from crawl_tasks.proxy import read_proxy
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.presets import engine_names

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_RESOLVED_WITHIN_S = 10.0
WIDTH = 110
"""Characters of a line of the summary."""
_MOST_MISSING = 3
"""The most errors of pages that are told one by one."""
MOST_HOSTS = 8
"""Hosts of a list that are looked at together."""


@click.command(
    epilog=examples(
        "crawl-tasks new https://forum.example.org",
        "crawl-tasks new http://127.0.0.1:8765 --name demo2 -o -",
        "crawl-tasks new https://forum.example.org/community/ --engine phpbb --force",
        "crawl-tasks new --from addresses.txt    # a table: what worked, how sure, what it would take",
    )
)
@click.argument("address", required=False)
@click.option("--from", "source", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Look at every address of a file, one a line, several hosts at a time.")  # fmt: skip
@click.option("--name", metavar="NAME", help="Name of the site; by default a part of the host's name.")
@click.option("-o", "--output", metavar="FILE",
              help="File to write, - for the terminal; by default NAME.yaml among the site files.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file where there is one.")
@click.option("--engine", metavar="NAME", help="Preset to use, without looking for signs of the program.")
@click.pass_context
def command(
    ctx: click.Context, address: str | None, source: str | None, name: str | None, *, output: str | None, force: bool,
    engine: str | None,
) -> None:  # fmt: skip
    """Look at a forum and write its site file: program, boards, robots.txt, time zone.

    The address of any page will do: a thread, a board, a home page or a sitemap leads to the forum's front page. Asks
    for three dozen pages at most, one a second on public hosts, by the rules every crawl keeps. Boards are looked for
    on the pages of other boards too. Where the program has no preset, rules are proposed from a list page and a post
    page. In the end pages of three boards and four to sixteen threads are read by the file and held against each other.
    Ends with 1 where they refute it, and the file names the reasons. With --from a table says what came of each
    address.
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
    text = site_file(result.found)
    if output == "-":
        click.echo(text, nl=False)
    # On standard error, so that `-o -` writes nothing but the site file to standard output.
    held = "; ".join(check.name for check in result.checks if check.holds)
    held_lines = wrap(f"holds     {held}" if held else "", WIDTH, subsequent_indent=" " * 10, break_long_words=False)
    for line in (*summary(result.found, result.asked), *held_lines):
        click.echo(printable(line, 600), err=True)
    for line in result.refuted:
        click.echo(printable(f"refuted   {line}", 300), err=True)
    if output != "-":
        click.echo(f"written   {result.path}", err=True)
        click.echo(
            f"next      {'mend it, then ' if result.refuted else ''}crawl-tasks try {result.found.name}", err=True
        )
    ctx.exit(Exit.FAILURES if result.refuted else Exit.OK)


class _NewOptions(NamedTuple):
    """One address to look at, and the options for its site file."""

    address: str
    name: str | None
    output: str | None
    is_forced: bool
    engine: str | None


class _NewResult(NamedTuple):
    """A site file that was written, with the checks that its forum's pages allow. `asked` counts the requests."""

    path: Path
    found: Findings
    checks: list[SiteCheck]
    refuted: list[str]
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
    found = discover(probe, place, name, options.engine, contact=settings.contact)
    found = replace(found, encoding=probe.guessed_charset())
    site = parse_site(site_file(found), str(path))
    starts = (found.place.url, place.url)
    if site.front is None and (linking := find_linking_page(probe, site, starts, settings.contact)):
        found = replace(found, news=(*found.news, linking))
        site = parse_site(site_file(found), str(path))
    opened = compile_site(site, settings.contact)
    trials = list(try_site(probe, opened))
    zone = found.zone or zone_by_feed(feed_differences(probe, site, trials), site) or zone_by_trials(trials)
    order = opened.parser.date_orders.last
    if (zone, order.order) != (found.zone, None):
        # What all pages together tell is not known while the first of them are read.
        found = replace(found, zone=zone, order=order)
        site = parse_site(site_file(found), str(path))
        trials = list(try_site(probe, compile_site(site, settings.contact)))
    clock = ZoneInfo(site.timezone)
    found = replace(found, dates=tuple(one.line(clock) for one in samples_of(site, trials, order)))
    if found.rules:
        rules, told = with_gone_rules(probe, compile_site(site, settings.contact), trials, found.rules)
        found = replace(found, rules=rules, remarks=(*found.remarks, *([told] if told else [])))
    checks = check_trials(site, trials)
    refuted = [*found.doubts, *shortened(missing_in(trials)), *(str(check) for check in checks if not check.holds)]
    weak = [*thin_fields(trials), *(str(check) for check in checks if check.holds and check.evidence)]
    remarks = [f"refuted: {one}" for one in refuted] + [f"weak: {one}" for one in weak if found.rules]
    rules = found.rules if refuted else settled(found.rules)
    found = replace(found, rules=rules, remarks=(*found.remarks, *remarks))
    if options.output != "-":
        write_public(path, site_file(found))
    return _NewResult(path, found, checks, refuted, len(probe.asked))


def _look_at_all(all_options: Sequence[_NewOptions], settings: Settings) -> bool:
    """Look at forums, those of one host one after the other, and show a table. Return whether all files are right."""
    hosts: dict[str, list[_NewOptions]] = {}
    for options in all_options:
        hosts.setdefault(_host_name(options.address), []).append(options)
    table = Table("address", "file", "sure", "what it takes", box=SIMPLE_HEAD)
    console = Console(width=None if Console().is_terminal else 160, highlight=False)
    is_right = True
    with ThreadPoolExecutor(MOST_HOSTS) as pool:
        for rows in pool.map(lambda those: [_row(one, settings) for one in those], hosts.values()):
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


def _row(options: _NewOptions, settings: Settings) -> tuple[tuple[str, str, str, str], bool]:
    """Return the table's row of an address, and whether its file is right."""
    try:
        result = _look_at(options, settings)
    except CrawlError as error:
        return (options.address, "none", "", str(error)), False
    held = sum(check.holds for check in result.checks)
    sure = f"{held} of {len(result.checks)} checks hold"
    takes = "; ".join(result.refuted[:2]) or f"nothing: crawl-tasks try {result.found.name}"
    return (options.address, result.path.name, sure, takes), not result.refuted


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
    found = Resolver().addresses(host, _RESOLVED_WITHIN_S) if is_known else ()
    if is_known and not found:
        raise ConfigError(f"{host}: has no address; check the spelling")
    # One private address among public ones is enough: the address guard would refuse the host, unless it is named.
    if not all(map(is_public, found)):
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


def shortened(errors: Sequence[str]) -> list[str]:
    """Return the first errors of pages, and the number of the others: a forum may answer 404 for each thread."""
    more = len(errors) - _MOST_MISSING
    return [*errors] if more < 2 else [*errors[:_MOST_MISSING], f"{more} more errors like these"]


def summary(found: Findings, asked: int) -> list[str]:
    """Return the findings, one line each."""
    program = str(found.suspect) if found.suspect else "unknown: the rules are proposals; check them"
    lines = [f"program   {program}"]
    subs = sum(board.parent_id is not None for board in found.boards)
    lines.append(f"boards    {len(found.boards)}" + (f", {subs} of them below another" if subs else ""))
    lines += [f"left out  {url}" for url in found.left_out]
    lines.append(f"zone      {f'{found.zone.name}: {found.zone.why}' if found.zone else 'UTC, as nothing names it'}")
    if found.encoding:
        lines.append(f"charset   {found.encoding}, a guess by the letters: the pages name none that fits")
    if found.order.order is not None:
        lines.append(f"dates     {found.order.order.value}: {found.order.why}")
    lines += [f"date      {line}" for line in found.dates]
    delay = f"Crawl-delay {found.delay_s:g} s" if found.delay_s else "no Crawl-delay"
    lines.append(f"robots    {delay}; {asked} pages asked for")
    if found.trial is not None:
        lines.append(f"proof     {len(found.trial.rows)} posts on {found.trial.request.address}")
    for one in found.news:
        lines.append(f"{'news' if one.interval_s is None else 'front':<9} {one.path}: {one.reason}")
    if found.place.private:
        lines.append(f"private   {found.place.private} is named in private_hosts, so that it may be fetched")
    known = str(found.suspect)
    # What refutes the file is told at the end.
    told = [remark for remark in found.remarks if remark != known and not remark.startswith("refuted: ")]
    return lines + [f"remark    {remark}" for remark in told]
