"""Intervals and scans that an operator changes while the crawl goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act, Rescheduled
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import BoardState
from crawl_tasks.model import Items, Parsed
from tests.frontier.by_hand import board, take_list

Watch = Callable[..., None]


def state(frontier: Frontier, name: str = "1") -> BoardState:
    (found,) = [board for board in Inspector(frontier).boards("demo") if board.board == name]
    return found


def next_scan_ms(frontier: Frontier) -> int:
    return state(frontier).due_at_ms - frontier.clock_ms()


def scan(frontier: Frontier, client: redis.Redis) -> None:
    assert frontier.produce()[0] == 1
    frontier.commit(take_list(frontier, client), Parsed(Items("demo")))


def test_a_fixed_interval_holds_at_once_and_after_every_scan(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1", 600_000))
    scan(frontier, client)

    assert Admin(frontier).board_schedule.change("demo", ["1"], Act.FIX, 30_000) == Rescheduled(1, 0)

    assert 20_000 < next_scan_ms(frontier) <= 30_000
    Admin(frontier).board_schedule.change("demo", ["1"], Act.NOW)
    scan(frontier, client)
    assert state(frontier).interval_ms == 30_000
    assert 20_000 < next_scan_ms(frontier) <= 30_000


def test_a_fixed_interval_survives_publishing_until_the_site_file_changes_it(frontier: Frontier, watch: Watch) -> None:
    watch(board("1"), board("2"))
    Admin(frontier).board_schedule.change("demo", ["1", "2"], Act.FIX, 30_000)

    watch(board("1"), board("2", most=500_000))

    assert (state(frontier, "1").fixed_ms, state(frontier, "1").interval_ms) == (30_000, 30_000)
    assert (state(frontier, "2").fixed_ms, state(frontier, "2").most_ms) == (0, 500_000)


def test_a_board_goes_back_to_what_the_site_file_says(frontier: Frontier, watch: Watch) -> None:
    watch(board("1", 60_000))
    Admin(frontier).board_schedule.change("demo", ["1"], Act.FIX, 30_000)

    Admin(frontier).board_schedule.change("demo", ["1"], Act.FREE)

    known = state(frontier)
    assert (known.fixed_ms, known.interval_ms, known.least_ms, known.most_ms) == (0, 60_000, 1, 600_000)


def test_a_board_that_is_held_is_not_scanned_until_it_goes_on(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"))
    Admin(frontier).board_schedule.change("demo", ["1"], Act.HOLD)

    watch(board("1"))
    assert Admin(frontier).board_schedule.change("demo", ["1"], Act.NOW) == Rescheduled(0, 1)
    assert frontier.produce() == (0, 0, 0)
    assert state(frontier).is_held

    Admin(frontier).board_schedule.change("demo", ["1"], Act.GO)
    scan(frontier, client)
    assert not state(frontier).is_held


def test_a_scan_that_ends_does_not_bring_a_held_board_back(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1", interval_ms=1, most=1))
    frontier.produce()
    lease = take_list(frontier, client)

    Admin(frontier).board_schedule.change("demo", ["1"], Act.HOLD)
    frontier.commit(lease, Parsed(Items("demo")))

    assert frontier.produce() == (0, 0, 0)


def test_a_board_that_is_held_is_not_late(frontier: Frontier, client: redis.Redis, watch: Watch) -> None:
    watch(board("1"))
    frontier.sites.pause("demo")
    client.zadd("test:boards", {"demo 1": 1})
    frontier.produce()
    assert Inspector(frontier).count_requests("demo").boards.late == 1

    Admin(frontier).board_schedule.change("demo", ["1"], Act.HOLD)

    assert Inspector(frontier).count_requests("demo").boards.late == 0


def test_a_board_that_the_site_does_not_have_stays_unknown(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"))

    for act in Act:
        assert Admin(frontier).board_schedule.change("demo", ["2"], act, 1000) == Rescheduled(0, 0)

    assert client.zrange("test:boards", 0, -1) == [b"demo 1"]
    assert not client.exists("test:s:demo:board:2")


def test_a_site_that_nobody_published_has_no_schedule(frontier: Frontier) -> None:
    with pytest.raises(ConfigError, match="not published"):
        Admin(frontier).board_schedule.change("nowhere", ["1"], Act.NOW)


@pytest.mark.parametrize("act", [Act.FIX, Act.NOW])
def test_a_board_that_was_held_back_is_late_no_more_when_it_is_planned_anew(
    act: Act, frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"))
    scan(frontier, client)
    frontier.sites.pause("demo")
    client.zadd("test:boards", {"demo 1": 1})
    frontier.produce()
    assert Inspector(frontier).count_requests("demo").boards.late == 1

    Admin(frontier).board_schedule.change("demo", ["1"], act, 7 * 86_400_000)
    frontier.sites.resume("demo")

    boards = Inspector(frontier).count_requests("demo").boards
    days = next_scan_ms(frontier) / 86_400_000
    assert (boards.late, boards.overdue, round(days)) == (0, 0, 7 if act is Act.FIX else 0)
