"""A first crawl of any size never stops the watch: how late the watch is beside it, and without it.

Time is counted in requests of the gate. No page is really fetched: a forum in memory answers, and the scripts on a real
Redis decide what goes next.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from random import Random

import redis

from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.model import Items, Parsed, Request, Stage
from crawl_tasks.parse.context import ParseContext
from crawl_tasks.sites.crawl_policy import Weights
from crawl_tasks.sites.loader import parse_site
from tests.frontier.by_hand import TERMS, lease, released
from tests.frontier.small_crawl import RULES

THREADS = int(os.environ.get("FIRST_CRAWL_THREADS", "800"))
"""Threads of the first crawl; 50,000 by hand."""

BOARDS, ROWS = 4, 20
EVERY, NEWS_EVERY = 10, 15
"""A board is due every so many requests, and an item is posted."""

MAX_BACKLOG, SPAN = 400, 1600


@dataclass
class Forum:
    """Boards in the order of the last replies, without a server: its clock is the number of requests so far.

    `replies` holds the time of each item by thread, `delays` the time from each item to its fetch.
    """

    threads: int
    draw: Random
    now: int = 0
    orders: list[list[int]] = field(default_factory=list)
    replies: dict[int, list[int]] = field(default_factory=dict)
    delays: list[int] = field(default_factory=list)
    fetched: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.orders = [list(range(board, self.threads, BOARDS)) for board in range(BOARDS)]
        # The past: one item a thread, the older the deeper it stands.
        self.replies = {thread: [-1 - thread] for thread in range(self.threads)}

    def post(self) -> None:
        """Post a topic, or a reply to any thread of a board, however old."""
        order = self.orders[self.draw.randrange(BOARDS)]
        thread = len(self.replies) if self.draw.random() < 0.3 else self.draw.choice(order)
        if thread in order:
            order.remove(thread)
        order.insert(0, thread)
        self.replies.setdefault(thread, []).append(self.now)

    def rows(self, board: int, page: int) -> list[int]:
        return self.orders[board][ROWS * (page - 1) : ROWS * page]

    def read(self, thread: int) -> None:
        """Note the delay of all items of a thread that were not read before, but those of the past."""
        seen = self.fetched.get(thread, 0)
        self.delays += [self.now - at for at in self.replies[thread][seen:] if at >= 0]
        self.fetched[thread] = len(self.replies[thread])


class Watch:
    """A gate that lets one request go at a time, and boards that are due in turn."""

    def __init__(self, frontier: Frontier, client: redis.Redis, forum: Forum) -> None:
        self.frontier, self.client, self.forum = frontier, client, forum
        self.rank = ParseContext(parse_site(RULES + "boards: [0, 1, 2, 3]\n", "demo.yaml")).rank
        self.due: dict[str, int] = {}
        self.late: list[int] = []
        self.most_open = 0
        weights = " ".join(str(one) for one in Weights().model_dump().values())
        boards = [
            BoardTerms(str(board), line_of(self.list_page(str(board), 1, "@SCAN@", 5)), 86_400_000, 1, 86_400_000)
            for board in range(BOARDS)
        ]
        terms = TERMS | {"window": 1, "weights": weights, "max_backlog": MAX_BACKLOG, "guard": "exact exact exact"}
        frontier.sites.publish("demo", "v1", "{}", terms, boards)

    def list_page(self, board: str, page: int, revision: str, priority: int) -> Request:
        address = f"http://127.0.0.1/list/{board}/{page}"
        return Request("demo", Stage.LIST, board, address, page, revision, priority, only_if_new=page > 1)

    def run(self, most: int) -> None:
        """Let the gate send `most` requests."""
        for _ in range(most):
            self.forum.now += 1
            if self.forum.now % NEWS_EVERY == 0:
                self.forum.post()
            if self.forum.now % EVERY == 0:
                self.make_due(str(self.forum.now // EVERY % BOARDS))
            self.frontier.produce()
            self.work()
            if self.forum.now % 50 == 0:
                pages = [page for page, _ in self.frontier.outbox.draw("store", 1000).pages]
                self.frontier.outbox.ack({"demo": pages})
                self.most_open = max(self.most_open, Inspector(self.frontier).count_requests("demo").open)

    def make_due(self, board: str) -> None:
        self.due.setdefault(board, self.forum.now)
        self.client.zadd("test:boards", {f"demo {board}": 0}, xx=True)

    def work(self) -> None:
        for stage in Stage:
            for rid in released(self.client, stage):
                held = lease(self.frontier, rid)
                parsed = self.list_read(held.request) if stage is Stage.LIST else self.thread_read(held.request)
                self.frontier.commit(held, parsed)

    def list_read(self, request: Request) -> Parsed:
        if request.page == 1 and request.key in self.due:
            self.late.append(self.forum.now - self.due.pop(request.key))
        rows = self.forum.rows(int(request.key), request.page)
        post = self.rank(request, Stage.POST)
        found = [
            Request("demo", Stage.POST, str(thread), f"http://127.0.0.1/post/{thread}", priority=post,
                    revision=str(len(self.forum.replies[thread])))
            for thread in rows
        ]  # fmt: skip
        if self.forum.rows(int(request.key), request.page + 1):
            rank = self.rank(request, Stage.LIST)
            found.append(self.list_page(request.key, request.page + 1, request.revision, rank))
        return Parsed(Items("demo"), tuple(found))

    def thread_read(self, request: Request) -> Parsed:
        self.forum.read(int(request.key))
        return Parsed(Items("demo"))


def quantile(values: list[int], share: float) -> int:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def watch(frontier: Frontier, client: redis.Redis, threads: int, span: int) -> Watch:
    client.flushall()
    watched = Watch(frontier, client, Forum(threads, Random(7)))
    watched.run(span)
    return watched


def test_the_watch_is_as_prompt_beside_a_first_crawl_as_without_it(frontier: Frontier, client: redis.Redis) -> None:
    alone = watch(frontier, client, BOARDS * ROWS, SPAN)
    beside = watch(frontier, client, THREADS, THREADS * 2)

    for name, one in (("alone", alone), ("beside", beside)):  # read it with `pytest -s`
        shown = [(quantile(some, 0.5), quantile(some, 0.95), max(some)) for some in (one.late, one.forum.delays)]
        sys.stdout.write(f"{name}: p50, p95, max of scans late {shown[0]}, of items read after {shown[1]}\n")
    assert len(beside.late) / (THREADS * 2) > 0.98 * len(alone.late) / SPAN
    assert max(beside.late) <= max(alone.late) + sum(Weights().model_dump().values())
    assert quantile(beside.forum.delays, 0.95) <= quantile(alone.forum.delays, 0.95) + 10
    assert max(beside.forum.delays) <= max(alone.forum.delays) + BOARDS * EVERY
    assert beside.most_open <= MAX_BACKLOG + ROWS + 1
    assert len(beside.forum.fetched) >= THREADS  # and the history was read
