"""Connections to Redis: each thread its own, none left behind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer


def test_a_thread_that_ends_leaves_its_connection_to_the_next(frontier: Frontier, client: redis.Redis) -> None:
    before = client.info("clients")["connected_clients"]

    for _ in range(20):
        thread = threading.Thread(target=Inspector(frontier).count_requests, args=("demo",))
        thread.start()
        thread.join()

    assert client.info("clients")["connected_clients"] <= before + 1


def test_a_worker_of_more_threads_than_redis_py_has_connections_for_works(redis_server: RedisServer) -> None:
    frontier = Frontier(open_client(redis_server.url, ""), "test")
    all_connected = threading.Barrier(120)

    def ask() -> int:
        frontier.heartbeat("me", [])
        all_connected.wait(60)
        return 1

    with ThreadPoolExecutor(120) as pool:
        assert sum(pool.map(lambda _: ask(), range(120))) == 120
