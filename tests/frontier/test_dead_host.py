"""A host that answers nobody among twenty sites that share a few workers."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Request, Stage
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.frontier.small_crawl import RULES, SmallForum, small_forum
from tests.frontier.workers import Workers
from tests.waiting import eventually

WORKERS = 4
EACH = 20


@pytest.fixture
def forum() -> Iterator[SmallForum]:
    with small_forum() as forum:
        for number in range(EACH):
            forum.thread(str(number))
        yield forum


@pytest.fixture
def dead_host() -> Iterator[str]:
    """Listen, and let the connections wait."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def publish(frontier: Frontier, name: str, base: str, gate: str) -> None:
    text = RULES.replace("name: demo", f"name: {name}").replace(
        "gate: {window: 50, delay_s: 0, retry_base_s: 0.1}", gate
    )
    publish_site(frontier, parse_site(text, f"{name}.yaml").relocated(base), contact=None)
    frontier.admit(name, [Request(name, Stage.POST, str(n), f"{base}/post/{n}") for n in range(EACH)])


def test_a_dead_host_takes_a_few_attempts_while_all_other_sites_are_crawled(
    client: redis.Redis, forum: SmallForum, dead_host: str
) -> None:
    frontier = Frontier(client, "test")
    publish(frontier, "dead", dead_host, "gate: {window: 16, delay_s: 0, deadline_s: 1, retry_base_s: 0.1}")
    others = [f"site{number}" for number in range(19)]
    for name in others:
        publish(frontier, name, forum.url, "gate: {window: 1, delay_s: 0.05}")

    begun = time.monotonic()
    with Workers(client, frontier, WORKERS):
        eventually(lambda: all(counts.done == EACH for counts in Inspector(frontier).count_all(others)), every_s=0.1)
        attempts, lasted_s = Inspector(frontier).count_requests("dead").count("attempts"), time.monotonic() - begun

    # All workers at once, for a second. Then the host rests for one second, after the next round for two, then longer.
    # One more may begin before the first of its round has failed.
    assert 1 <= attempts <= WORKERS * (1 + lasted_s / 2) + 1
    assert Inspector(frontier).count_requests("dead").imbalance() == ""
