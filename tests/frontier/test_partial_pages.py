"""Drawn pages of which a part did not come: tried again, then stored as a part that proves nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import redis

from crawl_tasks.fetch.browser import missing
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Request, Stage
from crawl_tasks.worker.task_message import TaskMessage
from tests.frontier.small_crawl import RULES, SmallCrawl, SmallForum, small_forum
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

DRAWN = RULES.replace("post:\n", "post:\n  render: {quiet_s: 0.2}\n").replace("gate: {", "gate: {max_attempts: 2, ")
SCRIPT = """<script>fetch('/api').then(one => one.ok ? one.text() : '').then(text => document.body.insertAdjacentHTML(
  'beforeend', text))</script>"""
REPLY = "<div class=c data-id=7><b class=who>ann</b><p class=say>a reply</p></div>"


@pytest.fixture
def forum() -> Iterator[SmallForum]:
    with small_forum() as forum:
        forum.board("1", 1, "5 1")
        forum.thread("5", more=SCRIPT)
        forum.pages["/api"] = REPLY
        yield forum


class DrawnCrawl(SmallCrawl):
    """A crawl whose worker draws pages too."""

    def work(self) -> list[str]:
        before = len(self.forum.asked)
        super().work()
        while hints := self.client.rpop("render", 1000):
            for hint in hints:
                self.pages.handle(TaskMessage("demo", Stage.POST, rid=json.loads(json.loads(hint)["body"])[1]["rid"]))
            super().work()
        return self.forum.asked[before:]


@pytest.fixture
def crawl(client: redis.Redis, frontier: Frontier, forum: SmallForum) -> Iterator[SmallCrawl]:
    crawl = DrawnCrawl(client, frontier, forum)
    crawl.publish(rules=DRAWN)
    yield crawl
    crawl.pages.close()


def try_again(crawl: SmallCrawl) -> list[str]:
    """Work until nothing is delayed, and return the paths that were fetched."""
    before = len(crawl.forum.asked)

    def is_over() -> bool:
        crawl.client.zadd("test:due", {"demo": 0})
        crawl.frontier.tick("here")
        crawl.work()
        return not Inspector(crawl.frontier).count_requests("demo").open

    eventually(is_over)
    return crawl.forum.asked[before:]


def test_a_page_whose_own_request_failed_is_tried_again(crawl: SmallCrawl, forum: SmallForum) -> None:
    forum.statuses["/api"] = 500
    crawl.scan()
    del forum.statuses["/api"]

    assert "/post/5" in try_again(crawl)
    assert [reply.comment_id for items in crawl.items() for reply in items.comments] == ["7"]


def test_after_the_last_attempt_the_part_is_stored_and_the_thread_asked_for_when_it_is_listed_again(
    crawl: SmallCrawl, forum: SmallForum
) -> None:
    forum.statuses["/api"] = 500
    crawl.scan()
    try_again(crawl)
    stored = [(post.post_id, post.body) for items in crawl.items() for post in items.posts if post.is_page]
    del forum.statuses["/api"]

    asked = crawl.scan()

    assert stored == [("5", "hello")]
    # The list shows the revision that was asked for before.
    assert "/post/5" in asked
    assert [reply.comment_id for items in crawl.items() for reply in items.comments] == ["7"]


def test_a_page_that_is_whole_is_not_asked_for_again(crawl: SmallCrawl) -> None:
    crawl.scan()

    assert "/post/5" not in crawl.scan()


def test_rules_are_not_to_blame_where_the_part_that_they_read_did_not_come(
    crawl: SmallCrawl, forum: SmallForum
) -> None:
    forum.pages["/post/5"] = "<main></main>" + SCRIPT
    forum.pages["/api"] = "<h1>post 5</h1><div class=body>hello</div>"
    forum.statuses["/api"] = 502
    crawl.scan()
    del forum.statuses["/api"]

    try_again(crawl)

    assert [post.title for items in crawl.items() for post in items.posts if post.is_page] == ["post 5"]


def test_what_is_refused_to_each_page_is_a_remark_and_no_doubt(crawl: SmallCrawl, forum: SmallForum) -> None:
    script = "<script>fetch('http://other.test/count').catch(() => 0)</script>"
    forum.thread("5", more=script + REPLY)
    request = Request("demo", Stage.POST, "5", f"{forum.url}/post/5")
    site = crawl.pages._sites.latest("demo")

    page = crawl.pages._fetcher.fetch(request, site.policy)
    parsed = site.parser.parse(request, page, 0)

    assert parsed.notes == ("fetch of other.test was refused: it is not in `hosts`, or not public (1)",)
    assert (parsed.broke_off, page.gaps) == ("", ())


@pytest.mark.parametrize(("listed", "tries"), [("1", 1), ("2", 2)])
def test_a_thread_with_all_replies_of_its_list_is_whole_whatever_else_did_not_come(
    crawl: SmallCrawl, forum: SmallForum, listed: str, tries: int
) -> None:
    forum.board("1", 1, f"5 {listed}")
    forum.thread("5", more=REPLY + SCRIPT)
    forum.statuses["/api"] = 500

    crawl.scan()
    try_again(crawl)

    assert forum.asked.count("/post/5") == tries
    assert [reply.comment_id for items in crawl.items() for reply in items.comments] == ["7"]
    assert ("/post/5" in crawl.scan()) is (tries > 1)
