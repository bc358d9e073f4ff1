"""How often a worker's event loop looks for messages."""

from __future__ import annotations

import pytest
from kombu import Connection
from kombu.transport import virtual

from crawl_tasks.broker.transport import PAGE_S, QoS


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
