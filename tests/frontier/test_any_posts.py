"""Boards in the order of last replies beside a page of all news, with any posts between any scans: all is found."""

from __future__ import annotations

import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl_tasks.frontier.frontier import Frontier
from tests.frontier.small_crawl import RULES, SmallCrawl, small_forum

BOARDS = ("1", "2")
PAGE_ROWS = 3
NEWS_ROWS = 4
SITE = """
boards: [1, 2, {id: news, kind: news, address: /news/1}]
freshness: {goal_s: 60, requests_s: 100}
"""


class Forum:
    """Threads of boards with the minutes of their last replies, written as pages after each change."""

    def __init__(self, crawl: SmallCrawl, *, has_news_pages: bool) -> None:
        self._crawl, self._has_news_pages = crawl, has_news_pages
        self._minute = 0
        self.threads: dict[str, tuple[str, int, int]] = {}

    def post(self, board: str, thread: int) -> None:
        """Answer a thread of a board, or begin a thread where there are fewer."""
        own = [number for number, (of, *_) in self.threads.items() if of == board]
        number = own[thread] if thread < len(own) else str(100 + len(self.threads))
        _, replies, _ = self.threads.get(number, (board, -1, 0))
        self._minute += 1
        self.threads[number] = (board, replies + 1, self._minute)

    def write(self) -> None:
        newest = sorted(self.threads, key=lambda number: -self.threads[number][2])
        for number in newest:
            self._write_thread(number)
        for board in BOARDS:
            own = [number for number in newest if self.threads[number][0] == board]
            self._write_list(board, "/list/" + board, own, PAGE_ROWS, has_pages=True)
        self._write_list("news", "/news", newest, NEWS_ROWS, has_pages=self._has_news_pages)

    def _write_thread(self, number: str) -> None:
        """Write the pages of a thread, the last one first: the first is the post's own."""
        comments = [f"{number}c{one} words" for one in range(self.threads[number][1])]
        last = max(1, -(-len(comments) // PAGE_ROWS))
        for page in range(last, 0, -1):
            shown = comments[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
            self._crawl.forum.thread(number, *shown, more=f"<b class=pages>{last}</b>")
            if page > 1:
                self._crawl.forum.pages[f"/comment/{number}/{page}"] = self._crawl.forum.pages[f"/post/{number}"]

    def _write_list(self, board: str, path: str, numbers: list[str], size: int, *, has_pages: bool) -> None:
        for at in range(0, max(1, len(numbers)), size):
            page = at // size + 1
            has_more = has_pages and at + size < len(numbers)
            more = f"<a class=next href={path}/{page + 1}>more</a>" * has_more
            self._crawl.forum.board(board, page, *map(self._row, numbers[at : at + size]), more=more)
            self._crawl.forum.pages[f"{path}/{page}"] = self._crawl.forum.pages[f"/list/{board}/{page}"]

    def _row(self, number: str) -> str:
        _, replies, minute = self.threads[number]
        return f"{number} {replies} 2026-01-01 {minute // 60:02}:{minute % 60:02}"


def scan(crawl: SmallCrawl, board: str) -> None:
    """Scan a board alone, and work on all that comes of it."""
    boards = crawl.client.zrange("test:boards", 0, -1)
    crawl.client.zadd("test:boards", dict.fromkeys(boards, 9e15))
    crawl.client.zadd("test:boards", {f"demo {board}": 0})
    crawl.client.hdel("test:s:demo", "scan_at", "ping_at")
    crawl.frontier.produce()
    crawl.work()


def found(crawl: SmallCrawl) -> dict[str, set[str]]:
    """Return the comments that were read, by thread."""
    seen: dict[str, set[str]] = {}
    for page in crawl.items():
        for post in page.posts:
            if post.is_page:
                seen.setdefault(post.post_id, set())
        for comment in page.comments:
            seen.setdefault(comment.post_id, set()).add(comment.comment_id)
    return seen


ANSWERS = st.lists(st.tuples(st.sampled_from(BOARDS), st.integers(0, 40)), min_size=1, max_size=12)
THREADS = st.builds(lambda board, count: [(board, 99)] * count, st.sampled_from(BOARDS), st.integers(1, 12))
POSTS = st.one_of(ANSWERS, THREADS)
Step = str | list[tuple[str, int]]
STEPS = st.lists(st.one_of(POSTS, st.sampled_from((*BOARDS, "news", "news"))), max_size=10)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, last=POSTS, has_news_pages=st.booleans())
def test_all_posts_are_found_once_each_board_was_scanned(
    client: redis.Redis, steps: list[Step], last: list[tuple[str, int]], has_news_pages: bool
) -> None:
    client.flushall()  # the server is the run's own
    with small_forum() as served:
        crawl = SmallCrawl(client, Frontier(client, "test"), served)
        forum = Forum(crawl, has_news_pages=has_news_pages)
        forum.write()
        crawl.publish(SITE, RULES)
        for step in [*steps, last, "news", *BOARDS]:
            if isinstance(step, str):
                scan(crawl, step)
                continue
            for board, thread in step:
                forum.post(board, thread)
            forum.write()
        seen = found(crawl)

    assert {number: len(seen.get(number, ())) for number in forum.threads} == {
        number: replies for number, (_, replies, _) in forum.threads.items()
    }
