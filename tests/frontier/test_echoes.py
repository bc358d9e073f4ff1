"""Boards whose rows only tell of news in threads that another board lists, as a blog's newest comments."""

from __future__ import annotations

from zlib import crc32

import pytest

from tests.frontier.small_crawl import RULES, SmallCrawl

BITS = (1 << 20) - 1033
"""The revisions that a mark of the guard tells apart (entry.py)."""
ECHOING = RULES.replace("  empty: .nothing\n", "  empty: .nothing\n  echo: .news\n")


def told(crawl: SmallCrawl, board: str, page: int, *rows: str, more: str = "") -> None:
    """Write a page of news; a row is `post comment`."""
    lines = "".join(
        f"<div class=row data-id={post}><a class=t>x</a><i class=n>{comment}</i><i class=news>new</i></div>"
        for post, comment in map(str.split, rows)
    )
    crawl.forum.pages[f"/list/{board}/{page}"] = lines + more


def watch(crawl: SmallCrawl, news: str, guard: str = "exact") -> None:
    crawl.publish(f"boards: [{news}, 5]\nguard: {{post: {guard}}}\n", rules=ECHOING)
    for number in ("7", "8", "9"):
        crawl.forum.thread(number)


@pytest.mark.parametrize("guard", ["exact", "rolling", "bloom"])
def test_news_asks_for_a_thread_again_only_when_it_was_named(crawl: SmallCrawl, guard: str) -> None:
    watch(crawl, "1", guard)
    told(crawl, "1", 1, "7 31", "8 30", "9 29")
    crawl.forum.board("5", 1, "7 0", "8 0")
    assert crawl.scan() == ["/list/1/1", "/list/5/1", "/post/7", "/post/8"]

    told(crawl, "1", 1, "9 33", "7 32", "8 30")
    second = crawl.scan()
    crawl.forum.board("5", 1, "9 0", "7 0", "8 0")
    third = crawl.scan()

    assert second == ["/list/1/1", "/list/5/1", "/post/7"]
    assert third == ["/list/1/1", "/list/5/1", "/post/9"]


def test_a_first_scan_asks_for_nothing_that_is_older_than_it(crawl: SmallCrawl) -> None:
    watch(crawl, "6")  # looked at when the threads are known already
    crawl.forum.board("5", 1, "7 0", "8 0", "9 0")
    told(crawl, "6", 1, "7 31", more="<a class=next>")
    told(crawl, "6", 2, "8 30", more="<a class=next>")
    told(crawl, "6", 3, "9 29")

    first = crawl.scan()

    assert sorted(first) == [
        "/list/5/1", "/list/6/1", "/list/6/2", "/list/6/3", "/post/7", "/post/7", "/post/8", "/post/9",
    ]  # fmt: skip


def test_a_walk_over_news_ends_where_one_is_known(crawl: SmallCrawl) -> None:
    watch(crawl, "1")
    crawl.forum.board("5", 1, "7 0", "8 0", "9 0")
    told(crawl, "1", 1, "8 30")
    crawl.scan()

    told(crawl, "1", 1, "7 32", "8 30", more="<a class=next>")
    ended = crawl.scan()
    told(crawl, "1", 1, "9 34", more="<a class=next>")
    told(crawl, "1", 2, "8 33", "7 32")
    went_on = crawl.scan()

    assert ended == ["/list/1/1", "/list/5/1", "/post/7"]
    assert sorted(went_on) == ["/list/1/1", "/list/1/2", "/list/5/1", "/post/8", "/post/9"]


def test_news_of_a_thread_on_several_pages_are_known_at_the_next_scan(crawl: SmallCrawl) -> None:
    watch(crawl, "1")
    crawl.forum.board("5", 1, "7 0")
    told(crawl, "1", 1, "7 33", more="<a class=next>")
    told(crawl, "1", 2, "7 31")
    crawl.scan()

    assert crawl.scan() == ["/list/1/1", "/list/5/1"]


def test_echoes_whose_revisions_share_their_bits_in_the_guard_are_told_apart(crawl: SmallCrawl) -> None:
    watch(crawl, "1")
    crawl.forum.board("5", 1, "7 0")
    first = "1"
    alike = next(str(n) for n in range(2, 10**8) if crc32(str(n).encode()) % BITS == crc32(first.encode()) % BITS)
    told(crawl, "1", 1, f"7 {first}")
    crawl.scan()
    crawl.scan()

    told(crawl, "1", 1, f"7 {alike}")

    assert "/post/7" in crawl.scan()
