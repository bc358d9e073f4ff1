"""`crawl-tasks new`: a site file from an address."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import click

from crawl_tasks import __version__
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.errors import AccessDenied, ConfigError, PageError, ParseError
from crawl_tasks.fetch.addresses import is_public
from crawl_tasks.fetch.download import build_fetcher
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.presets import engine_names
from crawl_tasks.survey.entrance import asks_for_login, doors_of
from crawl_tasks.survey.findings import Findings, site_file
from crawl_tasks.survey.look import Look
from crawl_tasks.survey.place import Place, place_of
from crawl_tasks.survey.visit import PUBLIC_PACE_S, Visitor

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_RESOLVED_WITHIN_S = 10.0


@click.command(
    epilog=examples(
        "crawl-tasks new https://forum.example.org",
        "crawl-tasks new http://127.0.0.1:8765 --name demo2 -o -",
        "crawl-tasks new https://forum.example.org/community/ --engine phpbb --force",
    )
)
@click.argument("address")
@click.option("--name", metavar="NAME", help="Name of the site; by default a part of the host's name.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File to write, - for the terminal; by default NAME.yaml among the site files.",
)
@click.option("--force", is_flag=True, help="Replace the file where there is one.")
@click.option("--engine", metavar="NAME", help="Preset to use, without looking for signs of the program.")
def command(address: str, name: str | None, *, output: str | None, force: bool, engine: str | None) -> None:
    """Look at a forum and write its site file: program, boards, robots.txt, time zone.

    Asks for three dozen pages at most, one a second on public hosts, by the rules every crawl keeps. Boards are looked
    for on the pages of other boards too. Where the program has no preset, rules are proposed from a list page and a
    post page, with remarks on what to check.
    """
    settings = load_settings()
    if engine is not None and engine not in engine_names():
        raise ConfigError(f"--engine: there is no preset {engine!r}; there are: {', '.join(engine_names())}")
    if name is not None and not NAME.fullmatch(name):
        raise ConfigError(f"--name: {name!r} is none; write up to 32 of a-z, 0-9, - and _, a letter or digit first")
    place = find_place(address, settings)
    name = name or place.name()
    path = settings.sites_dir / f"{name}.yaml" if output is None else Path(output)
    if output != "-" and path.exists() and not force:
        raise ConfigError(f"{path}: is there already; --force replaces it, --name chooses another")
    visitor = open_visitor(place, settings)
    found = look_around(visitor, place, name, engine, contact=settings.contact)
    text = site_file(found)
    site = parse_site(text, str(path))
    if output == "-":
        click.echo(text, nl=False)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for line in told(found, len(visitor.asked)):
        click.echo(printable(line, 300), err=True)
    if output != "-":
        click.echo(f"written   {path}", err=True)
        click.echo(f"next      crawl-tasks try {site.name}", err=True)


def look_around(visitor: Visitor, place: Place, name: str, engine: str | None, *, contact: str | None) -> Findings:
    """Look at the page, and where it is a portal, at those its links call a forum.

    Raises:
        ConfigError: the engine that was asked for reads nothing here, or the page leads to another host.
        AccessDenied: the forum is not shown to guests.
        FetchError: the page cannot be had.
        ParseError: there is no forum.
    """
    look = Look(visitor, place, name, contact=contact)
    found = look.by_preset(engine)
    if found is not None:
        return found
    doors = doors_of(look.front)
    for door in doors:
        with suppress(PageError, ConfigError):
            behind = Look(visitor, replace(place, url=door), name, contact=contact).by_preset()
            if behind is not None:
                return behind
    proposed = look.by_proposal()
    if proposed.boards:
        return proposed
    url = look.place.url
    if asks_for_login(look.front):
        raise AccessDenied(
            f"{url} asks for a login and shows guests no boards; a member's cookie goes into secret_headers, "
            "see docs/site-files.md"
        )
    if proposed.remarks:
        raise ParseError(f"{url}: no boards are shown to guests. {'; '.join(proposed.remarks)}")
    where = f", nor behind {' or '.join(doors)}" if doors else ""
    raise ParseError(
        f"{url}: no forum was found here{where}: no boards and no list of threads; give the address of its front page"
    )


def find_place(address: str, settings: Settings) -> Place:
    """Read an address and find out whether it is private; a public one needs somebody who can be reached.

    Raises:
        ConfigError: it is public, and CRAWL_CONTACT is not set.
        RefusedAddress: it is no address.
    """
    place = place_of(address)
    host = (urlsplit(place.url).hostname or "").strip("[]")
    found = Resolver().addresses(host, _RESOLVED_WITHIN_S)
    if not found:
        raise ConfigError(f"{host}: has no address; check the spelling")
    if not all(map(is_public, found)):
        return place_of(address, private=True)
    if not settings.contact:
        raise ConfigError(
            f"{place.base} is public, so its operator must be able to reach you; "
            "set CRAWL_CONTACT to a page or an e-mail address of yours"
        )
    return place


def open_visitor(place: Place, settings: Settings) -> Visitor:
    """Make the visitor for a place."""
    agent = f"crawl_tasks/{__version__}" + (f" (+{settings.contact})" if settings.contact else "")
    fetcher = build_fetcher(
        settings.http_client, threads=1, ca_file=settings.ca_file, proxy=settings.proxy.get_secret_value()
    )
    return Visitor(fetcher, place.policy(agent), pace_s=0.0 if place.private else PUBLIC_PACE_S)


def told(found: Findings, asked: int) -> list[str]:
    """Say what was found, a line a thing."""
    program = str(found.suspect) if found.suspect else "unknown: the rules are proposals; check them"
    lines = [f"program   {program}"]
    subs = sum(board.parent_id is not None for board in found.boards)
    lines.append(f"boards    {len(found.boards)}" + (f", {subs} of them below another" if subs else ""))
    lines += [f"left out  {url}" for url in found.left_out]
    lines.append(f"zone      {f'{found.zone.name}: {found.zone.why}' if found.zone else 'UTC, as nothing names it'}")
    delay = f"Crawl-delay {found.delay_s:g} s" if found.delay_s else "no Crawl-delay"
    lines.append(f"robots    {delay}; {asked} pages asked for")
    if found.trial is not None:
        lines.append(f"proof     {len(found.trial.rows)} posts on {found.trial.request.address}")
    if found.place.private:
        lines.append(f"private   {found.place.private} is named in private_hosts, so that it may be fetched")
    known = str(found.suspect)
    return lines + [f"remark    {remark}" for remark in found.remarks if remark != known]
