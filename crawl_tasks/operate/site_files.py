"""The site files of a directory: each loaded and fit to be published, or the mistakes of all."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from urllib.parse import urlsplit

from crawl_tasks.errors import ConfigError, SiteError
from crawl_tasks.fetch.browser import missing
from crawl_tasks.model import Stage
from crawl_tasks.registry.own_functions import check_functions
from crawl_tasks.registry.site_publisher import check_addresses, is_public, require_contact
from crawl_tasks.settings import Settings
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.grants import SUFFIXES
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site

_NEVER_NEW = frozenset({"post_id", "forum_id", "url", "author", "created_at"})


def checked_sites(settings: Settings, names: tuple[str, ...]) -> list[Site]:
    """Load the sites that were named, or all, each fit to be published.

    Raises:
        ConfigError: a name has no file, or a file is wrong. The message lists the mistakes of all files.
    """
    names = tuple(_name_in(settings.sites_dir, name) for name in names)
    sites: dict[str, Site] = {}
    mistakes: list[str] = []
    owners: dict[str, Site] = {}
    # All files, also where only some are named: the same name or host may be in another file.
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


def hosts_of(site: Site) -> Set[str]:
    """Return the hosts that a site has for itself, those of a private one with the port."""
    return site.allowed_hosts if is_public(site) else {urlsplit(site.base).netloc}


def _claim_hosts(site: Site, owners: dict[str, Site], path: Path) -> None:
    """Refuse a second file for a host, or for a host and port where the site is private.

    Raises:
        SiteError: another file has the host.
    """
    # Each file has a throttle of its own, and the host would be asked at the pace of both.
    for host in sorted(hosts_of(site)):
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
