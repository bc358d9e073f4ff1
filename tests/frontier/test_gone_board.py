"""A board that the forum has no more: it is named, and forgotten when it is back or leaves the site file."""

from __future__ import annotations

import pytest

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.small_crawl import SmallCrawl

TWO = "boards: [1, 2]\n"


@pytest.fixture
def renamed(crawl: SmallCrawl) -> SmallCrawl:
    """Return a crawl of two boards, of which the second was renamed after its first scan."""
    for board in "12":
        crawl.forum.board(board, 1, f"{board}0 0")
        crawl.forum.thread(f"{board}0")
    crawl.publish(TWO)
    crawl.scan()
    crawl.forum.statuses["/list/2/1"] = 404
    crawl.scan()
    return crawl


def told(frontier: Frontier) -> list[str]:
    return [one.text for one in find_problems(take_snapshot(frontier)) if one.name == "CrawlBoardsGone"]


def gone(frontier: Frontier) -> dict[str, int]:
    return {board.board: board.gone_at_ms for board in Inspector(frontier).boards("demo") if board.gone_at_ms}


def test_a_board_that_the_forum_has_no_more_is_told_until_it_is_back(renamed: SmallCrawl) -> None:
    since = gone(renamed.frontier)

    renamed.scan()

    assert [*since] == ["2"]
    assert gone(renamed.frontier) == since
    assert told(renamed.frontier) == ["1 board is gone at the forum, and nothing new is found on it"]

    renamed.forum.statuses.clear()
    renamed.scan()

    assert not gone(renamed.frontier)
    assert not told(renamed.frontier)


def test_a_gone_board_that_leaves_the_file_is_told_no_more(renamed: SmallCrawl) -> None:
    renamed.publish("boards: [1]\n")

    assert not told(renamed.frontier)

    renamed.publish(TWO)  # it may come back, and is new then
    assert not told(renamed.frontier)
    renamed.scan()
    assert len(told(renamed.frontier)) == 1


def test_a_later_page_that_is_gone_says_nothing_of_its_board(crawl: SmallCrawl) -> None:
    crawl.forum.board("1", 1, "10 0", more='<a rel="next" href="/list/1/2">next</a>')
    crawl.forum.thread("10")
    crawl.forum.statuses["/list/1/2"] = 404
    crawl.publish()

    crawl.scan()

    assert not told(crawl.frontier)
