"""A frontier with one published site; the ledger check ends every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import BoardTerms
from tests.frontier.by_hand import TERMS
from tests.frontier.small_crawl import SmallCrawl, small_forum


@pytest.fixture
def frontier(client: redis.Redis) -> Iterator[Frontier]:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    yield frontier
    counts = Inspector(frontier).count_requests("demo")
    assert counts.imbalance() == ""


@pytest.fixture
def publish(frontier: Frontier) -> Callable[..., None]:
    def with_terms(**terms: str | int) -> None:
        frontier.sites.publish("demo", "v1", "{}", TERMS | terms, [])

    return with_terms


@pytest.fixture
def watch(frontier: Frontier) -> Callable[..., None]:
    def boards(*boards: BoardTerms, **terms: int) -> None:
        frontier.sites.publish("demo", "v1", "{}", TERMS | terms, boards)

    return boards


@pytest.fixture
def crawl(client: redis.Redis, frontier: Frontier) -> Iterator[SmallCrawl]:
    with small_forum() as forum:
        yield SmallCrawl(client, frontier, forum)
