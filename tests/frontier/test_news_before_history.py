"""What is new goes before history: first scans, walks and what they find never hold up the watch over a board."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.model import Items, Lease, Parsed, Priority, Request, Stage
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.registry.site_publisher import board_terms
from crawl_tasks.worker.task_message import TaskMessage
from tests.frontier.by_hand import NOTHING, board, lease, posts, released, take_list
from tests.frontier.small_crawl import RULES, SmallCrawl

Watch = Callable[..., None]
BOARD = "test:s:demo:board:1"
NEXT = "<a class=next>"


def levels(client: redis.Redis, stage: Stage) -> dict[int, int]:
    """Return how many requests of a stage are ready or released, by priority."""
    counted: dict[int, int] = {}
    entries = [entry for key in client.keys(f"test:s:demo:ready:{stage}:*") for entry in client.lrange(key, 0, -1)]
    entries += [b"0 " + held.split(b" ", 1)[1] for held in client.hvals("test:s:demo:open")]
    for entry in entries:
        _, of, level, *_ = entry.decode().split(" ")
        if of == stage.value:
            counted[int(level)] = counted.get(int(level), 0) + 1
    return counted


def history(count: int) -> tuple[Request, ...]:
    return tuple(one._replace(priority=1) for one in posts(count))


def page_after(one: Lease, level: int, *, only_if_new: bool = True) -> Request:
    page = one.request.page + 1
    address = f"http://127.0.0.1/list/{one.request.key}/{page}"
    return one.request._replace(page=page, address=address, priority=level, only_if_new=only_if_new)


def lists(frontier: Frontier, client: redis.Redis) -> list[Lease]:
    return [lease(frontier, rid) for rid in released(client, "list")]


def end(frontier: Frontier, one: Lease, *found: Request) -> None:
    """End a list page that found posts, and names the next page."""
    level = min(1, one.request.priority) if one.request.priority <= Priority.BACKFILL else one.request.priority
    frontier.commit(one, Parsed(Items("demo"), (*found, page_after(one, level))))


def first_scan(frontier: Frontier, client: redis.Redis) -> None:
    """End the first page of the first scan of board 1."""
    frontier.produce()
    end(frontier, take_list(frontier, client), *posts(3))


def scan(frontier: Frontier, client: redis.Redis, *found: Request) -> list[Lease]:
    """Scan board 1 again, end its first page, and give the other list pages that were released."""
    client.zadd("test:boards", {"demo 1": 0})
    assert frontier.produce()[0] == 1
    taken = lists(frontier, client)
    [first] = [one for one in taken if one.request.page == 1]
    end(frontier, first, *found)
    return [one for one in taken if one is not first] + lists(frontier, client)


def test_a_first_crawl_is_backfill_and_what_a_later_scan_finds_is_not(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish("boards: [1]\npriority: {post: 7}\n", RULES.replace("window: 50", "window: 1"))
    crawl.forum.board("1", 1, "9 0", "8 0", more=NEXT)
    crawl.forum.board("1", 2, "7 0")
    for thread in ("10", "9", "8", "7"):
        crawl.forum.thread(thread)
    client.zadd("test:boards", {"demo 1": 0})
    crawl.frontier.produce()
    assert levels(client, Stage.LIST) == {2: 1}
    crawl.work()
    first = (client.hget("test:s:demo", "levels:list"), client.hget("test:s:demo", "levels:post"))

    crawl.forum.board("1", 1, "10 0", "9 0", "8 0", more=NEXT)
    crawl.scan()

    assert first == (b"21", b"1")
    assert client.hget("test:s:demo", "levels:post") == b"71"


def test_a_board_is_scanned_while_the_walk_of_its_first_scan_goes_on(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), window=50)
    first_scan(frontier, client)

    [walk] = scan(frontier, client)

    assert (walk.request.page, walk.request.revision, walk.request.priority) == (2, "1", 1)
    assert client.hmget(BOARD, "open", "walk_open") == [b"0", b"1"]
    assert Inspector(frontier).count_requests("demo").boards.unscanned == 0


def test_news_is_released_before_the_history_that_waits(
    frontier: Frontier, client: redis.Redis, publish: Watch
) -> None:
    publish(window=1, weights="1 4 1 1")
    frontier.admit("demo", history(50))
    frontier.admit("demo", posts(8, start=100))

    order = released(client)
    for _ in range(10):
        frontier.commit(lease(frontier, order[-1]), NOTHING)
        order += released(client)

    assert sum(rid > 50 for rid in order[1:]) == 8


def test_a_first_crawl_fills_half_of_the_backlog_and_a_scan_still_goes(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), max_backlog=400, window=256)
    frontier.produce()
    frontier.commit(take_list(frontier, client), NOTHING)
    watch(board("1"), board("2"), max_backlog=400, window=256)
    frontier.admit("demo", history(250))

    first_scan_of_2 = frontier.produce()
    frontier.admit("demo", [Request("demo", Stage.LIST, "1", "http://127.0.0.1/w", 9, "1", priority=1)])
    walk = released(client, "list")
    client.zadd("test:boards", {"demo 1": 0})
    scan_of_1 = frontier.produce()

    assert (first_scan_of_2, walk) == ((0, 1, 0), [])
    assert (scan_of_1[0], len(released(client, "list"))) == (1, 1)


def test_scans_go_on_beside_more_history_than_fits_as_a_recovery_leaves_it(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), max_backlog=100, window=1)
    frontier.produce()
    frontier.commit(take_list(frontier, client), NOTHING)
    frontier.admit("demo", history(1000))
    client.zadd("test:boards", {"demo 1": 0})

    assert frontier.produce()[0] == 1

    rid = released(client)[0]
    frontier.commit(lease(frontier, rid), NOTHING)
    assert released(client, "list") != []


def test_more_history_than_fits_is_worked_off_as_if_a_page_had_brought_it(
    frontier: Frontier, client: redis.Redis, publish: Watch
) -> None:
    publish(max_backlog=100, window=4)
    client.hset("test:s:demo", "max_children", "30 20 1")
    frontier.admit("demo", history(1000))

    assert len(released(client)) == 2  # each may bring 19 more, and a list page 29


def test_a_walk_passes_known_rows_as_far_as_news_moved_them(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), window=50)
    first_scan(frontier, client)
    client.hdel(BOARD, "first")  # the first walk over a board passes all known rows
    [page_2] = scan(frontier, client, *posts(3, start=50))[:1]

    end(frontier, page_2, *posts(3))  # the rows of page 1 again
    [page_3] = [one for one in lists(frontier, client) if one.request.revision == "1"]
    end(frontier, page_3, *posts(3))

    assert page_3.request.page == 3
    assert client.hexists(BOARD, "walk_open") == 0


def test_the_first_walk_over_a_board_passes_200_pages_of_known_rows_in_a_row(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), window=50)
    first_scan(frontier, client)
    [page] = lists(frontier, client)
    client.hset(BOARD, "first", 199)
    end(frontier, page, *posts(3))
    [page] = lists(frontier, client)
    end(frontier, page, *posts(3, start=50))
    [page] = lists(frontier, client)
    client.hset(BOARD, "first", 200)
    end(frontier, page, *posts(3))

    assert page.request.page == 4
    assert (lists(frontier, client), client.hmget(BOARD, "first", "walk_open")) == ([], [None, None])


def test_a_walk_that_a_recovery_finds_open_goes_to_the_end_of_its_board(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), window=50)
    first_scan(frontier, client)
    client.hdel(BOARD, "first")  # as if the walk had come back from the database
    assert Admin(frontier).restore.restore_board("demo", "1", 1, 1)

    [page] = lists(frontier, client)
    end(frontier, page, *posts(3))  # the rows of page 1 again

    assert [one.request.page for one in lists(frontier, client)] == [3]


def test_a_walk_that_went_far_is_made_again_behind_the_next_scan_and_as_backfill(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), window=50)
    first_scan(frontier, client)
    for start in (11, 21):
        [page] = lists(frontier, client)
        end(frontier, page, *posts(3, start=start))
    [page] = lists(frontier, client)
    frontier.commit(page, NOTHING)

    walked = scan(frontier, client)
    while len(walked) < 9 and walked[-1].request.page == len(walked) + 1:
        end(frontier, walked[-1])
        walked += lists(frontier, client) or walked[-1:]

    assert {one.request.page: one.request.priority for one in walked} == {2: 1, 3: 1, 4: 1}
    assert client.hexists(BOARD, "walk_open") == 0
    # The database is told the same, for a recovery.
    told = [visit for _, text in frontier.outbox.draw("t", 100).pages for visit in read_items(text).visits]
    assert {visit.priority for visit in told if visit.page > 1} == {1}


def test_a_list_in_the_order_of_replies_is_scanned_as_far_as_it_can_have_news(crawl: SmallCrawl) -> None:
    last = {1: 10, 2: 11, 3: 12, 4: 13}  # minute of the last reply of each thread

    def scan_after(**replied: int) -> list[str]:
        last.update({int(thread[1:]): minute for thread, minute in replied.items()})
        order = sorted(last, key=lambda thread: -last[thread])
        for page in range(1, 4):
            rows = [f"{one} {last[one]} 2026-01-01T10:{last[one]}" for one in order[3 * page - 3 : 3 * page]]
            crawl.forum.board("1", page, *rows, more=NEXT if order[3 * page :] else "")
        for thread in order:
            crawl.forum.thread(str(thread), *[f"{thread}-{number} text" for number in range(last[thread])])
        return crawl.scan()

    crawl.publish()
    scan_after()
    scan_after(t1=20)  # the first walk ended on page 2, and is made again

    assert scan_after(t3=30) == ["/list/1/1", "/post/3"]
    assert scan_after(t5=41, t6=42, t7=43) == ["/list/1/1", "/list/1/2", "/post/7", "/post/6", "/post/5"]


def test_pinned_rows_do_not_end_a_scan(crawl: SmallCrawl) -> None:
    rules = RULES.replace("last_reply_at: .at}", "last_reply_at: .at, pinned: .at}")
    crawl.publish(rules=rules)
    for thread in range(1, 6):
        crawl.forum.thread(str(thread))
    crawl.forum.board("1", 1, "1 0 yes", "2 0")
    crawl.scan()

    crawl.forum.board("1", 1, "1 0 yes", "4 0", more=NEXT)
    crawl.forum.board("1", 2, "3 0", "2 0")
    crawl.scan()

    # Page 2 is part of the scan, as all rows of page 1 but the pinned one are new.
    assert crawl.client.hget("test:s:demo", "levels:list") == b"52"


def test_a_board_of_many_pages_at_once_is_scanned_beside_its_walk_without_a_second_one(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), window=50)
    frontier.produce()
    first = take_list(frontier, client)
    pages = [page_after(first, 1, only_if_new=False)]
    pages += [pages[0]._replace(page=page, address=f"http://127.0.0.1/list/1/{page}") for page in range(3, 30)]
    frontier.commit(first, Parsed(Items("demo"), tuple(pages)))

    again = [page._replace(revision="2", priority=5) for page in pages]
    client.zadd("test:boards", {"demo 1": 0})
    frontier.produce()
    [scanned] = [one for one in lists(frontier, client) if one.request.page == 1]
    frontier.commit(scanned, Parsed(Items("demo"), tuple(again)))

    assert client.hmget(BOARD, "open", "walk_open") == [b"1", b"28"]  # page 2 alone


def test_a_priority_of_the_users_own_holds_for_what_is_found(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish("boards: [1]\npriority: {list: 2, post: 6}\n")
    crawl.forum.board("1", 1, "9 0")
    crawl.forum.thread("9")

    crawl.scan()

    assert client.hget("test:s:demo", "levels:post") == b"6"


def test_the_list_pages_of_a_walk_are_no_part_of_the_budget_of_scans(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), freshness="60 1")
    frontier.produce()
    before = client.hget("test:s:demo", "scan_at")

    end(frontier, take_list(frontier, client), *posts(3))

    assert client.hget(BOARD, "walk_open") == b"1"
    assert client.hget("test:s:demo", "scan_at") == before


def test_first_scans_go_before_the_history_that_others_showed(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(window=1)
    frontier.admit("demo", history(50))
    watch(board("1"), window=1)
    frontier.produce()

    frontier.commit(lease(frontier, released(client)[0]), NOTHING)

    assert take_list(frontier, client).request.priority == 2


def test_the_page_of_all_news_is_scanned_before_single_boards(crawl: SmallCrawl) -> None:
    news = "{id: news, kind: news, address: /news}"
    site = crawl.publish(
        f"freshness: {{goal_s: 60}}\nboards: [1, {news}, {news[:-1].replace('news,', 'more,', 1)}, priority: 3}}]\n"
    )

    assert [re.findall(r" list (\d) ", one.line) for one in board_terms(site)] == [["5"], ["6"], ["3"]]


@pytest.mark.parametrize("end", ["dies", "is dropped", "is gone"])
def test_a_board_whose_first_scan_was_not_read_is_history_at_the_next_one(
    end: str, crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish("boards: [1]\n", RULES.replace("window: 50", "window: 1, max_attempts: 1"))
    if end == "is dropped":
        client.zadd("test:boards", {"demo 1": 0})
        crawl.frontier.produce()
        assert crawl.frontier.sites.flush_queue("demo") == 1
    else:
        crawl.forum.statuses["/list/1/1"] = 500 if end == "dies" else 404
        assert crawl.scan() == ["/list/1/1"]
        crawl.forum.statuses.clear()
    crawl.forum.board("1", 1, "9 0", "8 0", more=NEXT)
    crawl.forum.board("1", 2, "7 0")
    for thread in ("9", "8", "7"):
        crawl.forum.thread(thread)

    crawl.scan()

    assert client.hget("test:s:demo", "levels:post") == b"1"
    assert client.scard("test:s:demo:unscanned") == 0


def test_the_rate_of_a_board_is_learned_from_the_first_scan_that_was_read(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    rules = RULES.replace("window: 50", "window: 1, max_attempts: 1") + "freshness: {goal_s: 600}\n"
    crawl.publish("boards: [1]\n", rules)
    crawl.forum.statuses["/list/1/1"] = 500

    crawl.scan()

    assert client.hget(BOARD, "history") is None


def test_a_walk_whose_count_was_lost_costs_no_scan_and_no_page(crawl: SmallCrawl, client: redis.Redis) -> None:
    """No verb loses the count, only who deletes the field by hand."""
    crawl.publish()
    for page in (1, 2, 3):
        crawl.forum.board(
            "1", page, *(f"{page}{row} 0" for row in range(3)), more="<a class=next href=x>" if page < 3 else ""
        )
        for row in range(3):
            crawl.forum.thread(f"{page}{row}")
    due(client)
    crawl.frontier.produce()
    crawl.pages.handle(TaskMessage("demo", Stage.LIST, rid=released(client, "list")[0]))
    walk = released(client, "list")
    due(client)
    assert crawl.frontier.produce()[0] == 1
    [scan] = released(client, "list")
    client.hdel(BOARD, "walk_open")

    while walk:
        crawl.pages.handle(TaskMessage("demo", Stage.LIST, rid=walk[0]))
        walk = released(client, "list")
    due(client)
    begun_beside = crawl.frontier.produce()[0]
    crawl.pages.handle(TaskMessage("demo", Stage.LIST, rid=scan))
    crawl.work()

    assert begun_beside == 0
    assert client.hmget(BOARD, "open", "walk_open") == [b"0", None]
    assert {f"/post/{page}{row}" for page in (1, 2, 3) for row in range(3)} <= set(crawl.forum.asked)
    assert Check(crawl.frontier, None).run() == []


def due(client: redis.Redis) -> None:
    client.zadd("test:boards", {"demo 1": 0})
