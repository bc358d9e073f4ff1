"""A client gives up on a Redis that says nothing, and in time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from crawl_tasks.frontier.client import open_client


@contextmanager
def answering(replies: bytes) -> Iterator[str]:
    """Serve one connection at a time: `replies` to whatever comes first, then silence."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                held.append(caller)
                caller.sendall(replies)

        threading.Thread(target=serve, daemon=True).start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0?protocol=2"
        server.shutdown(socket.SHUT_RDWR)
        for caller in held:
            caller.close()


def test_a_redis_that_takes_the_connection_and_says_nothing_is_given_up() -> None:
    with answering(b"") as url:
        client = open_client(url, "", socket_timeout=0.2, retry=None)

        with pytest.raises(RedisTimeoutError, match=r"no reply within 0\.2 s"):
            client.ping()


def test_a_connection_that_breaks_is_told_from_one_that_is_silent(client: redis.Redis) -> None:
    with open_client(
        f"redis://127.0.0.1:{client.get_connection_kwargs()['port']}/0", "", socket_timeout=60, retry=None
    ) as other:
        own = other.connection_pool.get_connection()
        own.send_command("CLIENT", "ID")
        number = own.read_response()
        client.client_kill_filter(_id=str(number))
        own.send_command("PING", check_health=False)

        with pytest.raises(RedisConnectionError):
            own.read_response()


def test_a_reply_that_comes_is_given(client: redis.Redis) -> None:
    port = client.get_connection_kwargs()["port"]
    with open_client(f"redis://127.0.0.1:{port}/0", "", socket_timeout=60) as other:
        assert other.ping()
