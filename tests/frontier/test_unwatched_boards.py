"""A board that nobody watches is told with its reason, for as long as that lasts, and is not on time meanwhile."""

from __future__ import annotations

import pytest

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import ScanCounts
from crawl_tasks.model import State
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.small_crawl import RULES, SmallCrawl

PROCESSES = {"CrawlNoWorker", "CrawlBeatSilent"}
DAY_MS = 86_400_000


@pytest.fixture
def two_boards(crawl: SmallCrawl) -> SmallCrawl:
    """Return a crawl of two boards that have been scanned."""
    for board in "12":
        crawl.forum.board(board, 1, f"{board}0 0")
        crawl.forum.thread(f"{board}0")
    crawl.publish("boards: [1, 2]\n")
    crawl.scan()
    return crawl


def told(crawl: SmallCrawl) -> dict[str, Problem]:
    return {one.name: one for one in find_problems(take_snapshot(crawl.frontier)) if one.name not in PROCESSES}


def boards(crawl: SmallCrawl) -> ScanCounts:
    return take_snapshot(crawl.frontier).sites[0].boards


def dead(crawl: SmallCrawl) -> list[str]:
    return [one.request.address for one in Admin(crawl.frontier).failed.requests.list(Selection("demo", State.DEAD))]


def age(crawl: SmallCrawl, field: str = "failing", ms: int = 61_000) -> None:
    """Make what was noted by now seem older."""
    since, _, rest = crawl.client.hget("test:s:demo", field).decode().partition(" ")
    crawl.client.hset("test:s:demo", field, f"{int(since) - ms} {rest}")


def test_a_board_whose_page_is_given_up_is_one_dead_entry_until_it_is_read(two_boards: SmallCrawl) -> None:
    two_boards.forum.statuses["/list/1/1"] = 418

    for _ in range(4):
        two_boards.scan()

    assert told(two_boards).keys() == {"CrawlBoardsUnwatched"}
    assert told(two_boards)["CrawlBoardsUnwatched"].text.startswith("1 of 2 boards are not watched")
    assert "1 (status)" in told(two_boards)["CrawlBoardsUnwatched"].text
    assert (boards(two_boards).dead, boards(two_boards).on_time, len(dead(two_boards))) == (1, 1, 1)

    two_boards.forum.statuses.clear()
    two_boards.scan()

    assert told(two_boards) == {}
    assert (boards(two_boards).on_time, dead(two_boards)) == (2, [])


def test_a_board_that_was_given_up_is_tried_at_the_address_that_its_file_gives_it_now(two_boards: SmallCrawl) -> None:
    two_boards.forum.statuses["/list/1/1"] = 418
    two_boards.scan()
    two_boards.forum.pages["/forum/1/1"] = two_boards.forum.pages["/list/1/1"]
    two_boards.publish("boards: [1, 2]\n", RULES.replace("/list/{board}", "/forum/{board}"))

    asked = two_boards.scan()

    assert "/forum/1/1" in asked
    assert "/list/1/1" not in asked
    assert dead(two_boards) == []
    assert "CrawlBoardsUnwatched" not in told(two_boards)


def test_a_forum_of_two_boards_that_denies_everything_is_told_as_denied(two_boards: SmallCrawl) -> None:
    two_boards.forum.statuses |= {"/list/1/1": 403, "/list/2/1": 403}

    two_boards.scan()

    assert told(two_boards).keys() == {"CrawlDenied"}
    assert boards(two_boards).on_time == 0


def test_a_forum_that_is_gone_is_told_within_minutes_whatever_its_boards_are_due(two_boards: SmallCrawl) -> None:
    two_boards.forum.statuses |= {"/list/1/1": 500, "/list/2/1": 500}

    two_boards.scan()
    for _ in range(3):
        for entry in two_boards.client.zrange("test:s:demo:delayed", 0, -1):
            two_boards.client.zadd("test:s:demo:delayed", {entry: 0})
        two_boards.client.zadd("test:due", {"demo": 0})
        two_boards.client.hset("test:s:demo", "next_at", 0)
        two_boards.frontier.tick("me")
        two_boards.work()
    age(two_boards)

    assert told(two_boards).keys() - {"CrawlSlowedDown", "CrawlResting"} == {"CrawlNoPages"}
    assert "server_error" in told(two_boards)["CrawlNoPages"].text
    assert boards(two_boards).on_time == 0


def test_a_board_that_showed_threads_and_shows_none_is_told_until_it_shows_some(two_boards: SmallCrawl) -> None:
    two_boards.forum.board("1", 1)

    two_boards.scan()

    assert told(two_boards).keys() == {"CrawlBoardsEmpty"}
    assert "1 of 2" in told(two_boards)["CrawlBoardsEmpty"].text

    two_boards.forum.board("1", 1, "10 0")
    two_boards.scan()
    assert told(two_boards) == {}


def test_a_board_that_was_always_empty_is_none_that_became_so(two_boards: SmallCrawl) -> None:
    two_boards.forum.board("3", 1)
    two_boards.publish("boards: [1, 2, 3]\n")

    two_boards.scan()

    assert told(two_boards) == {}


@pytest.mark.parametrize("rows", [["1 1"], []], ids=["threads", "empty"])
def test_a_board_that_is_held_during_its_scan_is_named_as_held(two_boards: SmallCrawl, rows: list[str]) -> None:
    two_boards.scan()
    two_boards.forum.board("1", 1, *rows)
    two_boards.make_due()
    two_boards.frontier.produce()

    Admin(two_boards.frontier).board_schedule.change("demo", ["1"], Act.HOLD)
    two_boards.work()

    assert [kind for kind in told(two_boards) if "Held" in kind] == ["CrawlBoardsHeld"]


def test_a_held_board_is_told_and_after_a_day_as_a_warning(two_boards: SmallCrawl) -> None:
    Admin(two_boards.frontier).board_schedule.change("demo", ["1"], Act.HOLD)

    assert told(two_boards).keys() == {"CrawlBoardsHeld"}
    assert boards(two_boards).held == 1

    since, rest = two_boards.client.hget("test:s:demo:unwatched", "1").decode().split(" ", 1)
    two_boards.client.hset("test:s:demo:unwatched", "1", f"{int(since) - DAY_MS - 1000} {rest}")
    assert told(two_boards).keys() == {"CrawlBoardsHeldLong"}

    Admin(two_boards.frontier).board_schedule.change("demo", ["1"], Act.GO)
    assert told(two_boards) == {}


def test_a_held_board_whose_dead_page_is_retried_and_read_is_named_as_held(two_boards: SmallCrawl) -> None:
    two_boards.forum.statuses["/list/1/1"] = 418
    two_boards.scan()
    Admin(two_boards.frontier).board_schedule.change("demo", ["1"], Act.HOLD)
    del two_boards.forum.statuses["/list/1/1"]

    Admin(two_boards.frontier).failed.requests.retry(Selection("demo", State.DEAD))
    two_boards.work()

    assert told(two_boards).keys() == {"CrawlBoardsHeld"}


def test_a_pause_is_told_again_after_a_day(two_boards: SmallCrawl) -> None:
    two_boards.frontier.sites.pause("demo")

    assert told(two_boards).keys() == {"CrawlPaused"}

    decision = two_boards.client.hget("test:s:demo", "decision").decode()
    at = int(decision.split('"')[1])
    two_boards.client.hset("test:s:demo", "decision", decision.replace(str(at), str(at - DAY_MS - 1000)))
    assert told(two_boards).keys() == {"CrawlPausedLong"}


def test_a_board_that_leaves_the_file_is_told_no_more(two_boards: SmallCrawl) -> None:
    two_boards.forum.board("1", 1)
    two_boards.forum.statuses["/list/2/1"] = 418
    two_boards.scan()
    assert len(Inspector(two_boards.frontier).count_requests("demo").unwatched) == 2

    two_boards.forum.board("3", 1, "30 0")
    two_boards.publish("boards: [3]\n")
    two_boards.frontier.produce()

    assert Inspector(two_boards.frontier).count_requests("demo").unwatched == ()
