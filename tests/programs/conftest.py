"""A frontier whose ledger is checked at the end of every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier


@pytest.fixture
def frontier(client: redis.Redis) -> Iterator[Frontier]:
    frontier = Frontier(client, "test")
    yield frontier
    census = frontier.census("demo")
    assert census.imbalance() == ""
    assert (census.open, census.dead, census.parked) == (0, 0, 0)
