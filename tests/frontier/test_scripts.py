"""The library of functions in Redis: loaded where it is missing, side by side with others, never heaped up."""

from __future__ import annotations

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_functions import LIBRARY
from crawl_tasks.frontier.scripts import MOST_LIBRARIES
from tests.frontier.by_hand import posts

OTHERS = "#!lua name=others\nredis.register_function('others_one', function() return 1 end)"


def libraries(client: redis.Redis, pattern: str = f"{LIBRARY}*") -> int:
    return len(client.function_list(pattern))


def test_a_library_that_is_gone_is_loaded_by_the_next_call(frontier: Frontier, client: redis.Redis) -> None:
    client.function_flush()

    assert frontier.admit("demo", posts(2)).new == 2
    assert libraries(client) == 1


def test_processes_of_several_texts_use_one_redis_side_by_side(frontier: Frontier, client: redis.Redis) -> None:
    other = Frontier(client, "test", outbox_max=7)

    assert frontier.admit("demo", posts(2)).new == 2
    assert other.admit("demo", posts(3)).new == 1
    assert frontier.admit("demo", posts(4)).new == 1
    assert libraries(client) == 2


def test_old_libraries_go_and_those_in_use_come_back(frontier: Frontier, client: redis.Redis) -> None:
    client.function_flush()
    client.function_load(OTHERS)
    frontiers = [Frontier(client, "test", outbox_max=number) for number in range(1, 2 * MOST_LIBRARIES)]

    for _ in range(2):
        for one in frontiers:
            one.admit("demo", posts(1))
            assert libraries(client) <= MOST_LIBRARIES

    assert libraries(client, "others") == 1
