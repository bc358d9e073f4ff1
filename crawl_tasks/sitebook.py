"""The sites a process works for, opened once per version: parser compiled, policies made."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from crawl_tasks import __version__
from crawl_tasks.errors import ConfigError
from crawl_tasks.fetch.download import FetchPolicy
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.retry import RetryPolicy
from crawl_tasks.items.sieve import Sieve
from crawl_tasks.model import Stage
from crawl_tasks.parse.page import SiteParser, compile_parser
from crawl_tasks.proxy import Proxy, read_proxy
from crawl_tasks.sites.address import Addresses
from crawl_tasks.sites.published import read_site
from crawl_tasks.sites.schema import HEADER_VALUE, Site
from crawl_tasks.sites.steps import ItemStep
from crawl_tasks.urls import origin_of


@dataclass(frozen=True, slots=True)
class OpenSite:
    """A site ready for work: how to fetch, parse and retry its pages; `sieve` is None when items pass no steps.

    `remarked` holds the kinds of remarks that were logged, so that a process says each once of a version of a site.
    """

    site: Site
    parser: SiteParser
    policy: FetchPolicy
    retry: RetryPolicy
    addresses: Addresses
    sieve: Sieve | None = None
    remarked: set[str] = field(default_factory=set, compare=False)

    def address(self, stage: Stage, key: str, page: int) -> str:
        """Write the address of a page.

        Raises:
            ConfigError: the site file has no template for it.
        """
        address = self.addresses.of(stage, key, page)
        if address is None:
            raise ConfigError(f"site {self.site.name} gives no address for {stage.value} {key}; send the url instead")
        return address


def user_agent(site: Site, contact: str | None) -> str:
    """Say who we are to a site."""
    named = site.user_agent or f"crawl_tasks/{__version__}"
    return f"{named} (+{contact})" if contact and contact not in named else named


def secret_headers(site: Site, environment: Mapping[str, str]) -> dict[str, str]:
    """Give the headers that a site file only names; where it is published or stored, there is nothing else.

    Raises:
        ConfigError: a variable is not set, or holds what no header may.
    """
    found = {}
    for header, variable in site.secret_headers.items():
        value = environment.get(variable, "").strip()
        if not value or not HEADER_VALUE.fullmatch(value):
            why = "is not printable ASCII on one line" if value else "is not set"
            raise ConfigError(f"site {site.name}: {variable}, for the header {header}, {why} in this process")
        found[header] = value
    return found


def site_proxy(site: Site, environment: Mapping[str, str]) -> Proxy | None:
    """Give the proxy of a site; None where it names none.

    Raises:
        ConfigError: the variable that is to hold it is not set, or holds something else.
    """
    if site.proxy is None:
        return None
    if not site.proxy.startswith("FORUM_"):
        return read_proxy(site.proxy, f"site {site.name}: proxy")
    where = f"site {site.name}: {site.proxy}, its proxy,"
    if not environment.get(site.proxy):
        raise ConfigError(f"{where} is not set in this process")
    return read_proxy(environment[site.proxy].strip(), where)


def open_site(site: Site, contact: str | None, steps: tuple[ItemStep, ...] = ()) -> OpenSite:
    """Compile a site's parser and make its policies; `steps` of the whole crawl come before its own."""
    gate = site.gate
    steps += site.items
    policy = FetchPolicy(
        user_agent=user_agent(site, contact),
        origin=origin_of(site.base),
        headers=site.headers | secret_headers(site, os.environ),
        deadline_s=gate.deadline_s,
        max_wire_bytes=gate.max_wire_bytes,
        max_body_bytes=gate.max_body_bytes,
        max_redirects=gate.max_redirects,
        allowed_hosts=frozenset({urlsplit(site.base).netloc, *site.hosts}),
        private_hosts=frozenset(site.private_hosts),
        robots=site.robots,
        proxy=site_proxy(site, os.environ),
    )
    retry = RetryPolicy(gate.max_attempts, gate.retry_base_s, gate.retry_max_s)
    return OpenSite(site, compile_parser(site), policy, retry, Addresses(site), Sieve(steps, site) if steps else None)


class SiteBook:
    """Published sites, by name and version. Thread-safe; keeps one version of each."""

    def __init__(self, frontier: Frontier, contact: str | None, steps: tuple[ItemStep, ...] = ()) -> None:
        self._frontier = frontier
        self._contact = contact
        self._steps = steps
        self._open: dict[str, tuple[str, OpenSite]] = {}
        # One for each site: reading it is a round trip, and the others need not wait for that.
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def open(self, name: str, version: str) -> OpenSite:
        """Give a site at the version a lease named, reading it from Redis when it changed.

        Raises:
            ConfigError: no such site is published.
        """
        known = self._open.get(name)
        if known is not None and known[0] == version:
            return known[1]
        with self._locks[name]:
            known = self._open.get(name)
            if known is not None and known[0] == version:
                return known[1]
            opened = self.latest(name)
            # Under the lease's version: a newer file that was published since is read again at the next lease.
            self._open[name] = (version, opened)
            return opened

    def latest(self, name: str) -> OpenSite:
        """Read a site as it is published now.

        Raises:
            ConfigError: no such site is published.
        """
        text = self._frontier.sites.published(name)
        if text is None:
            raise ConfigError(f"site {name!r} is not published; `crawl-tasks sites check` publishes config/sites")
        return open_site(read_site(text), self._contact, self._steps)
