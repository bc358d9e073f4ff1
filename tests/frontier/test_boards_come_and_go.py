"""Boards that leave the site file and come back while pages of theirs are open; sites with very many boards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.model import Items, Lease, Parsed, Reach, Request, Stage
from tests.frontier.by_hand import NOTHING, TERMS, board, lease, released, take_list
from tests.frontier.small_crawl import RULES, SmallCrawl

PASS = Reach(whole="full@SCAN@")
BOARD = "test:s:demo:board:1"


def list_page(number: int, *, reach: Reach) -> Request:
    return Request("demo", Stage.LIST, "1", f"http://127.0.0.1/list/1/{number}", page=number, reach=reach)


def with_a_full_pass() -> BoardTerms:
    first = list_page(1, reach=PASS)._replace(revision="full@SCAN@", priority=0)
    return replace(board("1"), full_line=line_of(first))


def make_due(client: redis.Redis) -> None:
    for name in ("test:boards", "test:fulls"):
        for member in client.zrange(name, 0, -1):
            client.zadd(name, {member: 0})
    client.hset(BOARD, "full_due", 0)


def scan_and_full_pass(frontier: Frontier, client: redis.Redis) -> tuple[Lease, Lease]:
    make_due(client)
    frontier.produce()
    leases = [lease(frontier, rid) for rid in released(client, "list")]
    whole, scan = sorted(leases, key=lambda one: one.request.reach.whole, reverse=True)
    return scan, whole


def flaws(frontier: Frontier) -> list[str]:
    return [f"{spot.flaw} {spot.where}" for spot in Admin(frontier).audit.sums("demo", mend=False)]


def test_pages_of_a_board_that_left_the_site_file_end_and_it_is_forgotten(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(with_a_full_pass(), full_pass_ms=60_000)
    scan, whole = scan_and_full_pass(frontier, client)
    watch(full_pass_ms=60_000)

    next_page = list_page(2, reach=whole.request.reach)
    assert frontier.commit(whole, Parsed(Items("demo"), (next_page,))) is not None
    assert client.exists(BOARD) == 1
    assert frontier.commit(scan, NOTHING) is not None

    assert client.exists(BOARD) == 0
    assert flaws(frontier) == []


def test_a_board_that_comes_back_while_its_scan_is_open_is_not_scanned_beside_it(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(board("1"))
    frontier.produce()
    before = take_list(frontier, client)
    watch()
    watch(board("1"))
    make_due(client)

    assert frontier.produce() == (0, 0, 1)
    assert (flaws(frontier), Inspector(frontier).count_requests("demo").boards.scanning) == ([], 1)
    frontier.commit(before, NOTHING)
    make_due(client)

    assert frontier.produce() == (1, 0, 0)
    assert flaws(frontier) == []


def test_a_board_that_comes_back_is_walked_like_a_new_one(crawl: SmallCrawl) -> None:
    next_ = "<a class=next href=x>next</a>"
    for name, rows in {"boards: [1]\n": ("7 0", "6 0"), "boards: [2]\n": (), "boards: [1] \n": ("9 0", "8 0")}.items():
        crawl.publish(name)
        for page, row in enumerate(rows, 1):
            crawl.forum.board("1", page, row, more=next_ if page == 1 else "")
            crawl.forum.thread(row[0])
        asked = crawl.scan()

    assert sorted(asked) == ["/list/1/1", "/list/1/2", "/post/8", "/post/9"]


def test_a_paused_site_with_many_boards_does_not_keep_others_from_being_scanned(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(*(board(f"b{number}") for number in range(1000)), max_backlog=3000)
    frontier.sites.pause("demo")
    for _ in range(2):
        frontier.produce()
    first = Request("other", Stage.LIST, "1", "http://127.0.0.1/other/1", revision="@SCAN@")
    frontier.sites.publish("other", "v1", "{}", TERMS, [BoardTerms("1", line_of(first), 60_000, 1, 600_000)])
    for member, at in client.zrange("test:boards", 0, -1, withscores=True):
        client.zadd("test:boards", {member: at - 6000})  # as if produce came again six seconds later

    assert frontier.produce()[0] == 1

    frontier.sites.resume("demo")
    assert sum(frontier.produce()[0] for _ in range(3)) > 900


def test_a_walk_over_a_board_that_leaves_the_site_file_goes_no_further(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish("boards: [1, 2]\n", RULES.replace("window: 50", "window: 1"))
    crawl.forum.board("2", 1)
    for page in range(1, 7):
        crawl.forum.board("1", page, f"{page} 0", more="<a class=next href=x>next</a>")
        crawl.forum.thread(str(page))
    crawl.forum.then["/list/1/2"] = lambda: crawl.publish("boards: [2]\n", RULES.replace("window: 50", "window: 1"))

    asked = crawl.scan()

    assert sorted(set(asked)) == ["/list/1/1", "/list/1/2", "/list/2/1", "/post/1", "/post/2"]
    assert client.exists(BOARD) == 0


def test_all_boards_that_a_pause_held_up_are_due_when_it_ends(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    watch(*(board(f"b{number}") for number in range(2500)), max_backlog=5000)
    frontier.sites.pause("demo")
    for _ in range(3):
        frontier.produce(2500)

    frontier.sites.resume("demo")

    assert max(at for _, at in client.zrange("test:boards", 0, -1, withscores=True)) <= frontier.clock_ms()
