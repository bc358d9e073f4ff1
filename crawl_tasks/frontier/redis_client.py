"""Redis clients: plain TCP, TLS, and a master that Sentinels name."""

from __future__ import annotations

import socket
import struct
import time
from functools import partial
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
"""The most connections of a client. Each thread of a worker keeps one, and redis-py's own limit is 100."""

_LIST = ord("*")
"""The first byte of a list in the Redis protocol (RESP)."""


class Options(TypedDict, total=False):
    """The options of a client beside the URL."""

    socket_connect_timeout: float
    socket_timeout: float
    socket_keepalive: bool
    health_check_interval: int
    max_connections: int
    driver_info: redis.DriverInfo
    retry: Retry | None


class PlainConnection(redis.Connection):
    """A TCP connection whose reply timeout the kernel keeps (SO_RCVTIMEO).

    Python implements a timeout by a poll before each call, and every call releases the interpreter's lock. A command
    then takes the lock four times in place of two, and each time is a change of thread where threads are many.
    """

    def __init__(self, *, socket_timeout: float | None = None, **options: object) -> None:
        super().__init__(socket_timeout=None, **options)  # type: ignore[no-untyped-call]  # redis-py has no types here
        self._reply_timeout_s = socket_timeout

    def _connect(self) -> socket.socket:
        connected: socket.socket = super()._connect()  # type: ignore[no-untyped-call]  # nor here
        # The kernel takes the timeout as a struct timeval. Zero, as for None, means no timeout.
        if self._reply_timeout_s:
            seconds, rest = divmod(self._reply_timeout_s, 1)
            timeval = struct.pack("ll", int(seconds), int(rest * 1_000_000))
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)
        return connected

    def read_response(self, *args: object, **options: object) -> object:
        """Read one reply, as in redis-py.

        Raises:
            redis.TimeoutError: no reply came in time.
            redis.ConnectionError: the connection broke.
        """
        try:
            return super().read_response(*args, **options)
        except RedisConnectionError as error:
            # The kernel reports its timeout as EAGAIN, which redis-py takes for a broken connection.
            if isinstance(error.__context__, BlockingIOError):
                raise self._silence() from error
            raise

    def exchange(self, command: bytes) -> object:
        """Send a packed command and read its reply, as `send_packed_command` and `read_response` do.

        The fast path is for a connection with nothing to read and a reply that is a list in one piece, as the replies
        of all verbs are. All else is left to redis-py, which goes through nine functions.
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
            # A reply that comes after the timeout would be read as the reply to the next command.
            self.disconnect()
            raise self._silence() from error
        except OSError as error:
            self.disconnect()
            raise RedisConnectionError(f"Connection to {self._host_error()} broke: {error}") from error
        # An error or a reply in several pieces stays in the reader, from where redis-py goes on.
        reply = reader.gets() if buffer[0] == _LIST else None
        if not isinstance(reply, list):
            return self.read_response()
        self.next_health_check = now + self.health_check_interval
        return reply

    def _silence(self) -> RedisTimeoutError:
        return RedisTimeoutError(f"no reply within {self._reply_timeout_s} s")


def _exchange(connection: redis.Connection, command: bytes) -> object:
    connection.send_packed_command((command,))  # type: ignore[no-untyped-call]  # as above
    return connection.read_response()


class ThreadConnection:
    """The connection of one thread. The pool gets the connection back when the thread has ended."""

    __slots__ = ("_pool", "connection", "exchange")

    def __init__(self, pool: redis.ConnectionPool) -> None:
        self._pool = pool
        connection = self.connection = pool.get_connection()
        self.exchange = (
            connection.exchange if isinstance(connection, PlainConnection) else partial(_exchange, connection)
        )

    def __del__(self) -> None:
        # The pool raises in __init__ when all its connections are taken.
        if hasattr(self, "connection"):
            self._pool.release(self.connection)


def open_client(url: str, master: str, **options: Unpack[Options]) -> redis.Redis:
    """Return a client for a URL. Nothing is sent yet.

    Args:
        url: `redis://`, `rediss://` (with ssl_ca_certs, ssl_certfile, ... as its query), or `sentinel://`, as kombu
            spells a list: `sentinel://:PASSWORD@HOST:PORT/NUMBER;sentinel://HOST:PORT`, where user and password are the
            master's.
        master: the name that Sentinels give the master.
        options: options of redis-py.

    Raises:
        ValueError: the text is no Redis URL.
    """
    options.setdefault("max_connections", MOST_CONNECTIONS)
    # Without this option each connection looks up redis-py's version in the installed packages: 1 ms.
    options.setdefault("driver_info", redis.DriverInfo())
    if url.startswith("redis://"):
        return redis.Redis.from_url(url, connection_class=PlainConnection, **options)
    if not url.startswith(SENTINEL):
        return redis.Redis.from_url(url, **options)
    parts = [urlsplit(server) for server in url.split(";")]
    # kombu accepts the number of the database at the first address or at the last.
    number = next((part.path.strip("/") for part in parts if part.path.strip("/")), "0")
    first = parts[0]
    known = [(part.hostname or "", part.port or SENTINEL_PORT) for part in parts]
    # Sentinels are asked in order: a dead one must not hold the question up for longer than 2 s.
    # redis-py has no types for its Sentinel.
    sentinel = Sentinel(known, sentinel_kwargs={"socket_connect_timeout": 2, "socket_timeout": 2})  # type: ignore[no-untyped-call]
    client: redis.Redis = sentinel.master_for(  # type: ignore[no-untyped-call]
        master,
        db=int(number),
        username=unquote(first.username) if first.username else None,
        password=unquote(first.password) if first.password else None,
        **options,
    )
    return client
