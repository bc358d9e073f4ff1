"""A page that leads to no older threads: where a scan finds nothing that the one before saw, some may be missing."""

from __future__ import annotations

import time

import pytest

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.small_crawl import SmallCrawl

FEED = "boards: [{id: news, kind: feed, address: /feed.xml}]\n"
HUB = "boards: [{id: news, kind: hub, address: /feed.xml}]\n"
GAP = "1 scan within a day showed nothing but new threads, and some before them may be missing: news"


def show(crawl: SmallCrawl, *threads: int, changed: int = 0) -> None:
    date = f"<pubDate>Sat, 28 Nov 2026 10:00:{changed:02} GMT</pubDate>"
    items = "".join(f"<item><link>{crawl.forum.url}/post/{one}</link>{date}</item>" for one in threads)
    crawl.forum.pages["/feed.xml"] = f"<rss><channel>{items}</channel></rss>"
    for one in threads:
        crawl.forum.thread(str(one))


def told(crawl: SmallCrawl) -> list[str]:
    return [one.text for one in find_problems(take_snapshot(crawl.frontier)) if one.name == "CrawlScanGap"]


@pytest.fixture
def watched(crawl: SmallCrawl) -> SmallCrawl:
    """Return a crawl of a feed that was looked at once, and shows threads 1 to 6."""
    crawl.publish(FEED)
    show(crawl, *range(1, 7))
    crawl.scan()
    return crawl


def test_a_feed_of_nothing_but_news_is_told_for_a_day(watched: SmallCrawl) -> None:
    assert told(watched) == []  # the first look

    show(watched, *range(7, 13))
    watched.scan()
    assert told(watched) == [GAP]

    show(watched, *range(13, 19))
    watched.scan()
    [text] = told(watched)
    assert text.startswith("2 scans")

    before = round(time.time() * 1000) - 86_500_000
    watched.client.hset("test:s:demo", "scan_gap", f"{before} 2 news")
    assert told(watched) == []
    show(watched, *range(19, 25))
    watched.scan()
    assert told(watched) == [GAP]


def test_a_gap_is_told_no_more_once_the_feed_is_scanned_more_often_or_the_site_file_is_another(
    watched: SmallCrawl,
) -> None:
    def another_gap(first: int) -> None:
        show(watched, *range(first, first + 6))
        watched.scan()
        assert told(watched) == [GAP]

    two = FEED.replace("[{", "[{id: other, kind: hub, address: /other}, {")
    watched.forum.pages["/other"] = "<a href=/post/1>t</a>"
    watched.publish(two)
    schedule = Admin(watched.frontier).board_schedule
    another_gap(10)
    schedule.change("demo", ["other"], Act.FIX, 300_000)
    assert told(watched) == [GAP]
    schedule.change("demo", ["news"], Act.FIX, 300_000)
    assert told(watched) == []

    another_gap(20)
    watched.publish(two)
    assert told(watched) == [GAP]
    watched.publish(FEED)
    assert told(watched) == []


def test_a_feed_with_one_known_thread_has_no_gap(watched: SmallCrawl) -> None:
    show(watched, *range(6, 12))
    watched.scan()
    watched.scan()

    assert told(watched) == []


def test_a_feed_that_is_not_full_yet_has_no_gap_where_all_its_threads_changed(watched: SmallCrawl) -> None:
    show(watched, *range(1, 8), changed=1)
    watched.scan()
    assert told(watched) == []

    show(watched, *range(1, 8), changed=2)
    watched.scan()
    assert told(watched) == [GAP]


def test_a_feed_of_a_few_threads_may_be_all_that_there_is(crawl: SmallCrawl) -> None:
    crawl.publish(FEED)
    for changed in range(3):
        show(crawl, 1, 2, 3, 4, changed=changed)
        crawl.scan()

    assert told(crawl) == []


def test_a_flush_of_the_guard_is_no_gap(watched: SmallCrawl) -> None:
    watched.frontier.sites.flush_guard("demo")
    watched.scan()
    assert told(watched) == []

    show(watched, *range(7, 13))
    watched.scan()
    assert told(watched) == [GAP]


@pytest.mark.parametrize("other", ["1", "{id: all, kind: sitemap, address: /sitemap.xml}"])
def test_beside_boards_with_all_threads_a_feed_misses_nothing(crawl: SmallCrawl, other: str) -> None:
    crawl.forum.board("1", 1)
    crawl.forum.pages["/sitemap.xml"] = "<urlset></urlset>"
    crawl.publish(FEED.replace("[{", f"[{other}, {{"))
    for first in (1, 7):
        show(crawl, *range(first, first + 6))
        crawl.scan()

    assert told(crawl) == []


@pytest.mark.parametrize("guard", ["rolling", "bloom", "off"])
def test_a_guard_that_forgets_tells_of_no_gap(crawl: SmallCrawl, guard: str) -> None:
    crawl.publish(f"{FEED}guard: {{post: {guard}}}\n")
    for first in (1, 7):
        show(crawl, *range(first, first + 6))
        crawl.scan()

    assert told(crawl) == []


def test_a_list_of_one_page_is_told_if_all_its_threads_are_new_and_not_if_all_changed(crawl: SmallCrawl) -> None:
    def look(first: int, replies: int, more: str = "") -> None:
        for one in range(first, first + 6):
            crawl.forum.thread(str(one))
        crawl.forum.board("1", 1, *(f"{one} {replies}" for one in range(first, first + 6)), more=more)
        crawl.scan()

    crawl.publish()
    look(1, 0)
    look(1, 1)
    assert told(crawl) == []

    crawl.forum.board("1", 2, "5 2")
    look(20, 0, more="<a class=next href=/list/1/2>next</a>")
    assert told(crawl) == []

    look(30, 0)
    assert told(crawl) == [GAP.replace("news", "1")]


def test_a_page_of_links_is_like_a_feed(crawl: SmallCrawl) -> None:
    crawl.publish(HUB)
    for first in (1, 7):
        show(crawl, *range(first, first + 6))
        crawl.forum.pages["/feed.xml"] = "".join(f"<a href=/post/{first + one}>t</a>" for one in range(6))
        crawl.scan()

    assert told(crawl) == [GAP]
