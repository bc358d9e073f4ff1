"""The embedded Redis of a state directory: one at a time, with the address in `redis.url` during the run."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path
from typing import Self

import redis

from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.local.state_lock import StateLock, is_held

URL_FILE = "redis.url"
"""The same name as settings.STATE_REDIS_URL, by which the settings of every process find the server."""


PATIENCE_S = 10.0
"""Time in seconds for which a server waits for the end of a command that has one of its own."""


class EmbeddedRedis:
    """A server for `state_dir` while entered. A server that a killed process left behind is ended first.

    One that is `private`, for a single command, has no address in `redis.url`: nobody else may count on it.
    """

    def __init__(self, state_dir: Path, interrupts: Interrupts, port: int = 0, *, is_private: bool = False) -> None:
        self._server = RedisServer(state_dir / "redis", port, secrets.token_urlsafe(32))
        self._interrupts = interrupts
        self._lock = StateLock(state_dir / "redis.lock", "its Redis runs")
        self._held = state_dir / "redis.lock"
        self._file = state_dir / URL_FILE
        self._is_private = is_private
        self.url = self._server.url
        self.directory = self._server.directory

    def __enter__(self) -> Self:
        """Start the server.

        Raises:
            ConfigError: the directory has a server already, or cannot be written.
            RedisUnreachable: the server does not start.
        """
        ends_at = time.monotonic() + PATIENCE_S
        while is_held(self._held) and not self._file.exists() and time.monotonic() < ends_at:
            self._interrupts.sleep(0.05)
        self._lock.__enter__()
        try:
            end_left_over(self._file)
            with self._interrupts.shield():
                self._server.launch()
            # Outside of the shield: loading a large file takes time, and Ctrl-C must be heard meanwhile.
            self._server.wait()
            if not self._is_private:
                _write_whole(self._file, self.url + "\n")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with self._interrupts.shield():
            self._file.unlink(missing_ok=True)
            self._server.stop()
            self._lock.__exit__()

    def is_running(self) -> bool:
        """Return whether the server answers."""
        return answers(self.url)


def answers(url: str) -> bool:
    """Return whether a Redis answers at that address."""
    with redis.Redis.from_url(url, retry=None, socket_connect_timeout=2, socket_timeout=5) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def is_at_rest(state_dir: Path) -> bool:
    """Return whether a directory has the data of a Redis that does not run."""
    return (state_dir / "redis" / "appendonlydir").is_dir() and running_url(state_dir) is None


def running_url(state_dir: Path) -> str | None:
    """Return the address of the directory's running server, None without one."""
    try:
        url = (state_dir / URL_FILE).read_text("utf-8").strip()
    except OSError:
        return None
    return url if url and answers(url) else None


def end_left_over(url_file: Path) -> None:
    """End the server that a killed supervisor left behind. The data stay."""
    url = running_url(url_file.parent)
    if url is not None:
        with redis.Redis.from_url(url, retry=None) as client, contextlib.suppress(redis.RedisError):
            # Another program may have taken the port since: only a server of this directory is ended.
            if client.config_get("dir").get("dir") == str((url_file.parent / "redis").resolve()):
                client.shutdown(save=False, nosave=False)
    url_file.unlink(missing_ok=True)


def _write_whole(path: Path, text: str) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(text, "utf-8")
    # Renamed into place: no process may read half an address.
    os.replace(draft, path)
