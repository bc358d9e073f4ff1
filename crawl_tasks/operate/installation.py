"""The examination of an installation's base. Each check returns a fact where all is well, else a problem."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import redis

from crawl_tasks.errors import BackendError, ConfigError, NoTables
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems import setup_kinds as kinds
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.operate.site_files import checked_sites, site_files
from crawl_tasks.permissions import open_to_others
from crawl_tasks.registry.site_publisher import is_public
from crawl_tasks.settings import Settings
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.database import explained
from crawl_tasks.store.upsert import Store

LEAST_PYTHON = (3, 11)
LEAST_REDIS = (7, 0)
SERIES = {"celery": "5.7.", "kombu": "5.7."}
FILES_NEEDED = 256
"""Files and connections of one process: with 64, Redis turns connections away, and with 128 a crawl ends well."""
LEAST_DISK_BYTES = 1 << 20
"""Room on a disk, in bytes, below which the disk counts as full."""
BUSY_S = 1.5
"""Time in seconds for which a database may be locked by others: a health check waits for five seconds in all."""
CLOCK_SKEW_S = 5.0
"""Difference of the clocks of this machine and of Redis that is a problem, in seconds."""


class Fact(NamedTuple):
    """A fact that is in order."""

    subject: str
    text: str


def examine_machine(settings: Settings) -> Iterator[Fact | Problem]:
    """Examine this machine, the site files and the database, causes before consequences."""
    yield from _python()
    yield from _packages()
    yield _directory(settings.state_dir)
    yield from _open_to_others(settings.state_dir)
    if settings.web_hosts and not settings.web_password:
        yield kinds.PAGE_OPEN.problem()
    yield open_files()
    yield from _sites(settings)
    yield _database(settings)


def examine_redis(frontier: Frontier, settings: Settings) -> Iterator[Fact | Problem]:
    """Examine the Redis of a cell that answers."""
    client, cell = frontier.client, frontier.cell
    url = next(place.url for place in settings.cells if place.name == cell)
    try:
        server, memory = client.info("server"), client.info("memory")
        durable = client.info("persistence").get("aof_enabled")
    except redis.RedisError as error:
        # Hosted servers and access control lists often forbid INFO. All else of a crawl works without that.
        yield kinds.REDIS_HIDDEN.problem(reason=error)
    else:
        version = str(server.get("redis_version", "0"))
        is_old = tuple(int(part) for part in version.split(".")[:2]) < LEAST_REDIS
        server_text = gettext("{url}, version {version}", url=url, version=version)
        fact = Fact("redis", server_text + (gettext(", the cell {cell}", cell=cell) if cell else ""))
        yield kinds.REDIS_OLD.problem(version=version) if is_old else fact
        if (policy := memory.get("maxmemory_policy")) != "noeviction":
            yield kinds.REDIS_EVICTS.problem(policy=policy)
        if not durable:
            yield kinds.REDIS_FORGETS.problem()
    yield from _who_may_enter(frontier, settings)
    skew_s = abs(frontier.clock_ms() / 1000 - time.time())
    if skew_s > CLOCK_SKEW_S:
        yield kinds.CLOCK_SKEW.problem(duration=duration(skew_s))


def _python() -> Iterator[Fact | Problem]:
    version = ".".join(map(str, sys.version_info[:3]))
    fact = Fact("python", gettext("{version} at {path}", version=version, path=sys.executable))
    yield kinds.PYTHON_OLD.problem(version=version) if sys.version_info[:2] < LEAST_PYTHON else fact
    if os.name == "posix" and os.geteuid() == 0:
        yield kinds.RUNS_AS_ROOT.problem()


def _packages() -> Iterator[Fact | Problem]:
    for name, series in SERIES.items():
        version = metadata.version(name)
        misfit = kinds.PACKAGE_VERSION.problem(package=name, version=version, series=series)
        yield Fact(name, version) if version.startswith(series) else misfit
    yield Fact("crawl_tasks", metadata.version("crawl_tasks"))


def _directory(directory: Path, least_bytes: int = LEAST_DISK_BYTES) -> Fact | Problem:
    # The first crawl makes the directory. Until then its nearest existing parent decides.
    parent = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
    if shutil.disk_usage(parent).free < least_bytes:
        return kinds.DISK_FULL.problem(path=parent)
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        return Fact("state", gettext("{path} is writable", path=directory))
    return kinds.STATE_DIRECTORY.problem(path=directory, parent=parent)


def _open_to_others(directory: Path) -> Iterator[Problem]:
    """Name what other users may read of a state directory, which holds texts from behind logins and Redis' password."""
    if paths := open_to_others(directory):
        yield kinds.STATE_OPEN.problem(count=len(paths), path=paths[-1], directory=directory)


def _who_may_enter(frontier: Frontier, settings: Settings) -> Iterator[Problem]:
    login = frontier.client.connection_pool.connection_kwargs
    if not login.get("password"):
        yield kinds.REDIS_OPEN.problem()
    # The embedded Redis has no other user, and a new password at each start.
    elif (login.get("username") or "default") == "default" and "redis_url" in settings.model_fields_set:
        yield kinds.REDIS_NAMELESS.problem()


def open_files() -> Fact | Problem:
    """Return the number of files that a process may open, as a problem where a crawl needs more."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < FILES_NEEDED:
        return kinds.FEW_FILES.problem(limit=limit, needed=FILES_NEEDED)
    return Fact("files", gettext("{count} may be open", count=limit))


def _sites(settings: Settings) -> Iterator[Fact | Problem]:
    # Two steps, because no file at all may be intended: another machine publishes the sites.
    try:
        site_files(settings.sites_dir)
    except ConfigError as error:
        yield kinds.NO_SITE_FILE.problem(reason=error)
        return
    try:
        sites = checked_sites(settings, ())
    except ConfigError as error:
        for line in str(error).splitlines():
            yield kinds.SITE_FILE.problem(reason=line)
        return
    names = ", ".join(site.name for site in sites)
    yield Fact("sites", gettext("{sites} in {path}", sites=names, path=settings.sites_dir))
    yield _contact(sites, settings.contact)
    if archived := [site.name for site in sites if site.archive]:
        if find_spec("warcio") is None:
            yield kinds.ARCHIVE_PACKAGE.problem(sites=", ".join(archived))
        yield _directory(settings.archive_dir, settings.archive_free_bytes)


def examine_published(settings: Settings, snapshot: Snapshot) -> Iterator[Problem]:
    """Examine which published sites are in no file of this machine, or in another one than the published."""
    # By the names of files first: a site in a file with a mistake is there as well.
    try:
        names = {path.stem for path in site_files(settings.sites_dir)}
        versions = {site.name: site.version for site in checked_sites(settings, ())}
    except ConfigError:
        return
    for site in snapshot.sites:
        if versions.get(site.name, site.version) != site.version:
            yield kinds.SITE_DIFFERS.problem(site.name, publisher=site.publisher)
        elif site.name not in names | versions.keys() and not site.is_withdrawn:
            yield kinds.SITE_ELSEWHERE.problem(site.name, publisher=site.publisher)


def examine_places(cells: Cells) -> Iterator[Problem]:
    """Examine which sites are not in the cell that the hash gives them."""
    if misplaced := cells.misplaced() if len(cells.names) > 1 and not cells.down else {}:
        yield kinds.SITES_MISPLACED.problem(count=len(misplaced), sites=", ".join(list(misplaced)[:10]))


def _contact(sites: list[Site], contact: str | None) -> Fact | Problem:
    if contact:
        return Fact("contact", contact)
    if public := [site.name for site in sites if is_public(site)]:
        return kinds.NO_CONTACT.problem(sites=", ".join(public))
    return Fact("contact", gettext("not set, and no site is public; public ones need CRAWL_CONTACT"))


def _database(settings: Settings) -> Fact | Problem:
    url = settings.database_url
    file = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not file.exists():
        return Fact("database", gettext("{path} is not there yet; the first crawl makes it", path=file))
    # Without creating tables: a check changes nothing.
    try:
        with explained(url), Store(url, busy_timeout_s=BUSY_S).open(create=False) as store:
            store.database.probe(BUSY_S)
            return Fact("database", gettext("{url} is open for writing", url=url))
    except NoTables:
        return Fact("database", gettext("{url} is empty yet; the first crawl fills it", url=url))
    except BackendError as error:
        is_busy = any(word in str(error) for word in ("is locked", "lock timeout", "statement timeout"))
        return (kinds.DATABASE_BUSY if is_busy else kinds.DATABASE_DOWN).problem(reason=error)
