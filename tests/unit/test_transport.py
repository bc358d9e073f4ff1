"""How often a worker's event loop looks for messages, and a publisher whose connection was lost."""

from __future__ import annotations

import json
from time import time

import pytest
import redis
from kombu import Connection
from kombu.transport import virtual

from crawl_tasks.broker.connection import Connection as OurConnection
from crawl_tasks.broker.transport import PAGE_S, QoS
from crawl_tasks.celery import TRANSPORT
from crawl_tasks.local.redis_server import RedisServer


def busy(prefetch: int, taken: int) -> QoS:
    qos = QoS(Connection("memory://").channel(), prefetch)
    for tag in map(str, range(taken)):
        qos.append(virtual.Message({"properties": {"delivery_tag": tag}, "headers": {"crawl_at": 1}}), tag)
    return qos


def test_a_worker_without_work_looks_at_once() -> None:
    assert busy(prefetch=16, taken=0).pause_s() == 0


@pytest.mark.parametrize("prefetch", [4, 16, 32, 100, 1000])
def test_a_busy_worker_never_waits_until_its_threads_have_nothing_left(prefetch: int) -> None:
    qos = busy(prefetch, taken=prefetch)

    left = prefetch - prefetch // QoS.refill

    assert 0 < 2 * qos.pause_s() < left * PAGE_S


def test_a_publisher_sends_again_when_its_connection_was_lost(redis_server: RedisServer, client: redis.Redis) -> None:
    with OurConnection(redis_server.url) as connection:
        producer = connection.Producer(routing_key="lost", auto_declare=False)
        send = {"retry": True, "retry_policy": {"max_retries": 3, "interval_start": 0, "interval_max": 0.2}}
        producer.publish("1", **send)

        client.client_kill_filter(_type="normal", skipme=True)
        producer.publish("2", **send)


def left_by(client: redis.Redis, tag: str, queue: str, *, is_ours: bool, age_s: float) -> None:
    """Leave a message that a worker of an earlier version, or one of another project, has taken."""
    message = {"body": tag, "properties": {"delivery_tag": tag, "delivery_info": {}}}
    entry = f'[{json.dumps(message)},"","{queue}"]' if is_ours else json.dumps([message, "", queue])
    client.hset("unacked", tag, entry)
    client.zadd("unacked_index", {tag: time() - age_s})


def restore_visible(url: str) -> None:
    keys = {f"{name}_key": f"test:{name}" for name in ("unacked", "unacked_index", "unacked_mutex")}
    options = {"visibility_timeout": 60} | keys
    with Connection(url, transport=TRANSPORT, transport_options=options) as connection:
        connection.channel().qos.restore_visible(num=10, interval=1)


def test_messages_that_a_worker_of_an_earlier_version_left_are_given_out_again_and_no_others(
    redis_server: RedisServer, client: redis.Redis
) -> None:
    left_by(client, "ours", "post", is_ours=True, age_s=100)
    left_by(client, "at work", "post", is_ours=True, age_s=1)
    left_by(client, "of a stock worker", "post", is_ours=False, age_s=100)
    left_by(client, "of another project", "orders", is_ours=False, age_s=100)

    restore_visible(redis_server.url)

    assert [json.loads(text)["body"] for text in client.lrange("post", 0, -1)] == ["ours"]
    assert client.exists("test:unacked", "test:unacked_index", "orders") == 0
    others = {b"at work", b"of a stock worker", b"of another project"}
    assert set(client.hkeys("unacked")) == set(client.zrange("unacked_index", 0, -1)) == others


def test_a_worker_that_may_not_see_the_old_keys_goes_on(redis_server: RedisServer, client: redis.Redis) -> None:
    client.execute_command("ACL", "SETUSER", "narrow", "on", ">word", "~test:*", "~post*", "+@all")
    try:
        restore_visible(redis_server.url.replace("redis://", "redis://narrow:word@", 1))
    finally:
        client.execute_command("ACL", "DELUSER", "narrow")
