"""Scans of due boards, under the threshold, one at a time."""

from __future__ import annotations

from collections.abc import Callable

import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.model import Items, Parsed, Request, Stage, State
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.by_hand import NOTHING, board, lease, post, posts, released, take_list
from tests.waiting import eventually


def test_every_due_board_is_scanned_once_however_many_beats_there_are(
    frontier: Frontier, watch: Callable[..., None]
) -> None:
    watch(board("1"), board("2"), board("3"))

    assert [frontier.produce()[0] for _ in range(5)] == [3, 0, 0, 0, 0]
    assert Inspector(frontier).count_requests("demo").admitted == 3


def test_a_board_is_not_scanned_again_while_a_scan_is_open(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("1", interval_ms=1, most=1))
    frontier.produce()
    lease = take_list(frontier, client)
    page_2 = Request("demo", Stage.LIST, "1", "http://127.0.0.1/list/1/2", page=2, revision=lease.request.revision)
    frontier.commit(lease, Parsed(Items("demo"), (page_2,)))
    client.zadd("test:boards", {"demo 1": 0})

    assert frontier.produce() == (0, 0, 1)

    frontier.commit(take_list(frontier, client), Parsed(Items("demo")))
    client.zadd("test:boards", {"demo 1": 0})
    assert frontier.produce() == (1, 0, 0)
    assert take_list(frontier, client).request.revision == "2"


def test_a_board_that_nobody_looked_at_for_hours_is_scanned_once(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("1", interval_ms=60_000))
    client.zadd("test:boards", {"demo 1": frontier.clock_ms() - 6 * 3_600_000})

    first = frontier.produce()
    frontier.commit(take_list(frontier, client), Parsed(Items("demo")))

    assert [first, frontier.produce(), frontier.produce()] == [(1, 0, 0), (0, 0, 0), (0, 0, 0)]


def test_a_site_at_its_threshold_gets_no_scan_until_there_is_room(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("1"), board("2"), board("3"), max_backlog=6)
    frontier.admit("demo", posts(4))

    assert frontier.produce() == (2, 1, 0)
    assert Inspector(frontier).count_requests("demo").open == 6


def test_a_board_that_must_wait_is_overdue_from_when_it_was_due_until_its_scan_begins(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("1"), max_backlog=1)
    frontier.admit("demo", posts(1))
    for due_ms in (1000, 5000):  # looked at twice, as each look puts it off
        client.zadd("test:boards", {"demo 1": due_ms})
        frontier.produce()
    waiting = Inspector(frontier).count_requests("demo").boards

    frontier.commit(lease(frontier, released(client)[0]), NOTHING)
    client.zadd("test:boards", {"demo 1": frontier.clock_ms()})
    frontier.produce()

    assert (waiting.overdue, waiting.overdue_since_ms) == (1, 1000)
    assert Inspector(frontier).count_requests("demo").boards.overdue == 0
    assert take_snapshot(frontier).lateness().counts[-1] == 1  # it was due in 1970


def test_the_interval_of_a_board_follows_what_it_yields(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("busy", 1000, least=400, most=5000))
    frontier.produce()
    frontier.commit(take_list(frontier, client), Parsed(Items("demo"), (post(1),)))
    assert client.hget("test:s:demo:board:busy", "interval_ms") == b"500"

    client.zadd("test:boards", {"demo busy": 0})
    frontier.produce()
    frontier.commit(take_list(frontier, client), Parsed(Items("demo"), (post(1),)))
    assert client.hget("test:s:demo:board:busy", "interval_ms") == b"750"


def test_a_scan_that_dies_ends_and_the_board_is_scanned_again(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("1", interval_ms=20, most=20))
    frontier.produce()
    frontier.fail(take_list(frontier, client), Verdict(State.DEAD, "status", "HTTP 418"))
    [ended] = Inspector(frontier).boards("demo")

    eventually(lambda: frontier.produce()[0] == 1)
    assert (ended.open_pages, ended.scanned_at_ms > 0) == (0, True)


def test_a_scan_that_comes_back_from_the_dead_is_its_boards_only_one_again(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("1"))
    frontier.produce()
    frontier.fail(take_list(frontier, client), Verdict(State.DEAD, "status", "HTTP 418"))
    Admin(frontier).failed.requests.retry(Selection("demo", State.DEAD))

    client.zadd("test:boards", {"demo 1": 0})
    held_back = frontier.produce()
    frontier.commit(take_list(frontier, client), Parsed(Items("demo")))

    assert held_back == (0, 0, 1)
    assert client.hget("test:s:demo:board:1", "open") == b"0"


def test_a_board_that_left_the_site_file_is_scanned_no_more(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("1"), board("2"))
    watch(board("2"))

    assert frontier.produce()[0] == 1
    assert client.zrange("test:boards", 0, -1) == [b"demo 2"]


def test_a_paused_site_is_not_scanned(frontier: Frontier, watch: Callable[..., None]) -> None:
    watch(board("1"))
    frontier.sites.pause("demo")

    assert frontier.produce() == (0, 1, 0)
