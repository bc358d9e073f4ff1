"""A message wakes one waiting worker, and a worker that leaves messages wakes the next one."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
import redis
from kombu import Connection, Consumer, Queue
from kombu.message import Message

from crawl_tasks.celery import TRANSPORT
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from tests.frontier.by_hand import NOTHING, lease, posts

WAKE_UP = "test:wake:post"


@pytest.fixture
def woken(client: redis.Redis, frontier: Frontier) -> redis.Redis:
    """A Redis with three messages, and one wake-up that no worker has taken yet."""
    frontier.admit("demo", posts(3))
    assert client.lrange(WAKE_UP, 0, -1) == [b"1"]
    return client


def receive(server: RedisServer, count: int) -> list[int]:
    """Receive the messages that are there, at most so many as a worker has threads, and return their requests."""
    rids: list[int] = []

    def take(message: Message) -> None:
        rids.append(json.loads(message.body)[1]["rid"])
        message.ack()

    with Connection(server.url, transport=TRANSPORT, transport_options={"redis_prefix": "test"}) as connection:
        channel = connection.channel()
        consumer = Consumer(channel, [Queue("post", routing_key="post")], on_message=take, prefetch_count=count)
        with consumer, suppress(TimeoutError):
            while len(rids) < count:
                connection.drain_events(timeout=1)
    return rids


def test_a_worker_that_leaves_messages_wakes_the_next_one(woken: redis.Redis, redis_server: RedisServer) -> None:
    woken.delete(WAKE_UP)  # the worker that receives was woken by it

    assert receive(redis_server, 1) == [1]

    assert woken.lrange(WAKE_UP, 0, -1) == [b"1"]


def test_a_worker_that_leaves_no_message_wakes_nobody(woken: redis.Redis, redis_server: RedisServer) -> None:
    assert receive(redis_server, 4) == [1, 2, 3]

    assert woken.lrange(WAKE_UP, 0, -1) == []


def test_many_releases_leave_one_wake_up(woken: redis.Redis, frontier: Frontier) -> None:
    frontier.admit("demo", posts(1, start=4))

    assert woken.lrange(WAKE_UP, 0, -1) == [b"1"]


def test_a_chain_that_takes_the_last_message_wakes_nobody(woken: redis.Redis, frontier: Frontier) -> None:
    woken.rpop("post")
    held = lease(frontier, 1)

    left = []
    for _ in range(2):
        result = frontier.commit(held, NOTHING, queues=("post",))
        assert result is not None
        assert result.next is not None
        held = result.next.lease
        left.append(woken.lrange(WAKE_UP, 0, -1))

    assert left == [[b"1"], []]


def test_a_clock_that_was_set_back_keeps_neither_the_store_nor_the_ticks_waiting(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("demo", posts(1))
    frontier.commit(lease(frontier, 1), NOTHING)
    client.hset("test:stats", "store_called_at", frontier.clock_ms() + 3_600_000)
    client.set("test:ticker", "ended with the old Redis", px=3_600_000)

    assert frontier.tick("me").is_leader
    assert client.llen("store") == 1
    assert not frontier.tick("another").is_leader


def test_locks_of_before_a_clock_was_set_back_are_nobodys(frontier: Frontier, client: redis.Redis) -> None:
    restore = Admin(frontier).restore
    client.set("test:rebuilder", "ended with the old Redis", px=3_600_000)
    frontier.sites.run_only(["another"], 15_000)
    client.pexpire("test:only", 3_600_000)
    frontier.admit("demo", posts(1))

    assert restore.lock("me", 60_000) == ""
    assert restore.lock("another", 60_000) == "me"
    assert Inspector(frontier).count_requests("demo").released == 0
    frontier.tick("me")
    assert not client.exists("test:only")
    frontier.sites.run_only(["another"], 15_000)
    frontier.tick("me")
    assert client.exists("test:only")
