"""What the pipeline does when something around a page is broken."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import redis

from crawl_tasks.ask import Ask
from crawl_tasks.fetch.download import Fetcher, build_client
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Stage
from crawl_tasks.pipeline import Pages
from crawl_tasks.sitebook import SiteBook
from tests.flow.world import ROOT
from tests.frontier.by_hand import posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl


@pytest.mark.parametrize(
    "ask",
    [
        Ask("demo", Stage.POST, key="\ud800"),
        Ask("demo", Stage.POST, key="1", revision="\ud800"),
        Ask("demo", Stage.POST, url="http://127.0.0.1:1/post/\ud800"),
        Ask("\ud800", Stage.POST, key="1"),
        Ask("demo:ready:post:5", Stage.POST, rid=1),
    ],
    ids=str,
)
def test_a_message_of_half_characters_or_of_a_key_in_place_of_a_site_is_refused(
    crawl: SmallCrawl, client: redis.Redis, ask: Ask
) -> None:
    crawl.publish()
    client.hset("test:s:demo", "paused", 1)
    crawl.frontier.admit("demo", posts(1))  # so that the key in place of a site is a list

    assert crawl.pages.work(ask) == "refused"
    assert crawl.frontier.census("demo").admitted == 1


def test_pages_of_a_site_that_cannot_be_opened_are_parked_not_burnt(frontier: Frontier, client: redis.Redis) -> None:
    pages = Pages(frontier, SiteBook(frontier, None), Fetcher(build_client("curl")))
    frontier.admit("demo", posts(1))  # the fixture publishes `{}`, which is no site

    outcome = pages.work(Ask("demo", "post", rid=released(client)[0]))

    assert outcome == "parked"
    assert frontier.census("demo").parked == 1


def test_pages_that_meet_a_redis_that_refuses_are_one_line_and_its_end_another(
    crawl: SmallCrawl, client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    crawl.publish()
    crawl.frontier.admit("demo", posts(10))
    rids = released(client)
    client.config_set("maxmemory", 1)

    refused = {crawl.pages.work(Ask("demo", Stage.POST, rid=rid)) for rid in rids}
    client.config_set("maxmemory", 0)
    crawl.pages.work(Ask("demo", Stage.POST, rid=rids[0]))

    assert refused == {"backend failed"}
    assert caplog.messages[:2] == ["Redis failed, leases run out and pages come back", "works again"]


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
