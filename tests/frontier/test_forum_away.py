"""A forum that answers 404 for everything is away: nothing that it has is called deleted."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import redis

from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Stage
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.store.upsert import Store
from tests.frontier.small_crawl import RULES, SmallCrawl

POSTS = [str(number) for number in range(1, 21)]
DOUBTED_AFTER = 5  # breaker.after


def write(crawl: SmallCrawl) -> None:
    crawl.forum.board("1", 1, *(f"{post} 0" for post in POSTS))
    for post in POSTS:
        crawl.forum.thread(post)


def end_waits(client: redis.Redis, crawl: SmallCrawl) -> None:
    """Let the next probe of each stage go now, and do what is due."""
    client.hdel("test:s:demo", "next_at")
    for stage in Stage:
        if line := client.hget("test:s:demo", f"breaker:{stage.value}"):
            since, _, rest = line.decode().split(" ", 2)
            client.hset("test:s:demo", f"breaker:{stage.value}", f"{since} 0 {rest}")
    client.zadd("test:due", {"demo": 0})
    crawl.frontier.produce()
    crawl.frontier.tick("me")
    crawl.work()


def gone_posts(crawl: SmallCrawl) -> set[str]:
    return {post.post_id for items in crawl.items() for post in items.posts if post.state == "deleted"}


def test_pages_that_are_gone_with_all_others_wait_until_the_forum_is_back(
    client: redis.Redis, crawl: SmallCrawl
) -> None:
    write(crawl)
    crawl.publish()
    crawl.forum.statuses |= dict.fromkeys([f"/post/{post}" for post in POSTS], 404)
    crawl.forum.then["/post/1"] = lambda: crawl.forum.statuses.update({"/list/1/1": 404})
    crawl.scan()
    for _ in range(3):
        end_waits(client, crawl)
    problems = [one.name for one in find_problems(take_snapshot(crawl.frontier))]
    crawl.forum.statuses.clear()

    for _ in range(10):
        end_waits(client, crawl)

    assert "CrawlSiteRefuses" in problems
    assert len(gone_posts(crawl)) == DOUBTED_AFTER
    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.open, counts.dead, counts.parked) == (0, 0, 0)


def test_pages_that_say_so_with_status_200_are_doubted_as_well(client: redis.Redis, crawl: SmallCrawl) -> None:
    write(crawl)
    whole, notice = dict(crawl.forum.pages), "<p class=closed>The forum is closed.</p>"
    crawl.publish(rules=RULES.replace("  address: /post/{post}\n", "  address: /post/{post}\n  gone_when: .closed\n"))
    crawl.forum.pages |= {f"/post/{post}": notice for post in POSTS}
    crawl.forum.then["/post/1"] = lambda: crawl.forum.pages.update({"/list/1/1": notice})
    crawl.scan()
    problems = [one.name for one in find_problems(take_snapshot(crawl.frontier))]
    crawl.forum.pages |= whole

    for _ in range(10):
        end_waits(client, crawl)

    assert "CrawlSiteRefuses" in problems
    assert len(gone_posts(crawl)) == DOUBTED_AFTER


def test_threads_that_no_list_shows_are_not_called_deleted_where_all_pages_want_a_login(
    client: redis.Redis, crawl: SmallCrawl, tmp_path: Path
) -> None:
    write(crawl)
    crawl.publish("boards: [1]\ninterval: {full_pass_s: 86400}\n")
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        crawl.scan()
        crawl.store_into(store)
        crawl.forum.board("1", 1, "1 0")
        posts = [f"/post/{post}" for post in POSTS]
        crawl.full_pass()
        crawl.forum.statuses |= dict.fromkeys(["/list/1/1", *posts], 403)
        crawl.store_into(store)
        waiting = Inspector(crawl.frontier).count_requests("demo").open
        crawl.forum.statuses.clear()
        for _ in range(10):
            end_waits(client, crawl)
        crawl.store_into(store)
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection, connection:
        states = Counter(state for (state,) in connection.execute("select state from posts"))

    assert waiting > 0
    assert states == {"normal": len(POSTS) - DOUBTED_AFTER, "deleted": DOUBTED_AFTER}


def test_listed_threads_that_are_all_gone_are_believed_while_their_list_is_there(
    client: redis.Redis, crawl: SmallCrawl
) -> None:
    write(crawl)
    crawl.publish()
    for post in POSTS:
        del crawl.forum.pages[f"/post/{post}"]
    crawl.scan()

    steps = 0
    while Inspector(crawl.frontier).count_requests("demo").open and (steps := steps + 1) < 60:
        end_waits(client, crawl)

    assert gone_posts(crawl) == set(POSTS)
    assert Inspector(crawl.frontier).count_requests("demo").open == 0


def test_boards_that_are_all_gone_are_told_and_their_scans_end(client: redis.Redis, crawl: SmallCrawl) -> None:
    crawl.publish("boards: [1, 2]\n")
    for _ in range(DOUBTED_AFTER):
        crawl.scan()
    problems = [one.name for one in find_problems(take_snapshot(crawl.frontier))]
    waiting = Inspector(crawl.frontier).count_requests("demo").open

    for _ in range(2):
        client.hset("test:s:demo", "breaker:list", "1 0 0 all_gone")  # open for longer than between two probes
        end_waits(client, crawl)

    assert "CrawlSiteRefuses" in problems
    assert waiting > 0
    assert Inspector(crawl.frontier).count_requests("demo").open == 0


def test_a_walk_does_not_end_at_a_page_that_is_gone_with_others(client: redis.Redis, crawl: SmallCrawl) -> None:
    crawl.forum.board("1", 1, "1 0", "2 0", more="<a class=next>next</a>")
    crawl.forum.board("1", 2, "3 0", more="<a class=next>next</a>")
    crawl.forum.board("1", 3, "4 0")
    crawl.publish()
    crawl.forum.statuses["/list/1/3"] = 404
    crawl.scan()
    crawl.forum.statuses.clear()

    for _ in range(5):
        end_waits(client, crawl)

    assert "/post/4" in crawl.forum.asked


def test_walks_that_end_where_lists_want_a_login_raise_no_doubt(client: redis.Redis, crawl: SmallCrawl) -> None:
    crawl.publish("boards: [1, 2]\n", RULES.replace("  next: .next\n", "  next: .next\n  login_when: .login\n"))
    for board in ("1", "2"):
        crawl.forum.board(board, 1, f"{board} 0", more="<a class=next>next</a>")
        crawl.forum.pages[f"/list/{board}/2"] = "<form class=login>"
        crawl.forum.thread(board)
    crawl.scan()

    assert {"/list/1/2", "/list/2/2"} <= {*crawl.forum.asked}
    assert Inspector(crawl.frontier).count_requests("demo").open == 0
    assert "CrawlSiteRefuses" not in [one.name for one in find_problems(take_snapshot(crawl.frontier))]
