"""The doctor's examinations: each looks at one thing and says ok, warn or fail, with the remedy."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

import redis

from crawl_tasks.cli.backend import connect_now
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.presence import serving_workers
from crawl_tasks.cli.sites import checked_sites
from crawl_tasks.errors import BackendError, ConfigError, CrawlError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.advice import counted
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.publishing import is_public
from crawl_tasks.queues import QUEUES
from crawl_tasks.settings import Settings
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.database import explained
from crawl_tasks.store.upsert import Store

LEAST_PYTHON = (3, 11)
LEAST_REDIS = (7, 0)
SERIES = {"celery": "5.7.", "kombu": "5.7."}
CLOCK_SKEW_S = 5.0


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found; `text` ends with the remedy when there is something to do."""

    level: Level
    what: str
    text: str
    exit_code: int = Exit.OK


def examine(settings: Settings) -> list[Finding]:
    """Look at everything, in the order in which one thing stands on another."""
    findings = [*_python(), *_packages(), *_directory(settings.state_dir), *_sites(settings), *_database(settings)]
    try:
        client = connect_now(settings.redis_url, settings.redis_master)
    except CrawlError as error:
        return [*findings, Finding(Level.FAIL, "redis", str(error), error.exit_code)]
    with client:
        findings += [*_redis(client, settings), *_workers(settings), *_beat(client, settings)]
    return findings


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < LEAST_PYTHON:
        yield Finding(Level.FAIL, "python", f"{version} is too old; install 3.11 or later", Exit.USAGE)
    else:
        yield Finding(Level.OK, "python", f"{version} at {sys.executable}")
    if os.name == "posix" and os.geteuid() == 0:
        yield Finding(Level.WARN, "user", "root; a crawler needs no rights of root: run it as a user of its own")


def _packages() -> Iterator[Finding]:
    for name, series in SERIES.items():
        version = metadata.version(name)
        if version.startswith(series):
            yield Finding(Level.OK, name, version)
        else:
            remedy = f"the transport is made for {series}x; run: make setup"
            yield Finding(Level.FAIL, name, f"{version}: {remedy}", Exit.USAGE)


def _directory(state_dir: Path) -> Iterator[Finding]:
    there = next(path for path in (state_dir.absolute(), *state_dir.absolute().parents) if path.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        yield Finding(Level.OK, "state", f"{state_dir} is writable")
    else:
        text = f"{state_dir}: {there} cannot be written; mend its permissions or set CRAWL_STATE_DIR"
        yield Finding(Level.FAIL, "state", text, Exit.USAGE)


def _sites(settings: Settings) -> Iterator[Finding]:
    try:
        sites = checked_sites(settings, ())
    except ConfigError as error:
        for line in str(error).splitlines():
            yield Finding(Level.FAIL, "sites", line, error.exit_code)
        return
    yield Finding(Level.OK, "sites", f"{', '.join(site.name for site in sites)} in {settings.sites_dir}")
    yield _contact(sites, settings.contact)


def _contact(sites: list[Site], contact: str | None) -> Finding:
    if contact:
        return Finding(Level.OK, "contact", contact)
    public = [site.name for site in sites if is_public(site)]
    if not public:
        return Finding(Level.OK, "contact", "not set, and no site is public; public ones need CRAWL_CONTACT")
    text = (
        f"not set, and {', '.join(public)} cannot be crawled without; set CRAWL_CONTACT to a page or address of yours"
    )
    return Finding(Level.FAIL, "contact", text, Exit.USAGE)


def _database(settings: Settings) -> Iterator[Finding]:
    url = settings.database_url
    file = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not file.exists():
        yield Finding(Level.OK, "database", f"{file} is not there yet; the first crawl makes it")
        return
    try:
        with explained(url), Store(url).open(create=False) as store, store.database.writing():
            yield Finding(Level.OK, "database", f"{url} is open for writing")
    except BackendError as error:
        yield Finding(Level.FAIL, "database", str(error), error.exit_code)


def _redis(client: redis.Redis, settings: Settings) -> Iterator[Finding]:
    try:
        server, memory = client.info("server"), client.info("memory")
        durable = client.info("persistence").get("aof_enabled")
    except redis.RedisError as error:
        yield Finding(Level.WARN, "redis", f"{settings.redis_url} does not let us look at INFO: {error}")
        return
    version = str(server.get("redis_version", "0"))
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_REDIS:
        yield Finding(Level.FAIL, "redis", f"{version} is too old; install Redis 7.0 or Valkey", Exit.BACKEND)
    else:
        yield Finding(Level.OK, "redis", f"{settings.redis_url}, version {version}")
    policy = memory.get("maxmemory_policy")
    if policy != "noeviction":
        text = f"maxmemory-policy is {policy}: it would throw the ledger away; CONFIG SET maxmemory-policy noeviction"
        yield Finding(Level.FAIL, "memory", text, Exit.BACKEND)
    if not durable:
        text = "appendonly is off: a restart of Redis forgets the ledger; CONFIG SET appendonly yes"
        yield Finding(Level.WARN, "memory", text)
    skew_s = abs(Frontier(client, settings.redis_prefix).clock_ms() / 1000 - time.time())
    if skew_s > CLOCK_SKEW_S:
        yield Finding(Level.WARN, "clock", f"ours and Redis' are {skew_s:.0f} s apart; set up NTP on both machines")


def _workers(settings: Settings) -> Iterator[Finding]:
    try:
        serving = serving_workers(settings)
    except BackendError as error:
        yield Finding(Level.FAIL, "worker", str(error), error.exit_code)
        return
    for queue in QUEUES:
        names = serving.get(queue, [])
        if names:
            yield Finding(Level.OK, "worker", f"{queue}: {', '.join(names)}")
        else:
            how = "list" if queue == "control" else queue
            yield Finding(Level.WARN, "worker", f"nobody serves {queue}; start: celery -A crawl_tasks worker -Q {how}")


def _beat(client: redis.Redis, settings: Settings) -> Iterator[Finding]:
    frontier = Frontier(client, settings.redis_prefix, settings.store_at, settings.outbox_max)
    snapshot = take_snapshot(frontier)
    late = {site.name: site.boards.late for site in snapshot.sites if site.boards.late and not site.is_paused}
    if late:
        boards = ", ".join(f"{count} of {name}" for name, count in late.items())
        yield Finding(Level.WARN, "beat", f"boards are late ({boards}): is beat running? celery -A crawl_tasks beat")
    else:
        yield Finding(Level.OK, "beat", "no board is late")
    vitals = snapshot.vitals
    if not snapshot.is_beat_alive:
        yield Finding(Level.WARN, "beat", "silent: nothing new is scanned; start: celery -A crawl_tasks beat")
    if vitals.halted:
        yield Finding(Level.FAIL, "ledger", f"all sites stand still: {vitals.halted}", Exit.BACKEND)
    if vitals.is_store_behind:
        text = f"{vitals.outbox} pages wait, nothing is fetched; is a store worker running, is the database in order?"
        yield Finding(Level.WARN, "storing", text)
    if vitals.shelved:
        reason = next((page.reason for page in frontier.shelf.pages()), "")
        text = (
            f"{counted(vitals.shelved, 'page')} could not be stored and laid aside ({reason}); crawl-tasks shelf list"
        )
        yield Finding(Level.WARN, "shelf", text)
    processes = len(vitals.processes)
    yield Finding(
        Level.OK, "version", f"{metadata.version('crawl_tasks')}; {processes} worker processes say that they live"
    )
