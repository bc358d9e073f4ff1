"""A site's backlog stays below its threshold and one page's children, whatever its pages bring and whoever dies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.model import Items, Lease, Parsed, Request, Stage, State
from tests.frontier.by_hand import NOTHING, TERMS, lease, posts, released

EXAMPLES = int(os.environ.get("BACKLOG_EXAMPLES", "6"))
"""More by hand."""

MOST_CHILDREN = {Stage.LIST: 40, Stage.POST: 9, Stage.COMMENT: 1}
LATER = State.DELAYED, "server_error", "it answered 503"


def rid_of(message: bytes) -> int:
    return int(json.loads(json.loads(message)["body"])[1]["rid"])


def page_of(stage: Stage, key: str, page: int = 1, revision: str = "") -> Request:
    address = f"http://127.0.0.1/{stage.value}/{key}/{page}"
    return Request("demo", stage, key, address, page, revision=revision)


@dataclass
class Tree:
    """A forum drawn at random. A list page brings posts and the next page, or the first one all others; a post all its
    comment pages, or the first one, which brings the next."""

    chance: Random
    has_fans: bool
    boards: int
    priority: int = 5
    known: dict[tuple[Stage, str, int], tuple[Request, ...]] = field(default_factory=dict)

    def children(self, request: Request) -> tuple[Request, ...]:
        name = (request.stage, request.key, request.page)
        if name not in self.known:
            self.known[name] = tuple(one._replace(priority=self.priority) for one in self._draw(request))
        return self.known[name]

    def _draw(self, request: Request) -> list[Request]:
        stage, key, page = request.stage, request.key, request.page
        if stage is Stage.LIST:
            last = 3
            on = [page_of(stage, key, at, request.revision) for at in range(2, last + 1)]
            further = on[:last] if self.has_fans and page == 1 else on[page - 1 : page] if not self.has_fans else []
            count = self.chance.choice([0, self.chance.randint(1, 20), MOST_CHILDREN[stage] - last])
            return further + [page_of(Stage.POST, f"{key}-{page}-{at}") for at in range(count)]
        pages = [
            page_of(Stage.COMMENT, key, at)
            for at in range(2, 2 + self.chance.choice([0, 0, 0, 1, MOST_CHILDREN[Stage.POST]]))
        ]
        if stage is Stage.POST:
            return pages if self.has_fans else pages[:1]
        return [page_of(stage, key, page + 1)] if not self.has_fans and page < 4 else []


class Crowd:
    """Workers that take, finish, fail and die in an order drawn at random, and somebody who watches the backlog."""

    def __init__(self, frontier: Frontier, client: redis.Redis, tree: Tree) -> None:
        self.frontier, self.client, self.tree = frontier, client, tree
        self.waiting: list[int] = []
        self.held: list[Lease] = []
        self.most = self.fetched = 0

    def step(self) -> None:
        chance = self.tree.chance
        chance.choice([self.take, self.take, self.take, self.finish, self.finish, self.finish, self.fall])()
        if chance.random() < 0.05 or not (self.held or self.waiting):
            chance.choice([self.produce, self.tick, self.wake])()

    def note_open(self) -> int:
        counts = Inspector(self.frontier).count_requests("demo")
        self.most = max(self.most, counts.open)
        return counts.open + counts.boards.unscanned

    def take(self) -> None:
        pipe = self.client.pipeline()
        for stage in Stage:
            pipe.rpop(stage.value, 100)
        self.waiting += [rid_of(message) for messages in pipe.execute() for message in messages or ()]
        if self.waiting:
            got = self.frontier.lease("demo", self.waiting.pop(self.tree.chance.randrange(len(self.waiting))))
            self.held += [got] if isinstance(got, Lease) else []

    def finish(self) -> None:
        if self.held:
            held = self.held.pop(self.tree.chance.randrange(len(self.held)))
            done = self.frontier.commit(held, Parsed(Items("demo"), self.tree.children(held.request)))
            self.fetched += done is not None
            if done and done.new > 1:
                self.note_open()

    def fall(self) -> None:
        """Let a worker die, or its page fail, now and then."""
        if self.held and self.tree.chance.random() < 0.3:
            held = self.held.pop()
            if self.tree.chance.random() < 0.5:
                self.frontier.fail(held, Verdict(*LATER, delay_ms=3_600_000))
            else:
                self.client.zadd("test:s:demo:leased", {str(held.rid): 1})

    def produce(self) -> None:
        for name in self.client.zrange("test:boards", 0, -1):
            if not self.client.hexists(f"test:s:demo:board:{name.decode().split()[1]}", "scan"):
                self.client.zadd("test:boards", {name: 0})
        self.frontier.produce()
        self.note_open()

    def tick(self) -> None:
        self.client.zadd("test:due", {"demo": 0})
        self.frontier.tick("me")

    def wake(self) -> None:
        for entry in self.client.zrange("test:s:demo:delayed", 0, -1):
            self.client.zadd("test:s:demo:delayed", {entry: 1})
        self.tick()


def begin(frontier: Frontier, client: redis.Redis, boards: int, **terms: int) -> None:
    client.flushall()
    lists = [page_of(Stage.LIST, str(number), revision="@SCAN@") for number in range(1, boards + 1)]
    watched = [BoardTerms(request.key, line_of(request), 86_400_000, 1, 86_400_000) for request in lists]
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"max_attempts": 100_000} | terms, watched)


@given(
    seed=st.integers(0, 1 << 32),
    has_fans=st.booleans(),
    boards=st.integers(1, 3),
    threshold=st.integers(MOST_CHILDREN[Stage.POST] - 1, 60),  # below it, posts go in a stuck backlog beyond the bound
    window=st.integers(1, 8),
    priority=st.sampled_from([1, 5]),
)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_the_backlog_ends_and_never_exceeds_the_threshold_by_more_than_a_page(
    frontier: Frontier, client: redis.Redis, seed: int, has_fans: bool, boards: int, threshold: int, window: int,
    priority: int,
) -> None:  # fmt: skip
    begin(frontier, client, boards, max_backlog=threshold, window=window)
    client.hset(
        "test:s:demo", "max_children", " ".join(map(str, MOST_CHILDREN.values()))
    )  # pages as large were seen before
    crowd = Crowd(frontier, client, Tree(Random(seed), has_fans, boards, priority))
    crowd.produce()

    for _ in range(200):
        for _ in range(100 if crowd.note_open() else 0):
            crowd.step()

    assert crowd.note_open() == 0
    assert crowd.fetched == len(crowd.tree.known)
    assert crowd.most <= threshold + max(MOST_CHILDREN.values())


def test_list_pages_go_one_at_a_time_where_two_might_bring_too_much(frontier: Frontier, client: redis.Redis) -> None:
    begin(frontier, client, 4, max_backlog=10)

    frontier.produce()

    assert Inspector(frontier).count_requests("demo").stages[Stage.LIST].ready == 3
    assert len(released(client, "list")) == 1


def test_far_below_the_threshold_the_window_is_filled(frontier: Frontier, client: redis.Redis) -> None:
    begin(frontier, client, 4, max_backlog=200)

    frontier.produce()

    assert len(released(client, "list")) == 4


def test_what_a_page_brought_is_expected_of_the_next_ones(frontier: Frontier, client: redis.Redis) -> None:
    begin(frontier, client, 2, max_backlog=200)
    frontier.produce()
    held = [lease(frontier, rid) for rid in released(client, "list")]

    frontier.commit(held[0], Parsed(Items("demo"), tuple(posts(190))))
    frontier.commit(held[1], Parsed(Items("demo"), tuple(posts(185))))

    assert client.hget("test:s:demo", "max_children") == b"190 0 0"


def test_lists_wait_until_a_full_backlog_is_worked_off(frontier: Frontier, client: redis.Redis) -> None:
    begin(frontier, client, 2, max_backlog=2, window=1)
    frontier.produce()
    held = lease(frontier, released(client, "list")[0])
    frontier.commit(held, Parsed(Items("demo"), tuple(posts(30))))

    asked = []
    for _ in range(30):
        [rid] = released(client, "post") + released(client, "list")
        asked.append(lease(frontier, rid))
        frontier.commit(asked[-1], NOTHING)

    assert Stage.LIST not in [held.request.stage for held in asked[:-1]]


def test_a_backlog_that_was_filled_by_hand_is_worked_off_as_if_one_page_had_brought_more(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(max_backlog=10, window=20)
    client.hset("test:s:demo", "max_children", "40 10 1")

    frontier.admit("demo", [*posts(100), page_of(Stage.LIST, "1")])

    assert len(released(client, "post")) == 4  # each may add nine, and a list page 39
    assert released(client, "list") == []


def test_list_pages_wait_for_what_is_delayed_only_where_that_makes_room(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(max_backlog=20, window=20)
    frontier.admit("demo", posts(20))
    for rid in released(client, "post"):
        frontier.fail(lease(frontier, rid), Verdict(*LATER, delay_ms=3_600_000))

    frontier.admit("demo", [page_of(Stage.LIST, str(number)) for number in range(20)])
    waits = released(client, "list")
    frontier.admit("demo", [page_of(Stage.LIST, str(number)) for number in range(20, 40)])

    assert (len(waits), len(released(client, "list"))) == (0, 1)
