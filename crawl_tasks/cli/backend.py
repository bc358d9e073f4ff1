"""The connection of the command line to Redis: one try, no waiting."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import redis

from crawl_tasks.errors import BackendError, ConfigError, RedisUnreachable, SettingsError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.monitor.problems.installation_kinds import HALTED, NO_SITE
from crawl_tasks.settings import Settings, load_settings

CONNECT_TIMEOUT_S = 3.0
REPLY_TIMEOUT_S = 10.0
NAMED = 10
"""Sites that a message names at most. There may be a thousand."""


def connect_now(url: str, master: str) -> redis.Redis:
    """Return a client of a Redis that answers now.

    Raises:
        SettingsError: the URL is not one of Redis.
        RedisUnreachable: Redis does not answer, or refuses the connection.
    """
    # Without retries, unlike a worker's client: a person at a terminal would rather know than wait.
    try:
        client = open_client(
            url, master, socket_connect_timeout=CONNECT_TIMEOUT_S, socket_timeout=REPLY_TIMEOUT_S, retry=None
        )
    except ValueError as error:
        raise SettingsError(f"CRAWL_REDIS_URL: {url}: {error}; write redis://HOST:PORT/NUMBER") from error
    try:
        client.ping()
    except (redis.RedisError, OSError) as error:
        reason = str(error).rstrip(".")
        raise RedisUnreachable(
            f"Redis at {url} does not answer: {reason}; start one (crawl-tasks redis) or set CRAWL_REDIS_URL"
        ) from error
    return client


def open_frontier(settings: Settings | None = None) -> Frontier:
    """Return the frontier of the installation.

    Raises:
        SettingsError: a setting is wrong.
        RedisUnreachable: Redis does not answer.
    """
    settings = settings or load_settings()
    return Frontier(
        connect_now(settings.redis_url, settings.redis_master),
        settings.redis_prefix,
        settings.store_at,
        settings.outbox_max,
    )


def chosen_sites(frontier: Frontier, names: tuple[str, ...]) -> list[str]:
    """Return the published sites that were named, or all when none was.

    Raises:
        ConfigError: a named site is not published, or no site is.
        BackendError: Redis was emptied.
    """
    published = frontier.sites.names()
    # An emptied Redis has no sites either, and "no site is published" would send the operator the wrong way.
    if not published and (why := Admin(frontier).restore.halted()):
        raise BackendError(HALTED.problem(reason=why).text)
    for name in names:
        if name not in published:
            raise ConfigError(f"site {name!r} is not published; {_remedy(name, published)}")
    if not published:
        raise ConfigError(NO_SITE.problem().advice())
    return list(names) or published


def _remedy(name: str, published: Sequence[str]) -> str:
    more = f" and {len(published) - NAMED} more" if len(published) > NAMED else ""
    there = f"published are: {', '.join(published[:NAMED]) or 'none'}{more}"
    if alike := difflib.get_close_matches(name, published, n=1):
        there = f"did you mean {alike[0]}?"
    return f"{there}; crawl-tasks sites check publishes what is in the sites directory"
