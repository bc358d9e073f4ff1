"""A new site: its forum is looked at by address, and its site file written."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from crawl_tasks import __version__
from crawl_tasks.discovery import PUBLIC_PACE_S, HttpProbe, SiteAddress, place_of, propose_site_file
from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.fetch.address_guard import is_literal, is_local_name, is_public
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.operate.one_page import one_fetcher
from crawl_tasks.permissions import write_public
from crawl_tasks.proxy import read_proxy
from crawl_tasks.settings import Settings

if TYPE_CHECKING:
    from crawl_tasks.discovery import SiteProposal

_RESOLVED_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class NewSite:
    """The address of a forum to look at, with the choices of a person. An `output` of - writes no file."""

    address: str
    name: str | None = None
    output: str | None = None
    engine: str | None = None
    is_forced: bool = False


class NewSiteFile(NamedTuple):
    """A site file that was written to `path`. `asked` counts the requests."""

    path: Path
    proposed: SiteProposal
    asked: int


def write_site_file(wanted: NewSite, settings: Settings) -> NewSiteFile:
    """Look at a forum, and write its file unless it is for the terminal.

    Raises:
        CrawlError: there is no forum, or a file is there already.
    """
    place = find_address(wanted.address, settings)
    name = wanted.name or place.name()
    path = settings.sites_dir / f"{name}.yaml" if wanted.output is None else Path(wanted.output)
    # Before the first request: three dozen pages would be fetched, only to refuse the result.
    if wanted.output != "-" and path.exists() and not wanted.is_forced:
        raise ConfigError(f"{path}: is there already; --force replaces it, --name chooses another")
    probe = open_probe(place, settings)
    proposed = propose_site_file(probe, place, name, wanted.engine, contact=settings.contact, origin=str(path))
    if wanted.output != "-":
        write_public(path, proposed.text)
    return NewSiteFile(path, proposed, len(probe.asked))


def by_host(sites: Iterable[NewSite]) -> list[list[NewSite]]:
    """Return the sites of each host. Two hosts with one name would write one file, and count as one."""
    hosts: dict[str, list[NewSite]] = {}
    for site in sites:
        name = site.address
        with suppress(CrawlError):
            name = place_of(site.address).name()
        hosts.setdefault(name, []).append(site)
    return list(hosts.values())


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
