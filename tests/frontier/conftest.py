"""A frontier with one published site; requests by the handful."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Request, Stage
from tests.frontier.small_crawl import SmallCrawl, small_forum

TERMS: dict[str, str | int] = {
    "window": 4,
    "delay_ms": 0,
    "lease_ms": 30_000,
    "max_attempts": 3,
    "max_backlog": 1000,
    "order": "fff",
    "guard": "ree",
    "rolling_ms": 86_400_000,
}


@pytest.fixture
def frontier(client: redis.Redis) -> Iterator[Frontier]:
    frontier = Frontier(client, "test")
    frontier.publish("demo", "v1", "{}", TERMS, [])
    yield frontier
    census = frontier.census("demo")
    assert census.imbalance() == ""


@pytest.fixture
def publish(frontier: Frontier) -> Callable[..., None]:
    def with_terms(**terms: str | int) -> None:
        frontier.publish("demo", "v1", "{}", TERMS | terms, [])

    return with_terms


def post(number: int, revision: str = "", priority: int = 5) -> Request:
    return Request(
        "demo", Stage.POST, str(number), f"http://127.0.0.1/post/{number}", revision=revision, priority=priority
    )


def posts(count: int, start: int = 1) -> list[Request]:
    return [post(number) for number in range(start, start + count)]


@pytest.fixture
def crawl(client: redis.Redis, frontier: Frontier) -> Iterator[SmallCrawl]:
    with small_forum() as forum:
        yield SmallCrawl(client, frontier, forum)
