"""The frontier as the command line opens it: asked once whether it answers, and not waited for."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import redis

from crawl_tasks.errors import BackendError, ConfigError, RedisUnreachable, SettingsError
from crawl_tasks.frontier.client import open_client
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.settings import Settings, load_settings

CONNECT_TIMEOUT_S = 3.0
REPLY_TIMEOUT_S = 10.0
NAMED = 10
"""Sites that a message names; there may be a thousand."""


def connect_now(url: str, master: str) -> redis.Redis:
    """Connect to a Redis that answers now; a person at a terminal would rather know than wait.

    Raises:
        SettingsError: the URL is none.
        RedisUnreachable: it does not answer, or not to us.
    """
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
    """Open the frontier of the installation.

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
    """Give the published sites that were named, or all when none was.

    Raises:
        ConfigError: one is not published, or none is.
        BackendError: Redis was emptied.
    """
    published = frontier.sites.names()
    if not published and (why := frontier.memory.halted()):
        raise BackendError(f"all sites stand still: {why}")
    for name in names:
        if name not in published:
            raise ConfigError(f"site {name!r} is not published; {_remedy(name, published)}")
    if not published:
        raise ConfigError("no site is published; write config/sites/NAME.yaml and run: crawl-tasks sites check")
    return list(names) or published


def _remedy(name: str, published: Sequence[str]) -> str:
    more = f" and {len(published) - NAMED} more" if len(published) > NAMED else ""
    there = f"published are: {', '.join(published[:NAMED]) or 'none'}{more}"
    if alike := difflib.get_close_matches(name, published, n=1):
        there = f"did you mean {alike[0]}?"
    return f"{there}; crawl-tasks sites check publishes what is in the sites directory"
