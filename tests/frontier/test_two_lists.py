"""One thread on two lists: each list is held against its own last word, whatever the other one says."""

from __future__ import annotations

import redis

from crawl_tasks.frontier.frontier import Frontier
from tests.frontier.small_crawl import SmallCrawl

PASSES = "boards: [1, 2]\ninterval: {full_pass_s: 86400}\n"


def shows(crawl: SmallCrawl, board: str, count: int) -> None:
    crawl.forum.board(board, 1, f"10 {count}")


def scan(crawl: SmallCrawl, client: redis.Redis, board: str) -> int:
    """Scan one of the boards alone, and return how often the thread was asked for."""
    other = {"1": "2", "2": "1"}[board]
    client.zadd("test:boards", {f"demo {board}": 0, f"demo {other}": 9e15})
    crawl.frontier.produce()
    return crawl.work().count("/post/10")


def test_a_count_that_returns_on_one_list_is_news_though_the_other_one_showed_it_before(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish("boards: [1, 2]\n")
    crawl.forum.thread("10")
    asked = []

    for board, count in (("2", 5), ("1", 5), ("2", 6), ("1", 5), ("2", 6), ("1", 6), ("1", 5), ("1", 6)):
        shows(crawl, board, count)
        asked.append(scan(crawl, client, board))

    # The sixth look shows what the other list said before, and is no news. The last two are.
    assert asked == [1, 0, 1, 1, 1, 0, 1, 1]


def test_a_count_that_a_full_pass_saw_change_on_the_second_list_is_news_to_its_scans(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish(PASSES)
    crawl.forum.thread("10")
    for board in ("1", "2"):
        shows(crawl, board, 5)
        scan(crawl, client, board)
    shows(crawl, "2", 6)
    assert scan(crawl, client, "2") == 1
    shows(crawl, "1", 5)
    assert scan(crawl, client, "1") == 1
    shows(crawl, "2", 7)
    assert "/post/10" in crawl.full_pass()

    shows(crawl, "2", 6)

    assert scan(crawl, client, "2") == 1


def test_a_list_that_keeps_an_old_count_still_costs_one_fetch_a_change(
    frontier: Frontier, crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish("boards: [1, 2]\n")
    crawl.forum.thread("10")
    shows(crawl, "1", 5)
    shows(crawl, "2", 4)

    asked = [scan(crawl, client, board) for _ in range(6) for board in ("1", "2")]

    assert asked == [1, 1, 1] + [0] * 9
