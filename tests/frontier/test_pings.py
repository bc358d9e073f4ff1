"""A front page with counts: changed boards are due at once, others are put off, and what it hides is counted."""

from __future__ import annotations

import time

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.entry import read_entry
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Request
from tests.frontier.small_crawl import SmallCrawl

FRONT = """
front:
  record: .board
  fields: {board: {attr: data-id}, below: {css: .sub, attr: href, all: true, join: " "}, posts: .n, last_post_at: .at}
"""
PRICED = f"""
boards: [1, 2, 3, {{id: front, kind: front, address: /}}]
freshness: {{goal_s: 60, requests_s: 100}}
{FRONT}"""
ADAPTIVE = f"""
boards: [1, 2, 3, {{id: front, kind: front, address: /}}]
interval: {{start_s: 600}}
{FRONT}"""
OLD = "2026-01-01 10:00:01"
BOTH = pytest.mark.parametrize("site", [PRICED, ADAPTIVE], ids=["priced", "adaptive"])


def front(crawl: SmallCrawl, *rows: str) -> None:
    """Write the front page; a row is `board posts`, then the time of the last post, and `+board` for one below."""
    text = ""
    for board, posts, *rest in map(str.split, rows):
        subs = "".join(f'<a class=sub href="/list/{one[1:]}/1">sub</a>' for one in rest if one.startswith("+"))
        at = " ".join(one for one in rest if not one.startswith("+"))
        text += f"<div class=board data-id={board}>{subs}<i class=n>{posts}</i><i class=at>{at}</i></div>"
    crawl.forum.pages["/"] = text


def now_text(crawl: SmallCrawl, ago_s: float = 0) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(crawl.frontier.clock_ms() / 1000 - ago_s))


def begun(crawl: SmallCrawl, site: str = PRICED) -> None:
    """Scan three boards and the front page, so that all is known, and put the boards off."""
    crawl.publish(site)
    for number in ("7", "8", "9"):
        crawl.forum.thread(number)
        crawl.forum.board(str(int(number) - 6), 1, f"{number} 0 {OLD}")
    front(crawl, f"1 10 {OLD}", f"2 20 {OLD}", f"3 30 {OLD}")
    crawl.scan()
    crawl.client.hdel("test:s:demo", "scan_at")
    crawl.scan()
    look(crawl)


def look(crawl: SmallCrawl) -> list[str]:
    """Scan the front page, then what is due; return the paths that were fetched."""
    client = crawl.client
    client.hdel("test:s:demo", "scan_at", "ping_at")
    for board in ("1", "2", "3"):
        if not client.hexists(f"test:s:demo:board:{board}", "ping"):
            client.zadd("test:boards", {f"demo {board}": crawl.frontier.clock_ms() + 3_600_000})
    client.delete("test:early")
    client.zadd("test:boards", {"demo front": 0})
    crawl.frontier.produce()
    paths = crawl.work()
    crawl.frontier.produce()
    return paths + crawl.work()


def open_requests(client: redis.Redis) -> list[Request]:
    held = client.hgetall("test:s:demo:open")
    return [read_entry("demo", rid + b" " + entry.partition(b" ")[2])[2] for rid, entry in held.items()]


def due_in_s(crawl: SmallCrawl, board: str) -> float:
    return (float(crawl.client.zscore("test:boards", f"demo {board}") or 0) - crawl.frontier.clock_ms()) / 1000


def test_a_scan_for_a_ping_goes_before_others(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    client.hset("test:s:demo:board:2", "ping", 1)
    client.zadd("test:boards", {"demo 1": 0, "demo 2": 0, "demo 3": 0})
    client.hdel("test:s:demo", "scan_at")
    crawl.frontier.produce()

    levels = {request.key: request.priority for request in open_requests(client)}
    assert levels == {"1": 5, "2": 6, "3": 5}


@BOTH
def test_a_board_with_another_count_is_scanned_at_once_and_no_other(crawl: SmallCrawl, site: str) -> None:
    begun(crawl, site)
    crawl.forum.board("2", 1, f"8 1 {now_text(crawl)}")
    front(crawl, f"1 10 {OLD}", f"2 21 {now_text(crawl)}", f"3 30 {OLD}")

    assert look(crawl) == ["/", "/list/2/1", "/post/8"]
    assert look(crawl) == ["/"]


def test_a_board_below_another_is_scanned_with_it(crawl: SmallCrawl) -> None:
    begun(crawl)
    front(crawl, f"1 10 {OLD} +3", f"2 20 {OLD}")
    look(crawl)
    front(crawl, f"1 11 {now_text(crawl)} +3", f"2 20 {OLD}")

    assert sorted(look(crawl)) == ["/", "/list/1/1", "/list/3/1"]


def test_a_board_that_found_its_last_post_itself_is_not_scanned_again(crawl: SmallCrawl) -> None:
    begun(crawl)
    at = now_text(crawl, 61)
    at = at if not at.endswith(":00") else now_text(crawl, 62)
    crawl.forum.board("2", 1, f"8 1 {at}")
    crawl.client.hdel("test:s:demo", "scan_at")
    crawl.client.zadd("test:boards", {"demo 2": 0})
    crawl.frontier.produce()
    assert "/post/8" in crawl.work()
    front(crawl, f"1 10 {OLD}", f"2 21 {at}", f"3 30 {OLD}")

    assert look(crawl) == ["/"]


def test_a_ping_during_a_scan_is_answered_by_another_scan(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    # The front page is read between the fetch of the board's list and the end of its scan.
    crawl.forum.then["/list/2/1"] = lambda: client.hset("test:s:demo:board:2", "ping", crawl.frontier.clock_ms() + 5)
    client.hdel("test:s:demo", "scan_at")
    client.zadd("test:boards", {"demo 2": 0})
    crawl.frontier.produce()
    crawl.work()

    assert client.hexists("test:s:demo:board:2", "ping")
    assert due_in_s(crawl, "2") <= 0


def test_pings_beyond_the_budget_wait_for_their_slots_and_push_other_scans_back(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    begun(crawl)
    crawl.publish(PRICED.replace("requests_s: 100", "requests_s: 0.1"))
    client.hdel("test:s:demo", "scan_at", "ping_at")
    now = now_text(crawl)
    front(crawl, f"1 11 {now}", f"2 21 {now}", f"3 31 {now}")
    client.delete("test:early")
    client.zadd("test:boards", {"demo front": 0})
    crawl.frontier.produce()
    crawl.work()
    crawl.frontier.produce()

    slots = [client.hget(f"test:s:demo:board:{board}", "slot") for board in ("1", "2", "3")]
    waits = sorted(float(slot) - crawl.frontier.clock_ms() for slot in slots if slot)
    assert len(waits) == 2
    assert waits[1] - waits[0] == pytest.approx(10_000, abs=1000)
    assert float(client.hget("test:s:demo", "scan_at") or 0) >= float(client.hget("test:s:demo", "ping_at") or 0)


def test_a_front_page_waits_until_the_scans_of_its_last_look_have_their_turn(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    begun(crawl)
    ping_at, now = crawl.frontier.clock_ms() + 60_000, crawl.frontier.clock_ms()
    client.hset("test:s:demo", mapping={"ping_at": ping_at, "scan_at": now})
    client.delete("test:early")
    client.zadd("test:boards", {"demo front": now - 1, "demo 1": now - 1})

    crawl.frontier.produce()

    assert float(client.hget("test:s:demo:board:front", "slot")) == ping_at
    assert int(client.hget("test:s:demo:board:1", "open")) == 1


def test_a_front_page_waits_behind_no_board_whose_slot_is_yet_to_come(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    now = crawl.frontier.clock_ms()
    client.hset("test:s:demo", mapping={"ping_at": 0, "scan_at": now + 60_000})
    client.hset("test:s:demo:board:front", mapping={"min_ms": 1, "max_ms": 600_000})
    client.delete("test:early")
    client.zadd("test:boards", {"demo front": now - 1, "demo 1": now - 1})

    crawl.frontier.produce()

    assert int(client.hget("test:s:demo:board:front", "open")) == 1
    assert float(client.hget("test:s:demo:board:1", "slot")) >= now + 60_000


def test_what_pings_find_is_the_front_pages_and_lets_the_board_wait(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    for replies in range(1, 6):
        crawl.forum.board("2", 1, f"8 {replies} {now_text(crawl)}")
        front(crawl, f"1 10 {OLD}", f"2 {20 + replies} {now_text(crawl)}", f"3 30 {OLD}")
        assert "/post/8" in look(crawl)
    look(crawl)

    rates = {name: float(client.hget(f"test:s:demo:board:{name}", "history").split()[0]) for name in ("2", "front")}
    assert rates == pytest.approx({"2": 0, "front": 5}, abs=0.1)
    assert Inspector(crawl.frontier).count_requests("demo").stats["news:found"] == 5


def test_what_the_front_page_hides_is_found_by_the_board_and_counted(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    client.hset("test:s:demo", "news_at", crawl.frontier.clock_ms())
    crawl.forum.board("1", 1, f"9 1 {now_text(crawl, 120)}", f"7 0 {OLD}")
    client.hdel("test:s:demo", "scan_at")
    client.zadd("test:boards", {"demo 1": 0})
    crawl.frontier.produce()

    assert "/list/1/1" in crawl.work()
    assert Inspector(crawl.frontier).count_requests("demo").stats["news:missed"] == 1
    assert float(client.hget("test:s:demo:board:1", "history").split()[0]) == pytest.approx(1, abs=0.01)


def test_after_redis_lost_the_counts_only_boards_with_a_later_post_are_scanned(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    begun(crawl)
    client.delete("test:s:demo:front")
    for board in ("1", "2", "3"):
        client.hdel(f"test:s:demo:board:{board}", "newest")  # as a recovered board
    front(crawl, f"1 10 {OLD}", f"2 20 {now_text(crawl)}", f"3 30 {OLD}")

    assert look(crawl) == ["/", "/list/2/1"]


def test_a_board_with_an_interval_of_its_own_or_on_hold_is_left_alone(crawl: SmallCrawl) -> None:
    begun(crawl)
    schedule = Admin(crawl.frontier).board_schedule
    schedule.change("demo", ["1"], Act.FIX, 3_600_000)
    schedule.change("demo", ["2"], Act.HOLD)
    front(crawl, f"1 11 {now_text(crawl)}", f"2 21 {now_text(crawl)}", f"3 30 {OLD}", "unknown 5")

    assert look(crawl) == ["/"]


def test_a_board_before_its_first_scan_is_compared_at_the_next_look(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    client.sadd("test:s:demo:unscanned", "2")
    front(crawl, f"1 10 {OLD}", f"2 21 {now_text(crawl)}", f"3 30 {OLD}")
    assert look(crawl) == ["/"]

    client.srem("test:s:demo:unscanned", "2")

    assert look(crawl) == ["/", "/list/2/1"]


def test_a_board_that_leaves_the_file_takes_its_counts_along(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)

    crawl.publish(PRICED.replace("[1, 2, 3,", "[1, 3,"))
    crawl.frontier.tick("t")

    assert client.hget("test:s:demo:front", "2") == b""


def test_a_front_page_without_counts_is_no_page_without_news(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    front(crawl, "1 10")
    crawl.forum.pages["/"] = str(crawl.forum.pages["/"]).replace("class=n", "class=m")

    assert look(crawl) == ["/"]
    assert client.hlen("test:s:demo:parked") == 1


def test_a_front_page_of_a_thousand_boards_is_compared_in_several_looks(crawl: SmallCrawl, client: redis.Redis) -> None:
    boards = ", ".join(map(str, range(1001)))
    crawl.publish(PRICED.replace("[1, 2, 3,", f"[{boards},"))
    while client.exists("test:s:demo:pending"):
        crawl.frontier.tick("t")
    client.delete("test:s:demo:unscanned")
    front(crawl, *(f"{board} 10 {OLD}" for board in range(1001)))
    due = []
    for _ in range(11):
        client.zadd("test:boards", {f"demo {board}": 4e12 for board in range(1001)})
        client.hdel("test:s:demo", "scan_at")
        client.zadd("test:boards", {"demo front": 0})
        crawl.frontier.produce()
        crawl.work()
        due.append(client.zcount("test:boards", 0, crawl.frontier.clock_ms()))

    assert due == [100] * 10 + [0]
    assert client.hget("test:s:demo", "cut:list") == b"11"


def test_lost_counts_cost_no_scan_and_the_next_change_is_seen(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    assert client.delete("test:s:demo:front") == 1

    without = look(crawl)
    crawl.forum.board("2", 1, "8 1")
    front(crawl, f"1 10 {OLD}", f"2 21 {now_text(crawl)}", f"3 30 {OLD}")
    changed = look(crawl)

    assert without == ["/"]
    assert changed[:2] == ["/", "/list/2/1"]
    assert Inspector(crawl.frontier).count_requests("demo").imbalance() == ""
