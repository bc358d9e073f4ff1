"""A board that the forum has opened since: a front page shows it, and it is told until the site file names it."""

from __future__ import annotations

import time

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import FailedRequest, Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.small_crawl import SmallCrawl

RULES = """
freshness: {goal_s: 60, requests_s: 100}
front:
  record: .board
  fields: {board: {attr: data-id}, posts: .n}
"""
FRONT = "{id: front, kind: front, address: /}"
SITE = f"boards: [1, {FRONT}]{RULES}"


def show(crawl: SmallCrawl, *boards: str, path: str = "/") -> None:
    crawl.forum.pages[path] = "".join(f"<div class=board data-id={one}><i class=n>5</i></div>" for one in boards)


def look(crawl: SmallCrawl) -> None:
    crawl.client.hdel("test:s:demo", "scan_at", "ping_at")
    crawl.scan()


def told(frontier: Frontier) -> list[str]:
    return [one.text for one in find_problems(take_snapshot(frontier)) if one.name == "CrawlBoardsNew"]


def failed(crawl: SmallCrawl) -> list[FailedRequest]:
    return list(Admin(crawl.frontier).failed.requests.list(Selection("demo")))


@pytest.fixture
def watched(crawl: SmallCrawl) -> SmallCrawl:
    """Return a crawl of one board, of a forum whose front page was read twice and shows two."""
    crawl.forum.board("1", 1)
    show(crawl, "1", "2")
    crawl.publish(SITE)
    look(crawl)
    look(crawl)
    return crawl


def test_a_board_that_the_front_page_begins_to_show_is_told_until_the_file_names_it(watched: SmallCrawl) -> None:
    assert not told(watched.frontier)  # board 2 was left out knowingly

    show(watched, "1", "2", "3", "4")
    look(watched)
    look(watched)
    assert told(watched.frontier) == ["2 boards are new at the forum, and not in its site file: 3, 4"]

    watched.publish(SITE.replace("[1, ", "[1, 3, "))
    assert told(watched.frontier) == ["1 board is new at the forum, and not in its site file: 4"]
    look(watched)
    assert told(watched.frontier) == ["1 board is new at the forum, and not in its site file: 4"]


def test_without_rules_the_links_of_a_front_page_tell_of_new_boards_and_make_none_due(crawl: SmallCrawl) -> None:
    def link(*boards: str) -> None:
        links = [f"/list/{one}/1" for one in boards]
        crawl.forum.pages["/"] = "".join(
            f"<a href={one}>x</a>" for one in (*links, "/", "/post/7", "http://else.example/")
        )

    crawl.forum.board("1", 1)
    link("1", "2")
    crawl.publish(SITE.partition("front:\n")[0])
    look(crawl)
    look(crawl)
    assert not told(crawl.frontier)

    link("1", "2", "3")
    crawl.client.zadd("test:boards", {"demo 1": 9e15, "demo front": 0})
    crawl.client.hdel("test:s:demo", "scan_at", "ping_at")
    crawl.frontier.produce()
    assert crawl.work() == ["/"]
    crawl.frontier.produce()
    assert crawl.work() == []
    assert told(crawl.frontier) == ["1 board is new at the forum, and not in its site file: 3"]

    link()
    look(crawl)
    assert [one.reason for one in failed(crawl)] == ["parse"]


def test_a_new_board_that_the_forum_shows_no_more_is_told_no_more(watched: SmallCrawl) -> None:
    show(watched, "1", "2", "3")
    look(watched)
    show(watched, "1", "2")
    look(watched)

    assert not told(watched.frontier)


def test_a_board_that_leaves_the_file_is_not_told_as_new(watched: SmallCrawl) -> None:
    watched.publish(SITE.replace("[1, ", "[1, 2, "))
    watched.forum.board("2", 1)
    look(watched)
    watched.publish(SITE)
    look(watched)
    look(watched)

    assert not told(watched.frontier)


def test_a_second_front_page_tells_of_its_own_new_boards_alone(watched: SmallCrawl) -> None:
    both = SITE.replace(FRONT, f"{FRONT}, {{id: more, kind: front, address: /more}}")
    show(watched, "8", "9", path="/more")
    watched.publish(both)
    look(watched)
    assert not told(watched.frontier)

    show(watched, "8", "9", "10", path="/more")
    show(watched, "1", "2", "3")
    look(watched)
    assert told(watched.frontier) == ["2 boards are new at the forum, and not in its site file: 3, 10"]

    watched.publish(SITE)  # without the second front page
    assert told(watched.frontier) == ["1 board is new at the forum, and not in its site file: 3"]


def test_after_a_loss_of_the_ledger_the_first_look_tells_of_nothing(watched: SmallCrawl, client: redis.Redis) -> None:
    client.delete("test:s:demo:front")
    look(watched)

    assert not told(watched.frontier)


def test_of_many_boards_that_a_look_did_not_compare_none_is_told_as_new(crawl: SmallCrawl) -> None:
    """A look makes a hundred boards due at the most, and compares no further ones. It showed them all the same."""
    ours = [str(number) for number in range(200)]
    both = [one for number in ours for one in (number, f"other{number}")]
    site = SITE.replace("posts: .n", "posts: .n, last_post_at: .at").replace("[1, ", f"[{', '.join(ours)}, ")
    for board in ours:
        crawl.forum.board(board, 1)
    crawl.publish(site.replace(f", {FRONT}", ""))
    look(crawl)

    def show_all(*more: str) -> None:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(crawl.frontier.clock_ms() / 1000 + 2))
        show(crawl, *both, *more)
        crawl.forum.pages["/"] = str(crawl.forum.pages["/"]).replace("</div>", f"<i class=at>{at}</i></div>")

    show_all()
    crawl.publish(site)
    for _ in range(3):
        look(crawl)
    assert not told(crawl.frontier)

    show_all(*(f"new{number}" for number in range(60)))
    look(crawl)
    [text] = told(crawl.frontier)
    assert text.startswith("50 boards are new")
    assert text.count("new") == 11
    assert text.endswith(", …")
