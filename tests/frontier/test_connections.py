"""Connections to Redis: each thread its own, none left behind."""

from __future__ import annotations

import threading

import redis

from crawl_tasks.frontier.frontier import Frontier


def test_a_thread_that_ends_leaves_its_connection_to_the_next(frontier: Frontier, client: redis.Redis) -> None:
    before = client.info("clients")["connected_clients"]

    for _ in range(20):
        thread = threading.Thread(target=frontier.census, args=("demo",))
        thread.start()
        thread.join()

    assert client.info("clients")["connected_clients"] <= before + 1
