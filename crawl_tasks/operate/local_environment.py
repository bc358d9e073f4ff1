"""The local environment of a crawl on one machine: lock of the state directory, Redis, supervised processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import SecretStr

from crawl_tasks.fetch.file_limit import raise_file_limit
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.local.embedded import EmbeddedRedis, running_url
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.local.state_lock import StateLock, is_held
from crawl_tasks.local.supervisor import Supervisor
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.operate.connection import connect_cells, is_redis_configured
from crawl_tasks.operate.installation import open_files
from crawl_tasks.settings import Settings


@dataclass(frozen=True, slots=True)
class LocalEnvironment:
    """A running Redis or several cells, and a supervisor whose processes have the same settings as this one."""

    settings: Settings
    cells: Cells
    supervisor: Supervisor


@contextmanager
def local_environment(settings: Settings, report: Callable[[str], None]) -> Iterator[LocalEnvironment]:
    """Yield a local environment in the state directory. All processes of the environment end with the block.

    Raises:
        ConfigError: another crawl runs there, or the directory cannot be written.
        RedisUnreachable: the configured Redis does not answer, or ours does not start.
    """
    state_dir = settings.state_dir
    _allow_files(report)
    with (
        Interrupts() as interrupts,
        StateLock(state_dir / "crawl.lock", "a crawl runs here"),
        redis_for(settings, interrupts) as url,
    ):
        # Without an idle exit: the supervisor would start the worker again.
        actual = settings.model_copy(update={"redis_url": url, "state_dir": state_dir.absolute(), "idle_exit_s": 0.0})
        with Supervisor(state_dir / "logs", environment(actual), interrupts, report) as supervisor:
            yield LocalEnvironment(actual, connect_cells(actual), supervisor)


def _allow_files(report: Callable[[str], None]) -> None:
    """Let this process and its children open as many files as the system allows, and say when these are few."""
    raise_file_limit()
    if isinstance(limit := open_files(), Problem):
        report(limit.advice())


@contextmanager
def redis_for(settings: Settings, interrupts: Interrupts) -> Iterator[str]:
    """Yield the address of the configured Redis, of the one that runs in the state directory, or of a new one."""
    if is_redis_configured(settings):
        yield settings.redis_url
        return
    # The address file of a killed Redis stays behind. Only a held lock shows that the server runs.
    running = running_url(settings.state_dir)
    if running is not None and is_held(settings.state_dir / "redis.lock"):
        yield running
        return
    with EmbeddedRedis(settings.state_dir, interrupts) as server:
        yield server.url


def environment(settings: Settings) -> dict[str, str]:
    """Return the settings as the environment of a child process."""
    # The settings win over the inherited variables: the embedded Redis has an address that no variable has yet.
    values = settings.model_dump(exclude_none=True)
    return os.environ | {f"CRAWL_{name.upper()}": _plain(value) for name, value in values.items()}


def _plain(value: object) -> str:
    # str() of a secret is a row of asterisks, which a child would take for the proxy's address.
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
