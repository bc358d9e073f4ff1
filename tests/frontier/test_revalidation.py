"""A scan asks whether its board's first page changed, and takes it whole wherever the answer could not be trusted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Priority, Request, Stage
from tests.frontier.small_crawl import RULES, SmallCrawl

FIRST = "/list/1/1"
NEXT = "<a class=next>"
VALIDATOR = "test:s:demo:board:1"


@pytest.fixture
def watched(crawl: SmallCrawl) -> SmallCrawl:
    """A board of two threads that was scanned once; its page has an ETag."""
    crawl.publish()
    crawl.forum.board("1", 1, "7 1", "8 1")
    crawl.forum.etags[FIRST] = '"one"'
    crawl.forum.thread("7")
    crawl.forum.thread("8")
    crawl.scan()
    return crawl


def interval_ms(crawl: SmallCrawl) -> int:
    return Inspector(crawl.frontier).boards("demo")[0].interval_ms


def lists_parsed(crawl: SmallCrawl) -> int:
    return sum(
        int(count) for name, count in stats(crawl).items() if name.startswith("parse:list:") and name[-1].isdigit()
    )


def stats(crawl: SmallCrawl) -> dict[str, bytes]:
    return {name.decode(): count for name, count in crawl.client.hgetall("test:stats").items()}


def test_an_unchanged_page_is_a_scan_without_news_that_is_not_parsed(watched: SmallCrawl) -> None:
    before, parsed = interval_ms(watched), lists_parsed(watched)

    asked = watched.scan()

    counts = Inspector(watched.frontier).count_requests("demo")
    assert asked == watched.forum.asked_if == [FIRST]
    assert (counts.stats["status:304"], counts.count("unchanged:list")) == (1, 1)
    assert lists_parsed(watched) == parsed
    assert interval_ms(watched) == before * 3 // 2
    assert counts.open == 0


def test_a_page_with_another_etag_is_read(watched: SmallCrawl) -> None:
    watched.forum.board("1", 1, "9 0", "7 1", "8 1")
    watched.forum.thread("9")
    watched.forum.etags[FIRST] = '"two"'

    assert watched.scan() == [FIRST, "/post/9"]
    assert watched.forum.asked_if == [FIRST]
    assert watched.scan() == [FIRST]
    assert Inspector(watched.frontier).count_requests("demo").stats["status:304"] == 1


def test_an_unchanged_page_does_not_speak_for_the_rules(watched: SmallCrawl, client: redis.Redis) -> None:
    client.hset("test:s:demo", "results:list", "00")

    watched.scan()

    assert watched.forum.asked_if == [FIRST]
    assert client.hget("test:s:demo", "results:list") == b"00"


def other_rules(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("title: .t,", "title: .title,"))


def guard_that_forgets(crawl: SmallCrawl) -> None:
    crawl.client.hset("test:s:demo", mapping={"guard": "rolling rolling exact", "terms": ""})


def failure_before(crawl: SmallCrawl) -> None:
    crawl.forum.statuses[FIRST] = 500
    crawl.scan()
    del crawl.forum.statuses[FIRST]
    crawl.forum.asked_if.clear()
    [entry] = crawl.client.zrange("test:s:demo:delayed", 0, -1)
    crawl.client.zadd("test:s:demo:delayed", {entry: 1})
    crawl.client.zadd("test:due", {"demo": 1})
    crawl.frontier.tick("me")


def long_ago(crawl: SmallCrawl) -> None:
    version, _, scans, text = (crawl.client.hget(VALIDATOR, "validator") or b"").decode().split(" ", 3)
    then = crawl.frontier.clock_ms() - 86_400_001
    crawl.client.hset(VALIDATOR, "validator", f"{version} {then} {scans} {text}")


def list_is_shut(crawl: SmallCrawl) -> None:
    crawl.client.hset("test:s:demo", "breaker:list", "1 1 0 parse")


def turned_off(crawl: SmallCrawl) -> None:
    crawl.publish("revalidate: false\nboards: [1]\n")
    crawl.scan()
    crawl.forum.asked_if.clear()


@pytest.mark.parametrize(
    "change", [other_rules, guard_that_forgets, failure_before, long_ago, list_is_shut, turned_off]
)
def test_a_page_is_had_whole(watched: SmallCrawl, change: Callable[[SmallCrawl], None]) -> None:
    change(watched)
    asked = watched.work() or watched.scan()

    assert asked[0] == FIRST
    assert watched.forum.asked_if == []


def test_a_scan_that_must_walk_on_behind_an_unchanged_page_has_it_whole(watched: SmallCrawl) -> None:
    forum = watched.forum
    for page in (1, 2, 3):
        forum.board("1", page, f"{page}1 0", f"{page}2 0", more=NEXT)
        forum.thread(f"{page}1")
        forum.thread(f"{page}2")
    forum.etags[FIRST] = '"two"'
    watched.scan()
    forum.asked_if.clear()

    assert watched.scan()[0] == FIRST
    assert forum.asked_if == []


def test_a_request_by_hand_and_a_full_pass_have_the_page_whole(watched: SmallCrawl) -> None:
    by_hand = Request("demo", Stage.LIST, "1", f"{watched.forum.url}{FIRST}", revision="hand", priority=Priority.URGENT)
    watched.frontier.admit("demo", [by_hand])
    watched.work()
    watched.publish("boards: [1]\ninterval: {full_pass_s: 86400}\n")
    watched.scan()
    passed = watched.full_pass()

    assert FIRST in passed
    assert watched.forum.asked_if == []


def test_a_board_whose_server_calls_a_changed_page_unchanged_is_asked_so_no_more(
    watched: SmallCrawl, client: redis.Redis
) -> None:
    watched.forum.board("1", 1, "9 0", "7 1", "8 1")
    watched.forum.thread("9")

    blind = [watched.scan() for _ in range(10)]
    seeing = watched.scan()
    watched.forum.asked_if.clear()
    watched.scan()
    watched.scan()

    assert blind == [[FIRST]] * 10
    assert seeing == [FIRST, "/post/9"]
    assert watched.forum.asked_if == []
    assert Inspector(watched.frontier).count_requests("demo").stats["wrong_validators"] == 1


def test_what_a_cap_left_out_is_looked_for_by_the_next_scan(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish()
    client.hset("test:s:demo", mapping={"daily_new": 1, "terms": ""})
    crawl.forum.board("1", 1, "7 1", "8 1")
    crawl.forum.etags[FIRST] = '"one"'
    crawl.forum.thread("7")
    crawl.forum.thread("8")

    first = crawl.scan()
    client.hset("test:s:demo", mapping={"daily_new": 0, "terms": ""})
    second = crawl.scan()

    assert sorted(first + second) == [FIRST, FIRST, "/post/7", "/post/8"]
    assert crawl.forum.asked_if == []


def test_a_page_read_by_rules_that_were_replaced_meanwhile_is_had_whole(watched: SmallCrawl) -> None:
    watched.forum.etags[FIRST] = '"two"'
    watched.forum.then[FIRST] = lambda: other_rules(watched)
    watched.scan()
    watched.forum.asked_if.clear()

    assert watched.scan() == [FIRST]
    assert watched.forum.asked_if == []
