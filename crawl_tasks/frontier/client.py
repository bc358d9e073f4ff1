"""Under the ledger: the client for a Redis URL, also for one that only Sentinels know, and for TLS."""

from __future__ import annotations

import socket
import struct
import time
from typing import TypedDict, Unpack
from urllib.parse import unquote, urlsplit

import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from redis.sentinel import Sentinel

SENTINEL = "sentinel://"
SENTINEL_PORT = 26379

MOST_CONNECTIONS = 10_000
"""Each thread of a worker keeps one; redis-py's own limit is 100."""

_LIST = ord("*")
"""What a list begins with, on the wire."""


class Options(TypedDict, total=False):
    """What a client may be told beside its URL."""

    socket_connect_timeout: float
    socket_timeout: float
    socket_keepalive: bool
    health_check_interval: int
    max_connections: int
    driver_info: redis.DriverInfo
    retry: Retry | None


class PlainConnection(redis.Connection):
    """A TCP connection whose reply timeout the kernel keeps.

    Python keeps it by a poll before each call, and every call gives its lock away: four turns of the lock for a command
    in place of two, each of them a change of thread where threads are many.
    """

    def __init__(self, *, socket_timeout: float | None = None, **options: object) -> None:
        super().__init__(socket_timeout=None, **options)  # type: ignore[no-untyped-call]  # redis-py has no types here
        self._reply_timeout_s = socket_timeout

    def _connect(self) -> socket.socket:
        connected: socket.socket = super()._connect()  # type: ignore[no-untyped-call]  # nor here
        if self._reply_timeout_s:
            seconds, rest = divmod(self._reply_timeout_s, 1)
            timeval = struct.pack("ll", int(seconds), int(rest * 1_000_000))
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)
        return connected

    def read_response(self, *args: object, **options: object) -> object:
        """Read one reply; see redis-py.

        Raises:
            redis.TimeoutError: none came in time.
            redis.ConnectionError: the connection broke.
        """
        try:
            return super().read_response(*args, **options)
        except RedisConnectionError as error:
            if isinstance(error.__context__, BlockingIOError):  # what the kernel says in place of "timed out"
                raise self._silence() from error
            raise

    def exchange(self, command: bytes) -> object:
        """Send a packed command and read its reply, as `send_packed_command` and `read_response` do.

        Where nothing stands in the way and the reply is a list in one piece, as those of all verbs are, this is all
        that is done. What else comes is left to redis-py, whose own way goes through nine functions.
        """
        connected, now = self._sock, time.monotonic()
        reader, buffer = self._parser._reader, self._parser._buffer
        is_due = self.health_check_interval and now > self.next_health_check
        if is_due or connected is None or reader is None or reader.has_data():
            self.send_packed_command((command,))  # type: ignore[no-untyped-call]
            return self.read_response()
        try:
            connected.sendall(command)
            reader.feed(buffer, 0, connected.recv_into(buffer))
        except (BlockingIOError, TimeoutError) as error:
            self.disconnect()
            raise self._silence() from error
        except OSError as error:
            self.disconnect()
            raise RedisConnectionError(f"Connection to {self._host_error()} broke: {error}") from error
        reply = reader.gets() if buffer[0] == _LIST else None
        if not isinstance(reply, list):
            return self.read_response()
        self.next_health_check = now + self.health_check_interval
        return reply

    def _silence(self) -> RedisTimeoutError:
        return RedisTimeoutError(f"no reply within {self._reply_timeout_s} s")


def open_client(url: str, master: str, **options: Unpack[Options]) -> redis.Redis:
    """Make a client; nothing is sent yet.

    Args:
        url: `redis://`, `rediss://` (with ssl_ca_certs, ssl_certfile, ... as its query), or `sentinel://`, as kombu
            spells it: `sentinel://:PASSWORD@HOST:PORT/NUMBER;sentinel://HOST:PORT`; user and password are the master's.
        master: what Sentinels call the master.
        options: as redis-py has them.

    Raises:
        ValueError: the URL is none.
    """
    options.setdefault("max_connections", MOST_CONNECTIONS)
    options.setdefault("driver_info", redis.DriverInfo())  # or each connection looks up redis-py's version: 1 ms
    if url.startswith("redis://"):
        return redis.Redis.from_url(url, connection_class=PlainConnection, **options)
    if not url.startswith(SENTINEL):
        return redis.Redis.from_url(url, **options)
    parts = [urlsplit(one) for one in url.split(";")]
    # The part behind the path may stand at the first address or at the last.
    number = next((part.path.strip("/") for part in parts if part.path.strip("/")), "0")
    first = parts[0]
    known = [(part.hostname or "", part.port or SENTINEL_PORT) for part in parts]
    # redis-py leaves its Sentinel without types
    sentinel = Sentinel(known, sentinel_kwargs={"socket_connect_timeout": 2, "socket_timeout": 2})  # type: ignore[no-untyped-call]
    client: redis.Redis = sentinel.master_for(  # type: ignore[no-untyped-call]
        master,
        db=int(number),
        username=unquote(first.username) if first.username else None,
        password=unquote(first.password) if first.password else None,
        **options,
    )
    return client
