"""The publication of site files to their cells, and the withdrawal of sites whose files are gone."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from crawl_tasks.errors import ConfigError, ParseError, RedisUnreachable, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Operator, Stage, State
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.operate.site_files import hosts_of
from crawl_tasks.registry.site_publisher import publish_site, read_or_none
from crawl_tasks.settings import Settings
from crawl_tasks.sites.old_rules import OldRules
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import dump_site


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The publication of a site, or its failure with the reason."""

    site: str
    failure: str = ""
    replaced: str = ""
    """The publisher of another file that this one takes the place of."""
    old_rules: Problem | None = None
    """The threads that the file before read with other rules."""
    ready_again: int = 0
    """Failed pages that have another address by this file."""


def publish_all(
    settings: Settings, cells: Cells, sites: Sequence[Site], announce: Callable[[PublishResult], None]
) -> list[str]:
    """Publish sites to their cells, announce each, and return the names of the published ones."""
    refuse_shared_hosts(cells, sites)
    results = [_publish(settings, cells, site, announce) for site in sites]
    return [result.site for result in results if not result.failure]


def _publish(settings: Settings, cells: Cells, site: Site, announce: Callable[[PublishResult], None]) -> PublishResult:
    replaced, ours = "", publisher_of(settings)
    try:
        frontier = cells.of(site.name)
        if (before := frontier.sites.publisher(site.name)) != ours:
            replaced = before if frontier.sites.published(site.name) != dump_site(site) else ""
        moved = publish_site(frontier, site, settings.contact, ours)
    except RedisUnreachable as error:
        if not cells.down:
            raise
        result = PublishResult(site.name, failure=str(error))
    else:
        old_rules = threads_read_before(settings.database_url, frontier, site.name)
        result = PublishResult(site.name, replaced=replaced, old_rules=old_rules, ready_again=moved)
    announce(result)
    return result


def republish(frontier: Frontier, site: Site, settings: Settings, stages: Iterable[Stage]) -> int:
    """Publish a mended site and make the pages of these stages ready that its rules could not read. Return how many."""
    publish_site(frontier, site, settings.contact, publisher_of(settings))
    total = sum(frontier.kept_pages.reopen(site.name, stage) for stage in stages)
    parked = Selection(site.name, State.PARKED, ParseError.reason)
    return total + Admin(frontier).failed.requests.retry(parked)


def publisher_of(settings: Settings) -> str:
    """Return the name under which this directory publishes, as host:directory."""
    return f"{socket.gethostname()}:{settings.sites_dir.resolve()}"


def threads_read_before(database_url: str, frontier: Frontier, site: str) -> Problem | None:
    """Return the problem of threads that the file before read, None without any, or without a database to ask."""
    if not OldRules.read(frontier.sites.old_rules(site)).other:
        return None
    # SQLAlchemy costs 0.25 s, and most files have had no other rules.
    from crawl_tasks.recovery.fsck import read_by_old_rules  # noqa: PLC0415
    from crawl_tasks.store.upsert import Store  # noqa: PLC0415

    try:
        with Store(database_url).open(create=False) as store:
            return read_by_old_rules(frontier, store, site)
    except StoreError:
        return None


def withdraw_others(cells: Cells, settings: Settings, names: set[str], by: Operator) -> Iterator[str]:
    """Withdraw the sites that this directory published and has no file of any more, and yield each name."""
    # Not those of other hosts and directories: each operator's files decide about the sites that they published.
    for name, frontier in cells.sites().items():
        if name not in names and frontier.sites.withdraw(name, publisher_of(settings), by):
            yield name


def refuse_shared_hosts(cells: Cells, sites: Iterable[Site]) -> None:
    """Refuse a site with a host of a published site of another name: that of another directory, or a renamed one.

    Raises:
        ConfigError: a published site has the host.
    """
    owners = {host: site.name for site in sites for host in hosts_of(site)}
    for name, frontier in cells.sites().items():
        text = "" if name in owners.values() else frontier.sites.published(name) or ""
        # Reading a site takes more than a millisecond, and most have none of these hosts.
        other = read_or_none(text) if any(host in text.lower() for host in owners) else None
        for host in sorted(hosts_of(other) & owners.keys()) if other else ():
            raise ConfigError(
                f"{owners[host]}: {host} is the host of the published site {name} too, and it would be asked at the"
                f" pace of both; nothing was published. To take its place: crawl-tasks sites remove {name}"
            )
