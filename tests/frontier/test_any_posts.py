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


class Threads:
    """The threads of a small forum with the minutes of their last replies, written as pages after each change."""

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
        served = self._crawl.forum
        newest = sorted(self.threads, key=lambda number: -self.threads[number][2])
        for number in newest:
            comments = [f"{number}c{place} words" for place in range(self.threads[number][1])]
            served.whole_thread(number, comments, rows=PAGE_ROWS)
        for board in BOARDS:
            own = [self._row(number) for number in newest if self.threads[number][0] == board]
            served.whole_board(board, own, rows=PAGE_ROWS)
        rows = [*map(self._row, newest)]
        served.whole_board("news", rows, rows=NEWS_ROWS, path="/news", has_next=self._has_news_pages)

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


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, last=POSTS, has_news_pages=st.booleans())
def test_all_posts_are_found_once_each_board_was_scanned(
    client: redis.Redis, steps: list[Step], last: list[tuple[str, int]], has_news_pages: bool
) -> None:
    client.flushall()  # the server is the run's own
    with small_forum() as served:
        crawl = SmallCrawl(client, Frontier(client, "test"), served)
        forum = Threads(crawl, has_news_pages=has_news_pages)
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
