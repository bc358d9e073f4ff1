"""`crawl-tasks sites check`: reads every site file, shows all mistakes, publishes the sites to the workers."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from urllib.parse import urlsplit

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.ledger import require_ledger
from crawl_tasks.cli.old_rules import read_before
from crawl_tasks.cli.operator import operator, store_decisions
from crawl_tasks.cli.site_removal import flush, list_, remove, without_removed
from crawl_tasks.cli.site_transfer import move
from crawl_tasks.cli.terminal import examples, printable
from crawl_tasks.discovery import Difference, cases_of, replay
from crawl_tasks.errors import BackendError, ConfigError, RedisUnreachable, SiteError
from crawl_tasks.fetch.browser import missing
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.logs import hide_passwords
from crawl_tasks.model import Stage
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.registry.own_functions import check_functions
from crawl_tasks.registry.site_publisher import check_addresses, is_public, publish_site, read_or_none, require_contact
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.grants import SUFFIXES
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import dump_site

_NEVER_NEW = frozenset({"post_id", "forum_id", "url", "author", "created_at"})


@click.group(epilog=examples("crawl-tasks sites check", "crawl-tasks sites list", "crawl-tasks sites remove demo"))
def command() -> None:
    """Check the site files and publish them to the workers. List, flush, move and remove sites."""


command.add_command(list_)
command.add_command(move)
command.add_command(flush)
command.add_command(remove)


@command.command(
    short_help="Read the site files, show all mistakes, publish.",
    epilog=examples(
        "crawl-tasks sites check", "crawl-tasks sites check demo", "crawl-tasks sites check demo --no-publish"
    ),
)
@click.argument("name", required=False)
@click.option("--publish/--no-publish", default=True, help="Publish the sites to all workers.", show_default=True)
def check(name: str | None, publish: bool) -> None:
    """Read every file of the sites directory, or only NAME's, and show all mistakes with file, line and remedy."""
    settings = load_settings()
    sites = checked_sites(settings, (name,) if name else ())
    for site in sites:
        click.echo(describe(site))
        for line in (*doubles(site), *unfit_revision(site), *undrawn(site)):
            click.echo(f"{site.name}: {line}", err=True)
    check_cases(settings, sites)
    if publish:
        cells = open_cells(settings)
        require_ledger(settings, cells, sites)
        sites = without_removed(cells, sites, (name,) if name else ())
        published = publish_all(settings, cells, sites)
        click.echo(f"published: {', '.join(published)}")
        if not name:
            _withdraw_others(cells, settings, {site.name for site in sites})
        store_decisions(settings, cells)
        if len(published) < len(sites):
            raise BackendError("; ".join(map(str, cells.down.values())))


def publish_all(settings: Settings, cells: Cells, sites: Sequence[Site]) -> list[str]:
    """Publish sites to their cells, and return the names of the published ones. The others are told."""
    refuse_shared_hosts(cells, sites)
    published, ours = [], publisher_of(settings)
    for site in sites:
        replaced = ""
        try:
            frontier = cells.of(site.name)
            if (before := frontier.sites.publisher(site.name)) != ours:
                replaced = before if frontier.sites.published(site.name) != dump_site(site) else ""
            moved = publish_site(frontier, site, settings.contact, ours)
        except RedisUnreachable as error:
            if not cells.down:
                raise
            click.echo(f"{site.name}: not published: {hide_passwords(str(error))}", err=True)
            continue
        published.append(site.name)
        if replaced:
            click.echo(f"{site.name}: in place of another file, which {replaced} published", err=True)
        if old := read_before(settings, frontier, site.name):
            click.echo(old.advice(), err=True)
        if moved:
            click.echo(f"{site.name}: {counted(moved, 'failed page')} with another address now, ready again")
    return published


def publisher_of(settings: Settings) -> str:
    """Return the name under which this directory publishes, as host:directory."""
    return f"{socket.gethostname()}:{settings.sites_dir.resolve()}"


def _withdraw_others(cells: Cells, settings: Settings, names: set[str]) -> None:
    """Withdraw the sites that this directory published and has no file of any more."""
    # Not those of other hosts and directories: each operator's files decide about the sites that they published.
    for name, frontier in cells.sites().items():
        if name not in names and frontier.sites.withdraw(name, publisher_of(settings), operator()):
            click.echo(f"{name}: its file is gone, so that no scan begins; for good: crawl-tasks sites remove {name}")


def checked_sites(settings: Settings, names: tuple[str, ...]) -> list[Site]:
    """Load the sites that were named, or all, each fit to be published.

    Raises:
        ConfigError: a name has no file, or a file is wrong. The message lists the mistakes of all files.
    """
    names = tuple(_name_in(settings.sites_dir, name) for name in names)
    sites: dict[str, Site] = {}
    mistakes: list[str] = []
    owners: dict[str, Site] = {}
    # All files, also where only some are named: the same name or host may stand in another file.
    for path in site_files(settings.sites_dir):
        try:
            site = _checked(path, settings.contact)
            if site.name in sites:
                raise SiteError(f"{path}: name: {site.name!r} is another file's name too; rename one of them")
            _claim_hosts(site, owners, path)
            sites[site.name] = site
        except ConfigError as error:
            if not names or path.stem in names:
                mistakes.append(str(error))
    # Only without other mistakes: a file that cannot be read may well be the one that is missing here.
    mistakes += [
        f"{settings.sites_dir / name}.yaml: there is no such site; there are: {', '.join(sites) or 'none'}"
        for name in names
        if name not in sites and not mistakes
    ]
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return [sites[name] for name in names or sites]


def _name_in(directory: Path, name: str) -> str:
    """Return the name of a site from the name or the file."""
    # A shell completes file names, so people type config/sites/demo.yaml where demo is meant.
    file = Path(name)
    is_there = file.parent == Path() or file.resolve().parent == directory.resolve()
    return file.stem if file.suffix in SUFFIXES and is_there else name


def check_cases(settings: Settings, sites: list[Site]) -> None:
    """Replay the kept pages (test cases) of the sites, and print their number.

    Raises:
        ConfigError: a page gives other items than when it was kept.
    """
    mistakes: list[str] = []
    for site in sites:
        directory = cases_of(file_of(settings, site.name))
        if directory.is_dir():
            found = list(replay(directory, compile_site(site, settings.contact)))
            mistakes += [f"{one.case}: {one.what}" for one in found if isinstance(one, Difference)]
            click.echo(f"{site.name}: {sum(isinstance(one, Path) for one in found)} kept pages read as before")
    if mistakes:
        raise ConfigError("\n".join([*map(printable, mistakes), "mend the rules, or keep the pages anew: try --save"]))


def file_of(settings: Settings, name: str) -> Path:
    """Return the file of a site that was loaded from the sites directory."""
    # A site's name may differ from the name of its file. Loading files costs time, so the likely one comes first.
    files = site_files(settings.sites_dir)
    named = [path for path in files if path.stem == name]
    return named[0] if named else next(path for path in files if load_site(path).name == name)


def site_files(directory: Path) -> list[Path]:
    """Return the site files of a directory, in the order of their names.

    Raises:
        ConfigError: the directory cannot be read, or has no site file.
    """
    try:
        files = sorted(path for path in directory.iterdir() if path.suffix in SUFFIXES)
    except OSError as error:
        raise ConfigError(f"{directory}: cannot be read: {error.strerror}; set CRAWL_SITES_DIR") from None
    if not files:
        raise ConfigError(f"{directory}: holds no site file; write NAME.yaml there or set CRAWL_SITES_DIR")
    return files


def _checked(path: Path, contact: str | None) -> Site:
    site = load_site(path)
    check_addresses(site)
    check_functions(site, path)
    require_contact(site, contact)
    return site


def refuse_shared_hosts(cells: Cells, sites: Iterable[Site]) -> None:
    """Refuse a site with a host of a published site of another name: that of another directory, or a renamed one.

    Raises:
        ConfigError: a published site has the host.
    """
    owners = {host: site.name for site in sites for host in _hosts(site)}
    for name, frontier in cells.sites().items():
        text = "" if name in owners.values() else frontier.sites.published(name) or ""
        # Reading a site takes more than a millisecond, and most have none of these hosts.
        other = read_or_none(text) if any(host in text.lower() for host in owners) else None
        for host in sorted(_hosts(other) & owners.keys()) if other else ():
            raise ConfigError(
                f"{owners[host]}: {host} is the host of the published site {name} too, and it would be asked at the"
                f" pace of both; nothing was published. To take its place: crawl-tasks sites remove {name}"
            )


def _hosts(site: Site) -> Set[str]:
    """Return the hosts that a site has for itself, those of a private one with the port."""
    return site.allowed_hosts if is_public(site) else {urlsplit(site.base).netloc}


def _claim_hosts(site: Site, owners: dict[str, Site], path: Path) -> None:
    """Refuse a second file for a host, or for a host and port where the site is private.

    Raises:
        SiteError: another file has the host.
    """
    # Each file has a throttle of its own, and the host would be asked at the pace of both.
    for host in sorted(_hosts(site)):
        owner = owners.setdefault(host, site)
        if owner is not site:
            raise SiteError(
                f"{path}: base: {host} is the host of site {owner.name} too, and it would be asked at the pace of both;"
                " put the boards into one file"
            )


def undrawn(site: Site) -> list[str]:
    """Return a warning for a site with pages that cannot be drawn on this machine."""
    lack = missing() if site.rendered else ""
    return [f"here no worker can serve the queue render: {lack}"] if lack else []


def doubles(site: Site) -> list[str]:
    """Return a warning for each board whose address is that of another board."""
    addresses = Addresses(site)
    first: dict[str, str] = {}
    lines = []
    # The boards of a list have one template and different ids, so that only addresses of their own can be equal.
    for board in (*site.named_boards, *site.own_boards) if site.board_list else site.named_boards:
        address = addresses.of(Stage.LIST, board.id, 1) or ""
        other = first.setdefault(address, board.id)
        if other != board.id:
            lines.append(
                f"boards {other} and {board.id} have one address: it is scanned twice, its threads are read once"
            )
    return lines


def unfit_revision(site: Site) -> list[str]:
    """Return warnings about a revision that, by the site file alone, changes never or too often."""
    names = {sign.field for sign in site.list.revision}
    lines = []
    if site.list.record is not None and names <= _NEVER_NEW:
        lines.append(
            "list.revision names nothing that changes when a thread does: each thread is read once; add a reply count "
            "and the last reply's time or id"
        )
    if "view_count" in names:
        lines.append("list.revision names view_count: each thread is fetched again whenever somebody has read it")
    return lines


def describe(site: Site) -> str:
    """Return one line about a correct site: address, boards, stages and pace."""
    gate = site.gate
    boards = counted(site.board_count, "board")
    stages = ", ".join(stage.value for stage in site.stages)
    pace = f"{gate.window} in flight" + (f", one every {gate.delay_s:g} s" if gate.delay_s else ", no delay")
    return f"{site.name}: OK: {site.base}, {boards}, {stages}; {pace}; at most {gate.max_backlog} open"
