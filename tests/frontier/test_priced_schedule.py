"""The priced schedule: a budget, intervals by each board's rate of news, and scans ahead of time."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Items, Parsed, Post
from crawl_tasks.monitor.progress import plain_text
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.freshness.revisit import UNCHANGED_COST, BoardHistory, SiteTerms, interval
from tests.frontier.by_hand import board, lease, post, released
from tests.frontier.small_crawl import SmallCrawl

DAY_MS = 86_400_000
GOAL_H = 1.0
Watch = Callable[..., None]


def boards(count: int) -> list[object]:
    return [board(str(number), 600_000, 1000, DAY_MS) for number in range(1, count + 1)]


def scan_all(
    frontier: Frontier, client: redis.Redis, news: dict[str, list[int]] | None = None, waited_ms: int = 0
) -> None:
    """Scan every board now, once. `news` are the ages of new threads in seconds, by board; the pages have waited."""
    waiting = {name.decode() for name in client.smembers("test:s:demo:boards")}
    while waiting:
        for name in waiting:
            client.zadd("test:boards", {f"demo {name}": 1})
        client.hdel("test:s:demo", "scan_at")
        frontier.produce()
        frontier.tick("t")
        for rid in released(client, "list"):
            held = lease(frontier, rid)
            now = frontier.clock_ms() // 1000
            client.hincrby(f"test:s:demo:board:{held.request.key}", "started_at", -waited_ms)
            found = (news or {}).get(held.request.key, [])
            keys = [client.incr("made") for _ in found]
            items = Items("demo", posts=tuple(
                Post(str(key), last_reply_at=now - age) for key, age in zip(keys, found, strict=True)))  # fmt: skip
            frontier.commit(held, Parsed(items, tuple(post(key) for key in keys)))
            waiting.discard(held.request.key)


def interval_s(client: redis.Redis, name: str) -> float:
    return int(client.hget(f"test:s:demo:board:{name}", "interval_ms")) / 1000


def test_scans_beyond_the_budget_get_slots_in_the_order_of_their_due_times(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(*boards(9), freshness=f"3600 {GOAL_H}")
    for number in range(1, 10):
        client.zadd("test:boards", {f"demo {number}": number})

    admitted, held, busy = frontier.produce()

    assert (held, busy) == (0, 0)
    assert 1 <= admitted <= 3
    slots = [client.zscore("test:boards", f"demo {number}") for number in range(1 + admitted, 10)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(slots)]
    assert all(gap == pytest.approx(1000, abs=1) for gap in gaps)
    assert frontier.produce()[0] == 0

    client.zadd("test:boards", {"demo 9": 0})  # its slot has come
    assert frontier.produce()[0] == 1


def test_a_busy_board_is_scanned_more_often_than_a_quiet_one(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(*boards(4), freshness=f"60 {GOAL_H}")

    for _ in range(4):
        scan_all(frontier, client, {"1": [30, 60, 90, 7200], "2": [80_000]})

    assert interval_s(client, "1") < min(interval_s(client, "2"), interval_s(client, "3"))


def test_a_board_is_scanned_ahead_of_time_while_the_budget_allows_and_the_goal_is_not_met(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(*boards(2), freshness="60 0.001")
    scan_all(frontier, client, {"1": [30, 60], "2": [7200]})
    soon = frontier.clock_ms() + 0.5 * 1000 * interval_s(client, "1")
    client.zadd("test:boards", {"demo 1": soon})
    client.zadd("test:s:demo:by_due", {"1": soon})

    def look() -> int:
        client.hdel("test:s:demo", "scan_at")
        client.zadd("test:early", {"demo": 0})
        return frontier.produce()[0]

    Admin(frontier).board_schedule.change("demo", ["1"], Act.HOLD)
    assert look() == 0
    Admin(frontier).board_schedule.change("demo", ["1"], Act.GO)
    client.zadd("test:boards", {"demo 1": soon})
    client.zadd("test:s:demo:by_due", {"1": soon})
    frontier.sites.pause("demo")
    assert look() == 0
    frontier.sites.resume("demo")
    watch(*boards(2), freshness="60 1000")  # a goal that is met
    assert look() == 0
    watch(*boards(2), freshness="60 0.001")
    assert look() == 1


def test_a_board_with_an_interval_of_its_own_waits_for_no_slot(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(*boards(9), board("news", 5000, 5000, 5000), freshness=f"3600 {GOAL_H}")
    for place, (name, *_) in enumerate([*((str(number),) for number in range(1, 10)), ("news",)]):
        client.zadd("test:boards", {f"demo {name}": place + 1})

    frontier.produce()

    assert client.hget("test:s:demo:board:9", "slot") is not None
    assert client.hget("test:s:demo:board:news", "scan") == b"1"


def test_an_interval_that_an_operator_fixed_holds_against_scans_ahead_of_time(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(*boards(1), freshness="60 0.001")
    scan_all(frontier, client, {"1": [30, 60]})
    Admin(frontier).board_schedule.change("demo", ["1"], Act.FIX, 600_000)
    client.hdel("test:s:demo", "scan_at")
    client.zadd("test:boards", {"demo 1": frontier.clock_ms() + 300_000})
    client.zadd("test:early", {"demo": 0})

    assert [frontier.produce()[0] for _ in range(2)] == [0, 0]


def test_a_board_with_an_interval_of_its_own_keeps_it(frontier: Frontier, client: redis.Redis, watch: Watch) -> None:
    watch(board("1", 5000, 5000, 5000), *boards(3)[1:], freshness=f"60 {GOAL_H}")

    scan_all(frontier, client, {"1": [1] * 20})

    assert interval_s(client, "1") == 5
    assert client.zscore("test:s:demo:by_due", "1") is None


def test_first_scans_of_a_busy_site_already_spend_its_budget_and_no_more(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    busy = [number * 7200 // 25 for number in range(25)]  # 12 an hour
    watch(*boards(20), freshness=f"120 {GOAL_H}")

    scan_all(frontier, client, {str(number): busy for number in range(1, 21)})

    # The first boards are scanned while little is known of the site.
    requests_h = sum(3600 / interval_s(client, str(number)) for number in range(1, 21))
    assert 60 < requests_h < 300


def test_new_items_of_all_pages_of_a_scan_count(frontier: Frontier, client: redis.Redis, watch: Watch) -> None:
    watch(*boards(1), freshness=f"60 {GOAL_H}")
    scan_all(frontier, client)
    client.zadd("test:boards", {"demo 1": 0})
    client.hdel("test:s:demo", "scan_at")
    frontier.produce()
    first = lease(frontier, released(client, "list")[0])
    page_2 = first.request._replace(page=2, address=first.request.address + "2")
    frontier.commit(first, Parsed(Items("demo"), (post(901), page_2)))
    frontier.commit(lease(frontier, released(client, "list")[0]), Parsed(Items("demo"), (post(902), post(903))))

    items = float(client.hget("test:s:demo:board:1", "history").split()[0])

    assert items == pytest.approx(3, abs=0.1)
    assert client.hget("test:s:demo:board:1", "scan_items") is None


def test_the_simple_form_holds_again_when_the_file_says_so(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(*boards(2), freshness=f"60 {GOAL_H}")
    scan_all(frontier, client)
    watch(*boards(2), freshness="")
    before = interval_s(client, "1")

    scan_all(frontier, client, {"1": [60]})

    assert interval_s(client, "1") == pytest.approx(before / 2, abs=1)


def test_status_shows_goal_and_expectation(frontier: Frontier, client: redis.Redis, watch: Watch) -> None:
    watch(*boards(2), freshness="3600 0.5")
    client.hset("test:s:demo", "pulse", "1 10 5 40 10")

    assert "  fresh    25% of new replies are expected within 30 min" in plain_text(take_snapshot(frontier, ["demo"]))


def test_a_scan_whose_page_had_not_changed_costs_half_of_the_budget_of_another(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish("boards: [1]\nfreshness: {goal_s: 60, requests_s: 0.1}\n")
    crawl.forum.board("1", 1, "7 0 2026-01-01 10:00:01")
    crawl.forum.thread("7")
    crawl.forum.etags["/list/1/1"] = '"a"'

    def cost_of_a_scan() -> float:
        client.hdel("test:s:demo", "scan_at")
        crawl.scan()
        return float(client.hget("test:s:demo", "scan_at")) - crawl.frontier.clock_ms()

    whole, unchanged = cost_of_a_scan(), cost_of_a_scan()

    assert len(crawl.forum.asked_if) == 1
    assert whole - unchanged == pytest.approx(5000, abs=200)
    assert client.hget("test:s:demo:board:1", "pace").split()[1] == b"0.875"


def test_a_board_whose_scans_cost_half_is_scanned_more_often() -> None:
    terms = SiteTerms(price=5.0, mean_rate=1.0, least_h=0.001, most_h=100.0)
    board = BoardHistory(items=20, hours=20, at_h=490_000)

    assert interval(board, terms, cost=UNCHANGED_COST) < 0.9 * interval(board, terms)


def test_scans_that_come_late_lower_the_share_that_is_expected_in_time(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1", 60_000, 60_000, 60_000), freshness=f"60 {1 / 60}")
    scan_all(frontier, client, {"1": [30] * 20})
    at_first = float(client.hget("test:s:demo", "pulse").split()[4])
    history = client.hget("test:s:demo:board:1", "history").split()
    history[3] = b"%.10g" % (float(history[3]) - 1 / 30)  # two minutes ago, where one was planned
    client.hset("test:s:demo:board:1", "history", b" ".join(history))

    scan_all(frontier, client, {"1": [30] * 20})

    rate, in_time = map(float, client.hget("test:s:demo", "pulse").split()[3:])
    assert at_first > 0
    assert in_time / rate == pytest.approx(0.8, abs=0.01)
    [state] = Inspector(frontier).boards("demo")
    assert state.gap_s == pytest.approx(75, abs=1)


def test_the_time_in_which_a_list_page_waits_to_be_read_is_no_delay_of_what_it_shows(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1", 60_000, 60_000, 60_000), freshness=f"60 {1 / 60}")
    scan_all(frontier, client, {"1": [30] * 20})
    history = client.hget("test:s:demo:board:1", "history").split()
    history[3] = b"%.10g" % (float(history[3]) - 1 / 60)  # a minute ago, as planned
    client.hset("test:s:demo:board:1", "history", b" ".join(history))

    scan_all(frontier, client, waited_ms=40_000)

    [state] = Inspector(frontier).boards("demo")
    assert state.gap_s == pytest.approx(60, abs=1)


def test_an_older_worker_beside_reads_what_was_learned(frontier: Frontier, client: redis.Redis, watch: Watch) -> None:
    watch(*boards(1), freshness=f"60 {GOAL_H}")
    scan_all(frontier, client, {"1": [30] * 20})

    rate = float(client.hget("test:s:demo:board:1", "history").split()[4])
    words = [len(client.hget("test:s:demo:board:1", name).split()) for name in ("history", "pace")]
    client.hdel("test:s:demo:board:1", "expected")  # which an older worker does not write
    [state] = Inspector(frontier).boards("demo")

    assert words == [6, 2]  # any other number reads as nothing there
    assert state.expected_h == state.rate_h == pytest.approx(rate)
    scan_all(frontier, client, {"1": [30] * 20})
    assert Inspector(frontier).boards("demo")[0].expected_h > 0


def test_hours_of_day_count_from_the_second_day_on(frontier: Frontier, client: redis.Redis, watch: Watch) -> None:
    ages = [60 * number for number in range(1, 21)]
    watch(*boards(1), freshness=f"60 {GOAL_H}")
    scan_all(frontier, client, {"1": ages})
    *hours, since = client.hget("test:s:demo", "busy").decode().split()
    client.hset("test:s:demo", "busy", " ".join([*hours, str(int(since) - 25)]))
    watch(*boards(2), freshness=f"60 {GOAL_H}")

    scan_all(frontier, client, {"2": ages})

    first, second = (float(client.hget(f"test:s:demo:board:{board}", "history").split()[1]) for board in "12")
    assert first == pytest.approx(1 / 3, rel=0.02)
    assert second > 1.5 * first
