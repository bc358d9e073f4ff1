"""What the pipeline does when something around a page is broken."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import redis

from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Reach, Stage
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.task_message import TaskMessage
from tests.flow.world import ROOT
from tests.frontier.by_hand import post, posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl, small_forum
from tests.waiting import eventually


@pytest.mark.parametrize(
    "ask",
    [
        TaskMessage("demo", Stage.POST, key="\ud800"),
        TaskMessage("demo", Stage.POST, key="1", revision="\ud800"),
        TaskMessage("demo", Stage.POST, url="http://127.0.0.1:1/post/\ud800"),
        TaskMessage("\ud800", Stage.POST, key="1"),
        TaskMessage("demo:ready:post:5", Stage.POST, rid=1),
    ],
    ids=str,
)
def test_a_message_of_half_characters_or_of_a_key_in_place_of_a_site_is_refused(
    crawl: SmallCrawl, client: redis.Redis, ask: TaskMessage
) -> None:
    crawl.publish()
    client.hset("test:s:demo", "paused", 1)
    crawl.frontier.admit("demo", posts(1))  # so that the key in place of a site is a list

    assert crawl.pages.handle(ask).outcome == "refused"
    assert Inspector(crawl.frontier).count_requests("demo").admitted == 1


def test_pages_of_a_site_that_cannot_be_opened_are_parked_not_burnt(frontier: Frontier, client: redis.Redis) -> None:
    pages = PageTask(frontier, SiteRegistry(frontier, None), Fetcher(build_client("curl")))
    frontier.admit("demo", posts(1))  # the fixture publishes `{}`, which is no site

    outcome = pages.handle(TaskMessage("demo", "post", rid=released(client)[0]))

    assert outcome.outcome == "parked"
    assert Inspector(frontier).count_requests("demo").parked == 1


def test_pages_that_meet_a_redis_that_refuses_are_one_line_and_its_end_another(
    crawl: SmallCrawl, client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    crawl.publish()
    crawl.frontier.admit("demo", posts(10))
    rids = released(client)
    client.config_set("maxmemory", 1)

    refused = {crawl.pages.handle(TaskMessage("demo", Stage.POST, rid=rid)).outcome for rid in rids}
    client.config_set("maxmemory", 0)
    crawl.pages.handle(TaskMessage("demo", Stage.POST, rid=rids[0]))

    assert refused == {"backend failed"}
    assert caplog.messages[:2] == ["Redis failed, leases run out and pages come back", "works again"]


@pytest.mark.parametrize("status", [200, 500])
def test_the_result_of_a_page_waits_for_redis_as_long_as_the_lease_lasts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    server = RedisServer(tmp_path)
    server.start()
    outage = "Redis failed, leases run out and pages come back"

    is_over = threading.Event()

    def come_back() -> None:
        eventually(lambda: outage in caplog.messages)
        server.start()
        is_over.wait(60)  # the kernel ends the server with the thread that started it

    returning = threading.Thread(target=come_back)
    with open_client(server.url, "") as client, small_forum() as forum:
        crawl = SmallCrawl(client, Frontier(client, "test"), forum)
        crawl.publish()
        forum.thread("1")
        forum.statuses["/post/1"] = status
        crawl.frontier.admit("demo", [post(1)._replace(address=f"{forum.url}/post/1")])
        [rid] = released(client)
        forum.then["/post/1"] = server.stop
        returning.start()

        outcome = crawl.pages.handle(TaskMessage("demo", Stage.POST, rid=rid)).outcome

        counts = Inspector(crawl.frontier).count_requests("demo")
    is_over.set()
    returning.join()
    server.stop()
    assert (outcome, counts.leased, forum.asked) == ({200: "done", 500: "delayed"}[status], 0, ["/post/1"])


def test_a_message_of_others_goes_back_to_its_queue_while_redis_fails() -> None:
    code = (
        "from celery.exceptions import Reject\n"
        "from crawl_tasks.tasks import fetch_post\n"
        "try: fetch_post.run('demo', post_id=1)\n"
        "except Reject as reject: print('requeue', reject.requeue)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"CRAWL_REDIS_URL": "redis://127.0.0.1:1/0"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.stdout == "requeue True\n", done.stderr


def test_the_crawl_delay_of_robots_holds_for_all_workers(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.forum.pages["/robots.txt"] = "User-agent: *\nCrawl-delay: 40"
    crawl.publish(rules=RULES.replace("robots: false", "robots: true"))
    crawl.forum.board("1", 1, "1 0", "2 0")
    crawl.forum.thread("1")
    crawl.forum.thread("2")

    crawl.scan()
    [list_page] = [path for path in crawl.forum.asked if path != "/robots.txt"]
    client.hdel("test:s:demo", "next_at")
    client.zadd("test:due", {"demo": 0})
    crawl.frontier.tick("me")
    crawl.work()

    assert list_page == "/list/1/1"
    assert [path for path in crawl.forum.asked if path.startswith("/post")] == ["/post/1"]
    assert int(client.hget("test:s:demo", "next_at") or 0) - crawl.frontier.clock_ms() > 30_000


def break_off() -> None:
    raise ConnectionAbortedError("the server of the test closes a connection without an answer")


@pytest.mark.parametrize("name", ["requests", "curl"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_every_request_of_a_page_counts_in_the_daily_budget_without_a_delay_too(
    crawl: SmallCrawl, client: redis.Redis, name: str
) -> None:
    site = crawl.publish()
    client.hset("test:s:demo", mapping={"daily_budget": 100, "terms": ""})
    crawl.pages = PageTask(crawl.frontier, SiteRegistry(crawl.frontier, None), Fetcher(build_client(name)))
    for key in ("1", "2", "3"):
        crawl.forum.thread(key)
    crawl.forum.moved["/post/3"] = "/post/1"
    crawl.forum.then["/post/2"] = break_off  # the client asks again, on a new connection
    crawl.frontier.admit("demo", [one._replace(address=f"{site.base}/post/{one.key}") for one in posts(3)])

    crawl.work()

    assert sorted(crawl.forum.asked) == ["/post/1", "/post/1", "/post/2", "/post/2", "/post/3"]
    assert int(str(client.hget("test:s:demo", "spent"), "ascii").split()[1]) == len(crawl.forum.asked)


def test_behind_a_comment_page_that_is_gone_the_page_before_is_read_again(crawl: SmallCrawl) -> None:
    def thread(pages: int, replies: int) -> None:
        crawl.forum.board("1", 1, f"7 {replies}")
        crawl.forum.thread("7", "a one", more=f"<b class=pages>{pages}</b>")

    def comments(page: int, *names: str) -> None:
        crawl.forum.pages[f"/comment/7/{page}"] = "".join(
            f"<div class=c data-id={name}><b class=who>ann</b><p class=say>hi</div>" for name in names
        )

    crawl.publish()
    thread(3, 3)
    comments(2, "b")
    comments(3, "c")
    crawl.scan()
    crawl.items()

    # A reply was deleted, and another one came: it stands on page 2, while the post page still tells of three.
    thread(3, 4)
    comments(2, "b", "d")
    del crawl.forum.pages["/comment/7/3"]
    assert crawl.scan()[-2:] == ["/comment/7/3", "/comment/7/2"]
    assert "d" in {one.comment_id for items in crawl.items() for one in items.comments}


def test_an_unlisted_thread_that_is_refused_is_gone_at_the_second_look(crawl: SmallCrawl) -> None:
    site = crawl.publish()
    crawl.forum.thread("7")
    crawl.forum.statuses["/post/7"] = 403
    reach = Reach(whole="w.1", is_unlisted=True)
    crawl.frontier.admit("demo", [post(7)._replace(address=f"{site.base}/post/7", reach=reach)])

    crawl.work()
    states = [[row.state for items in crawl.items() for row in items.posts]]
    crawl.try_again()
    states.append([row.state for items in crawl.items() for row in items.posts])

    assert states == [[], ["deleted"]]


@pytest.mark.parametrize(("fields", "title"), [("title: h1, ", None), ("", "A long…")])
def test_a_title_that_a_list_cuts_is_not_put_over_that_of_the_thread(
    crawl: SmallCrawl, fields: str, title: str | None
) -> None:
    crawl.publish(rules=RULES.replace("fields: {title: h1, ", f"fields: {{{fields}"))
    crawl.forum.board("1", 1, "7 0", "8 0")
    crawl.forum.pages["/list/1/1"] = str(crawl.forum.pages["/list/1/1"]).replace("post 7", "A long…")
    crawl.forum.thread("7")
    crawl.forum.pages["/post/7"] = str(crawl.forum.pages["/post/7"]).replace("post 7", "Wait…")
    crawl.forum.thread("8")
    crawl.scan()

    found = [(one.title, one.is_page) for items in crawl.items() for one in items.posts]

    assert (title, False) in found
    assert ("post 8", False) in found
    assert (("Wait…" if fields else None), True) in found
