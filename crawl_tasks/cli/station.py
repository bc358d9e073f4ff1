"""What a crawl on one machine stands on: the state directory's lock, a Redis, a crew; taken down in the right order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.embedded import EmbeddedRedis, running_url
from crawl_tasks.local.interrupts import Interrupts
from crawl_tasks.local.lock import StateLock, is_held
from crawl_tasks.local.processes import Crew
from crawl_tasks.settings import Settings


@dataclass(frozen=True, slots=True)
class Station:
    """A running Redis, the frontier on it, and a crew whose processes have the same settings as we."""

    settings: Settings
    frontier: Frontier
    crew: Crew


def is_redis_configured(settings: Settings) -> bool:
    """Say whether somebody named a Redis to use."""
    return "redis_url" in settings.model_fields_set


@contextmanager
def station(settings: Settings, report: Callable[[str], None]) -> Iterator[Station]:
    """Set up a station in the state directory; everything it started ends with the block.

    Raises:
        ConfigError: another crawl runs there, or the directory cannot be written.
        RedisUnreachable: the configured Redis does not answer, or ours does not start.
    """
    state_dir = settings.state_dir
    with (
        Interrupts() as interrupts,
        StateLock(state_dir / "crawl.lock", "a crawl runs here"),
        redis_for(settings, interrupts) as url,
    ):
        actual = settings.model_copy(update={"redis_url": url, "state_dir": state_dir.absolute()})
        with Crew(state_dir / "logs", environment(actual), interrupts, report) as crew:
            yield Station(actual, open_frontier(actual), crew)


@contextmanager
def redis_for(settings: Settings, interrupts: Interrupts) -> Iterator[str]:
    """Give the configured Redis, else the one that runs in the state directory, else start one there."""
    if is_redis_configured(settings):
        yield settings.redis_url
        return
    running = running_url(settings.state_dir)
    if running is not None and is_held(settings.state_dir / "redis.lock"):
        yield running
        return
    with EmbeddedRedis(settings.state_dir, interrupts) as server:
        yield server.url


def environment(settings: Settings) -> dict[str, str]:
    """Write the settings as the environment of a child process."""
    values = settings.model_dump(exclude_none=True)
    return os.environ | {f"CRAWL_{name.upper()}": str(value) for name, value in values.items()}
