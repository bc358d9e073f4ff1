"""The site registry: the sites of a process, each compiled once per version (parser, policies, item pipeline)."""

from __future__ import annotations

import operator
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import SupportsIndex, cast
from urllib.parse import urlsplit

from crawl_tasks import __version__
from crawl_tasks.errors import ConfigError, Crashed, PageError, ParseError
from crawl_tasks.fetch.fetch_policy import FetchPolicy, RenderPolicy
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.retry import RetryPolicy
from crawl_tasks.items.pipeline import ItemPipeline
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.parse.site_parser import SiteParser, compile_parser
from crawl_tasks.proxy import Proxy, read_proxy
from crawl_tasks.registry.login_steps import login_policy
from crawl_tasks.registry.site_requests import prepare_function, reader_of, request_builder, response_function
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.crawl_policy import GuardMode
from crawl_tasks.sites.functions import failure_text, find_function
from crawl_tasks.sites.item_steps import ItemStep
from crawl_tasks.sites.old_addresses import OldAddresses
from crawl_tasks.sites.request_headers import HEADER_VALUE, forum_variable
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import read_site
from crawl_tasks.urls import origin_of


@dataclass(frozen=True, slots=True)
class CompiledSite:
    """A site ready for work: parser, policies of fetching and retrying, addresses, item pipeline.

    `pipeline` is None when items pass no steps, `priority_of` when no function gives priorities. `remarked` holds the
    kinds of remarks that were logged already, so that a process logs each once for a version of a site.
    """

    site: Site
    parser: SiteParser
    policy: FetchPolicy
    retry: RetryPolicy
    addresses: Addresses
    old: OldAddresses
    pipeline: ItemPipeline | None = None
    priority_of: Callable[[Request, Request], int] | None = None
    remarked: set[str] = field(default_factory=set, compare=False)

    @property
    def stages_by_database(self) -> tuple[Stage, ...]:
        """Return the stages whose duplicate guard is the database."""
        guard = self.site.guard
        modes = {Stage.POST: guard.post, Stage.COMMENT: guard.comment}
        return tuple(stage for stage, mode in modes.items() if mode is GuardMode.DATABASE)

    def current(self, request: Request) -> Request:
        """Return a request with the address of this version, where an earlier version gave its address.

        Raises:
            RefusedAddress: the key makes no address.
        """
        address = self.old.moved(request, self.addresses)
        return request if address is None else request._replace(address=address)

    def address(self, stage: Stage, key: str, page: int) -> str:
        """Return the address of a page.

        Raises:
            ConfigError: the site file has no template for such pages.
        """
        address = self.addresses.of(stage, key, page)
        if address is None:
            raise ConfigError(f"site {self.site.name} gives no address for {stage.value} {key}; send the url instead")
        return address


def user_agent(site: Site, contact: str | None) -> str:
    """Return the User-Agent for a site, with the contact (RFC 9110 section 10.1.5)."""
    named = site.user_agent or f"crawl_tasks/{__version__}"
    return f"{named} (+{contact})" if contact and contact not in named else named


def secret_headers(site: Site, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the headers whose values are in environment variables.

    Raises:
        ConfigError: a variable is not set, or holds characters that no header may have.
    """
    # Site files are published to Redis and kept in the database. So they name the variables and never the secrets.
    headers = {}
    for header, variable in site.secret_headers.items():
        value = forum_variable(environment, variable)
        if not value or not HEADER_VALUE.fullmatch(value):
            why = "is not printable ASCII on one line" if value else "is not set"
            raise ConfigError(f"site {site.name}: {variable}, for the header {header}, {why} in this process")
        headers[header] = value
    return headers


def site_proxy(site: Site, environment: Mapping[str, str]) -> Proxy | None:
    """Return the proxy of a site, or None where the site file names none.

    Raises:
        ConfigError: the variable for the proxy is not set, or holds no proxy.
    """
    if site.proxy is None:
        return None
    if not site.proxy.startswith("FORUM_"):
        return read_proxy(site.proxy, f"site {site.name}: proxy")
    where = f"site {site.name}: {site.proxy}, its proxy,"
    address = forum_variable(environment, site.proxy)
    if not address:
        raise ConfigError(f"{where} is not set in this process")
    return read_proxy(address, where)


def compile_site(
    site: Site, contact: str | None, steps: tuple[ItemStep, ...] = (), old: OldAddresses | None = None
) -> CompiledSite:
    """Return a site with compiled parser and policies. The `steps` of the whole crawl come before those of the site."""
    gate = site.gate
    steps += site.items
    headers = site.headers | secret_headers(site, os.environ)
    parser = compile_parser(site)
    policy = FetchPolicy(
        user_agent=user_agent(site, contact),
        origin=origin_of(site.base),
        headers=headers,
        deadline_s=gate.deadline_s,
        max_wire_bytes=gate.max_wire_bytes,
        max_body_bytes=gate.max_body_bytes,
        max_redirects=gate.max_redirects,
        allowed_hosts=frozenset({urlsplit(site.base).netloc, *site.hosts}),
        private_hosts=frozenset(site.private_hosts),
        robots=site.robots,
        proxy=site_proxy(site, os.environ),
        build=request_builder(site),
        prepare=prepare_function(site),
        on_response=response_function(site),
        read_from=reader_of(site),
        cookies=site.cookies,
        login=login_policy(site, headers),
        render={
            stage: RenderPolicy(
                **render.model_dump(exclude_none=True, exclude={"auto"}),
                timezone=site.timezone,
                reads=partial(_reads, parser) if render.auto else None,
            )
            for stage, render in site.rendered.items()
        },
    )
    retry = RetryPolicy(gate.max_attempts, gate.retry_base_s, gate.retry_max_s)
    pipeline = ItemPipeline(steps, site) if steps else None
    return CompiledSite(
        site,
        parser,
        policy,
        retry,
        Addresses(site),
        old or OldAddresses([]),
        pipeline,
        priority_function(site),
    )


def _reads(parser: SiteParser, request: Request, page: Fetched) -> bool:
    """Return whether the rules find something in a page, be it that the page is gone or wants a login."""
    try:
        parsed = parser.parse(request, page, 0)
    except ParseError:
        return False
    except PageError:
        return True
    return bool(parsed.items.posts or parsed.items.comments or parsed.children)


def priority_function(site: Site) -> Callable[[Request, Request], int] | None:
    """Return the site's own function from a request and the page that led to it to a priority."""
    if site.priority_of is None:
        return None
    function, wanted = find_function(site.priority_of, f"{site.name}: priority_of", ("request", "parent"))

    def call(request: Request, parent: Request) -> int:
        offers = {"request": request, "parent": parent}
        try:
            return operator.index(cast(SupportsIndex, function(**{name: offers[name] for name in wanted})))
        except Exception as error:
            # Foreign code may raise anything.
            raise Crashed(f"priority_of: {failure_text(error, function)}") from error

    return call


class SiteRegistry:
    """The published sites by name and version. Thread-safe. One version of each is kept."""

    def __init__(
        self,
        frontier: Frontier,
        contact: str | None,
        steps: tuple[ItemStep, ...] = (),
        read: Callable[[str], Site] = read_site,
    ) -> None:
        """Make a registry. `read` returns the site of a published text, or refuses it, as `Grants.read` does."""
        self._frontier = frontier
        self._read = read
        self._contact = contact
        self._steps = steps
        self._open: dict[str, tuple[str, CompiledSite]] = {}
        # One for each site: reading a site takes a round trip, and threads at other sites need not wait for it.
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def open(self, name: str, version: str) -> CompiledSite:
        """Return a site at the version of a lease, read from Redis if the version is another than before.

        Raises:
            ConfigError: no such site is published.
        """
        known = self._open.get(name)
        if known is not None and known[0] == version:
            return known[1]
        with self._locks[name]:
            # Again, with the lock: another thread may have compiled the site meanwhile.
            known = self._open.get(name)
            if known is not None and known[0] == version:
                return known[1]
            opened = self.latest(name)
            # Kept under the version of the lease. If a newer file was published since, the next lease names the newer
            # version, and the site is read again.
            self._open[name] = (version, opened)
            return opened

    def latest(self, name: str) -> CompiledSite:
        """Return a site as published now, without keeping it.

        Raises:
            ConfigError: no such site is published.
        """
        text = self._frontier.sites.published(name)
        if text is None:
            self._frontier.sites.require_no_move(name)
            raise ConfigError(f"site {name!r} is not published; `crawl-tasks sites check` publishes config/sites")
        old = OldAddresses.read(self._frontier.sites.old_addresses(name))
        return compile_site(self._read(text), self._contact, self._steps, old)
