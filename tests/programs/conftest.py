"""A frontier whose ledger is checked at the end of every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector


@pytest.fixture
def frontier(client: redis.Redis) -> Iterator[Frontier]:
    frontier = Frontier(client, "test")
    yield frontier
    counts = Inspector(frontier).count_requests("demo")
    assert counts.imbalance() == ""
    assert (counts.open, counts.dead, counts.parked) == (0, 0, 0)
