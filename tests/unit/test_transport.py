"""How often a worker's event loop looks for messages, and a publisher whose connection was lost."""

from __future__ import annotations

import pytest
import redis
from kombu import Connection
from kombu.transport import virtual

from crawl_tasks.broker.connection import Connection as OurConnection
from crawl_tasks.broker.qos import PAGE_S, QoS
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
