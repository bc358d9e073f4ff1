"""A forum that lives: boards with skewed rates, topics and replies in bump order, and a log of posts and requests."""

from __future__ import annotations

import random
import re
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import accumulate
from threading import Event, Lock

from tests.freshness.world import shares
from tests.unit.hostile_server import HostileServer, Visit

ROWS, NEWS_ROWS = 20, 50
PAST_THREADS = 25
TOPICS = 0.25
"""The share of new topics among new items."""

RULES = """\
name: live
base: http://127.0.0.1:1
robots: false
list:
  address: /board/{board}/{page}
  record: .row
  fields: {post_id: {attr: data-id}, title: a, reply_count: .replies, last_reply_at: time}
  revision: [reply_count]
  next: a.next
front:
  record: .board
  fields: {board: {attr: data-id}, posts: .posts, last_post_at: time}
post:
  address: /thread/{post}
  fields: {title: h1, forum_id: {css: h1, attr: data-board}, body: .body, created_at: h1 + time}
  pages: .pages
  comments:
    record: .reply
    fields: {comment_id: {attr: data-id}, body: p, created_at: time}
comment:
  address: /thread/{post}/{page}
  first_page: 2
  record: .reply
  fields: {comment_id: {attr: data-id}, body: p}
"""


@dataclass
class Item:
    """A topic or a reply: its thread, its number, and the times at which it was posted, listed, fetched and stored."""

    board: str
    thread: int
    number: int
    posted: float
    listed: float | None = None
    fetched: float | None = None
    stored: float | None = None

    @property
    def is_topic(self) -> bool:
        return self.thread == self.number


@dataclass
class LiveForum:
    """A forum that posts by the clock, from a seed, whatever the crawler does.

    `log` holds the time and path of each request, `items` what was posted, in order. A board's threads stand with the
    newest reply first. The past of a board is as its rate makes it.
    """

    boards: int
    rate_s: float
    seed: int
    past_threads: int = PAST_THREADS
    base: str = ""
    items: list[Item] = field(default_factory=list)
    log: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._draw, self._lock, self._stopped = random.Random(self.seed), Lock(), Event()
        parts = shares("log-normal 1.5", self.boards, self._draw)
        self.rates = {str(number + 1): self.rate_s * part / sum(parts) for number, part in enumerate(parts)}
        self._sums = list(accumulate(self.rates.values()))
        self._threads: dict[int, list[Item]] = {}
        self._orders: dict[str, list[int]] = {board: [] for board in self.rates}
        self._last = 0
        for board, rate in self.rates.items():
            times = accumulate(self._draw.expovariate(rate) for _ in range(self.past_threads))
            for ago in sorted(times, reverse=True):
                self._post(Item(board, 0, 0, time.time() - ago))
        self.past = len(self.items)

    def _post(self, item: Item) -> None:
        self._last += 1
        item.number = self._last
        item.thread = item.thread or self._last
        self._threads.setdefault(item.thread, []).append(item)
        order = self._orders[item.board]
        if item.thread in order:
            order.remove(item.thread)
        order.insert(0, item.thread)
        self.items.append(item)

    def post(self, seconds: float) -> None:
        """Post topics and replies for a while."""
        due = time.time()
        end = due + seconds
        while (due := due + self._draw.expovariate(self.rate_s)) < end:
            self._stopped.wait(max(0.0, due - time.time()))
            board = list(self.rates)[bisect_right(self._sums, self._draw.random() * self._sums[-1])]
            with self._lock:
                order = self._orders[board]
                place = min(len(order) - 1, int(self._draw.expovariate(1 / 3)))
                thread = 0 if self._draw.random() < TOPICS else order[place]
                self._post(Item(board, thread, 0, time.time()))
        self._stopped.wait(max(0.0, end - time.time()))

    def answer(self, path: str) -> str | None:
        """Return a page, and log the request. None means there is no such page."""
        with self._lock:
            self.log.append((time.time(), path))
            found = re.fullmatch(r"/(board|thread)/(\d+)(?:/(\d+))?|/(news)|/(front)", path)
            if found is None:
                return None
            if found[5]:
                return self._front()
            if found[4]:
                newest = nlargest(NEWS_ROWS, self._threads, key=lambda thread: self._threads[thread][-1].number)
                return self._rows(newest)
            if found[1] == "thread":
                return self._thread(int(found[2]))
            order, begin = self._orders.get(found[2]), (int(found[3]) - 1) * ROWS
            if order is None:
                return None
            more = len(order) > begin + ROWS
            link = f"<a class=next href=/board/{found[2]}/{int(found[3]) + 1}>more</a>" if more else ""
            return self._rows(order[begin : begin + ROWS]) + link

    def _front(self) -> str:
        newest: dict[str, Item] = {}
        posts: dict[str, int] = dict.fromkeys(self.rates, 0)
        for item in self.items:
            newest[item.board] = item
            posts[item.board] += 1
        return "".join(
            f"<div class=board data-id={board}><i class=posts>{count}</i>{_time(newest[board].posted)}</div>"
            for board, count in posts.items()
        )

    def _rows(self, threads: list[int]) -> str:
        rows = []
        for thread in threads:
            items = self._threads[thread]
            for item in items:
                item.listed = item.listed or time.time()
            rows.append(
                f"<div class=row data-id={thread}><a href=/thread/{thread}>thread {thread}</a>"
                f"<i class=replies>{len(items) - 1}</i>{_time(items[-1].posted)}</div>"
            )
        return "".join(rows)

    def _thread(self, thread: int) -> str | None:
        items = self._threads.get(thread)
        if items is None:
            return None
        for item in items:
            item.fetched = item.fetched or time.time()
        replies = "".join(
            f"<div class=reply data-id={item.number}><p>reply {item.number}</p>{_time(item.posted)}</div>"
            for item in items[1:]
        )
        head = f"<h1 data-board={items[0].board}>thread {thread}</h1>{_time(items[0].posted)}"
        return f"{head}<div class=body>topic {thread}</div>{replies}"

    def stop(self) -> None:
        self._stopped.set()


def _time(at: float) -> str:
    return f"<time datetime={time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(at))}>then</time>"


@contextmanager
def live_forum(boards: int, rate_s: float, seed: int, past_threads: int = PAST_THREADS) -> Iterator[LiveForum]:
    """Serve a forum on a free port of loopback. Nothing is posted before `post` is called."""
    forum = LiveForum(boards, rate_s, seed, past_threads)

    def answer(visit: Visit) -> None:
        page = forum.answer(visit.target)
        status = "404 Not Found" if page is None else "200 OK"
        visit.reply((page or "no such page").encode(), status, Content_Type="text/html")

    server = HostileServer({"/robots.txt": answer}, otherwise=answer)
    forum.base = server.base
    try:
        yield forum
    finally:
        forum.stop()
        server.stop()
