"""A client gives up on a Redis that says nothing, and in time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from hiredis import pack_command
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from crawl_tasks.frontier.redis_client import PlainConnection, open_client


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


def test_the_version_of_redis_py_is_looked_up_once_for_all_connections(client: redis.Redis) -> None:
    port = client.get_connection_kwargs()["port"]
    with open_client(f"redis://127.0.0.1:{port}/0", "") as other:
        first, second = (other.connection_pool.get_connection() for _ in range(2))

        assert first.driver_info is second.driver_info
        assert first.driver_info.lib_version == redis.__version__


@pytest.fixture
def own(client: redis.Redis) -> Iterator[PlainConnection]:
    client.rpush("short", "a", "b")
    client.rpush("long", *["x" * 1000] * 300)  # more than is read at once
    url = f"redis://127.0.0.1:{client.get_connection_kwargs()['port']}/0?protocol=3"
    with open_client(url, "", socket_timeout=0.2, health_check_interval=30) as other:
        connection = other.connection_pool.get_connection()
        assert isinstance(connection, PlainConnection)
        yield connection


SHORT = ("LRANGE", "short", "0", "-1")


def packed(*command: str) -> bytes:
    made: bytes = pack_command(command)  # type: ignore[arg-type]  # its stub means a tuple of one
    return made


def send(own: PlainConnection, *command: str) -> None:
    own.send_command(*command, check_health=False)  # type: ignore[no-untyped-call]  # redis-py has no types here


COMMANDS = ("PING", "DBSIZE", "GET none", "LRANGE none 0 -1", "LRANGE short 0 -1", "LRANGE long 0 -1")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_short_way_to_a_reply_gives_what_redis_py_gives(command: str, own: PlainConnection) -> None:
    send(own, *command.split())
    usual = own.read_response()

    assert own.exchange(packed(*command.split())) == usual
    assert own.exchange(packed(*SHORT)) == [b"a", b"b"]


def test_a_refusal_is_raised_on_the_short_way_too(own: PlainConnection) -> None:
    with pytest.raises(redis.ResponseError, match="wrong kind of value"):
        own.exchange(packed("INCR", "short"))

    assert own.exchange(packed(*SHORT)) == [b"a", b"b"]


def test_a_reply_that_does_not_come_is_given_up_on_the_short_way_too(own: PlainConnection) -> None:
    with pytest.raises(RedisTimeoutError, match=r"no reply within 0\.2 s"):
        own.exchange(packed("BLPOP", "none", "0"))

    assert not own.is_connected
    assert own.exchange(packed(*SHORT)) == [b"a", b"b"]


def test_a_connection_that_breaks_is_noticed_on_the_short_way_too(own: PlainConnection, client: redis.Redis) -> None:
    client.client_kill_filter(_id=str(own.exchange(packed("CLIENT", "ID"))))

    with pytest.raises(RedisConnectionError):
        own.exchange(packed("PING"))

    assert not own.is_connected


def test_a_connection_that_broke_while_it_sent_is_noticed(own: PlainConnection) -> None:
    assert own._sock is not None
    own._sock.shutdown(socket.SHUT_WR)

    with pytest.raises(RedisConnectionError, match="Broken pipe"):
        own.exchange(packed("PING"))

    assert not own.is_connected


def test_news_that_a_server_sends_unasked_are_no_reply(own: PlainConnection, client: redis.Redis) -> None:
    assert own.exchange(packed("CLIENT", "TRACKING", "ON", "BCAST")) == b"OK"
    client.set("news", "1")

    assert own.exchange(packed(*SHORT)) == [b"a", b"b"]


def test_a_reply_that_others_left_unread_is_read_first(own: PlainConnection) -> None:
    own.send_packed_command([packed("PING") + packed("DBSIZE")])  # type: ignore[no-untyped-call]  # no types here
    assert own.read_response() == b"PONG"

    assert own.exchange(packed(*SHORT)) == 2
    assert own.read_response() == [b"a", b"b"]


def test_a_connection_is_asked_whether_it_lives_after_it_was_idle_and_only_then(
    own: PlainConnection, client: redis.Redis
) -> None:
    def pings() -> int:
        return int(client.info("commandstats").get("cmdstat_ping", {"calls": 0})["calls"])

    own.exchange(packed(*SHORT))
    before = pings()

    own.exchange(packed(*SHORT))
    assert pings() == before

    own.next_health_check = 1
    own.exchange(packed(*SHORT))
    assert pings() == before + 1
