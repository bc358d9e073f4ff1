"""A page whose function does not return, or costs a worker its lease, fails. Its late result is refused."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import FailedRequest, Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Fetched, HttpRequest, Items, Lease, Parsed, Request, SlotSpan, Stage, State
from crawl_tasks.worker.hang_watch import HangWatch, is_overdue, stacks
from crawl_tasks.worker.page_fetch import AttemptTimer, LeasedPage
from crawl_tasks.worker.task_message import TaskMessage
from crawl_tasks.worker.task_result import Outcome, TaskResult
from tests.frontier.by_hand import lease, post, posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl, SmallForum, small_forum
from tests.waiting import PATIENCE_S, eventually

HERE = "tests.frontier.test_hung_pages"
HANGS = RULES.replace("  fields: {title: h1, body: .body}\n  pages: .pages", f"  parser: {HERE}:hangs")
HANGS_BEFORE = f"{RULES}prepare_request: {HERE}:hangs_before\n"
GATE = threading.Event()
"""The function of the site returns when this is set."""
BEGUN = threading.Event()
"""The function of the site hangs when this is set."""


def hangs(request: Request) -> Parsed:
    if request.key == "1":
        BEGUN.set()
        GATE.wait()
    return Parsed(Items(request.site))


def hangs_before(request: Request, http: HttpRequest) -> HttpRequest:
    hangs(request)
    return http


@pytest.fixture(autouse=True)
def _gate() -> Iterator[None]:
    GATE.clear()
    BEGUN.clear()
    yield
    GATE.set()


def parked(frontier: Frontier) -> list[FailedRequest]:
    return [one for one in Admin(frontier).failed.requests.list(Selection("demo")) if one.state is State.PARKED]


def test_a_page_that_hangs_fails_alone_within_its_lease_and_its_late_result_is_refused(
    crawl: SmallCrawl, client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    site = crawl.publish(rules=HANGS)
    client.hset("test:s:demo", mapping={"lease_ms": 2000, "terms": ""})
    crawl.forum.thread("1")
    crawl.forum.thread("2")
    crawl.frontier.admit("demo", [post(n)._replace(address=f"{site.base}/post/{n}") for n in (1, 2)])
    watch = HangWatch(crawl.pages, threads=2, end=lambda: None)
    worker = threading.Thread(target=crawl.work)

    worker.start()
    eventually(lambda: watch.look() or parked(crawl.frontier))
    watch.look()
    [failed], lost = parked(crawl.frontier), watch.has_lost_most()
    GATE.set()
    worker.join()

    assert (failed.request.key, failed.reason, lost) == ("1", "hung", False)
    assert "in hangs, line " in failed.details
    assert "in hangs\n" in caplog.text  # the stack
    assert caplog.messages.count("page hangs, its thread is lost until it returns") == 1
    assert caplog.messages.count("lease lost before the commit, the page is somebody else's now") == 1
    assert (Inspector(crawl.frontier).count_requests("demo").done, watch.has_lost_most()) == (1, False)
    assert [page.rid for page in crawl.frontier.kept_pages.kept("demo", Stage.POST)] == [failed.rid]


def test_no_stack_is_read_while_no_page_is_overdue(crawl: SmallCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    site = crawl.publish(rules=HANGS)
    crawl.forum.thread("1")
    crawl.frontier.admit("demo", [post(1)._replace(address=f"{site.base}/post/1")])
    worker = threading.Thread(target=crawl.work)
    worker.start()
    assert BEGUN.wait(PATIENCE_S)

    with monkeypatch.context() as patch:
        patch.delattr(sys, "_current_frames")
        HangWatch(crawl.pages, threads=1, end=lambda: None).look()
    GATE.set()
    worker.join()

    assert Inspector(crawl.frontier).count_requests("demo").done == 1


def test_a_request_that_is_prepared_for_ever_costs_its_page_alone(crawl: SmallCrawl, client: redis.Redis) -> None:
    site = crawl.publish(rules=HANGS_BEFORE)
    client.hset("test:s:demo", mapping={"lease_ms": 2000, "terms": ""})
    crawl.forum.thread("1")
    crawl.forum.thread("2")
    crawl.frontier.admit("demo", [post(n)._replace(address=f"{site.base}/post/{n}") for n in (1, 2)])
    watch = HangWatch(crawl.pages, threads=2, end=lambda: None)
    worker = threading.Thread(target=crawl.work)

    worker.start()
    eventually(lambda: watch.look() or parked(crawl.frontier))
    [failed], asked = parked(crawl.frontier), list(crawl.forum.asked)
    GATE.set()
    worker.join()

    assert (failed.request.key, failed.reason, asked) == ("1", "hung", [])
    assert "in hangs_before, line " in failed.details
    assert Inspector(crawl.frontier).count_requests("demo").done == 1


def test_the_time_in_which_a_page_waits_for_redis_makes_it_hang_neither_then_nor_later(
    crawl: SmallCrawl, client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    site = crawl.publish(rules=HANGS)
    client.hset("test:s:demo", mapping={"lease_ms": 3000, "terms": ""})
    crawl.forum.thread("1")
    crawl.forum.then["/post/1"] = lambda: client.client_pause(3000, all=False)  # the write of the Crawl-delay waits
    crawl.frontier.admit("demo", [post(1)._replace(address=f"{site.base}/post/1")])
    watch = HangWatch(crawl.pages, threads=1, end=lambda: None)
    worker = threading.Thread(target=crawl.work)

    worker.start()
    eventually(lambda: watch.look() or BEGUN.is_set())
    watch.look()  # while the page is parsed
    GATE.set()
    worker.join()

    assert Inspector(crawl.frontier).count_requests("demo").done == 1
    assert "page hangs" not in caplog.text


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()


def begin(client: redis.Redis, forum: SmallForum, key: int) -> tuple[SmallCrawl, TaskMessage]:
    crawl = SmallCrawl(client, Frontier(client, "test"), forum)
    site = crawl.publish(rules=HANGS)
    client.hset("test:s:demo", mapping={"lease_ms": 4000, "terms": ""})
    forum.thread(str(key))
    crawl.frontier.admit("demo", [post(key)._replace(address=f"{site.base}/post/{key}")])
    return crawl, TaskMessage("demo", Stage.POST, rid=released(client)[0])


def test_a_page_whose_result_waits_between_two_tries_for_redis_does_not_hang(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    results: list[TaskResult] = []
    with open_client(own_redis.url, "") as client, small_forum() as forum:
        crawl, message = begin(client, forum, 2)
        forum.then["/post/2"] = own_redis.stop
        watch = HangWatch(crawl.pages, threads=1, end=lambda: None)
        worker = threading.Thread(target=lambda: results.append(crawl.pages.handle(message)))
        worker.start()
        eventually(lambda: watch.look() or not worker.is_alive())

    assert results[0].outcome == Outcome.BACKEND_FAILED
    assert "page hangs" not in caplog.text


def test_a_page_that_hangs_while_redis_is_away_is_left_to_its_lease(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    results: list[TaskResult] = []
    told: list[TaskResult] = []
    with open_client(own_redis.url, "") as client, small_forum() as forum:
        crawl, message = begin(client, forum, 1)
        watch = HangWatch(crawl.pages, threads=2, end=lambda: None, tell=lambda _, result: told.append(result))
        worker = threading.Thread(target=lambda: results.append(crawl.pages.handle(message)))
        worker.start()
        assert BEGUN.wait(PATIENCE_S)
        own_redis.stop()
        eventually(lambda: watch.look() or "the page cannot be failed, its lease runs out" in caplog.messages)
        own_redis.start()
        GATE.set()
        worker.join()
        counts = Inspector(crawl.frontier).count_requests("demo")

    assert (told, counts.parked, counts.imbalance()) == ([], 0, "")
    assert results[0].outcome != Outcome.PARKED


def test_a_worker_with_more_hung_threads_than_others_has_lost_most(crawl: SmallCrawl, client: redis.Redis) -> None:
    site = crawl.publish(rules=HANGS)
    client.hset("test:s:demo", mapping={"lease_ms": 2000, "terms": ""})
    crawl.forum.thread("1")
    crawl.frontier.admit("demo", [post(1)._replace(address=f"{site.base}/post/1")])
    watches = [HangWatch(crawl.pages, threads=threads, end=lambda: None) for threads in (1, 2)]
    worker = threading.Thread(target=crawl.work)

    worker.start()
    eventually(lambda: [watch.look() for watch in watches] and parked(crawl.frontier))
    lost = [watch.has_lost_most() for watch in watches]
    GATE.set()
    worker.join()

    assert lost == [True, False]


def outlive(frontier: Frontier, client: redis.Redis) -> None:
    """Let the leases of all released requests run out, as where their worker dies."""
    for rid in released(client):
        lease(frontier, rid)
    eventually(lambda: frontier.tick("t").expired)


def wait_ms(client: redis.Redis) -> list[float]:
    """Return the waits of the delayed requests, in ms."""
    seconds, micros = client.time()
    delayed = client.zrange("test:s:demo:delayed", 0, -1, withscores=True)
    return [at - seconds * 1000 - micros / 1000 for _, at in delayed]


def make_due(frontier: Frontier, client: redis.Redis) -> None:
    for entry in client.zrange("test:s:demo:delayed", 0, -1):
        client.zadd("test:s:demo:delayed", {entry: 1})
    client.zadd("test:due", {"demo": 1})
    eventually(lambda: frontier.tick("t") and client.llen("post"))


def test_the_first_death_of_a_worker_costs_its_pages_no_time(frontier: Frontier, client: redis.Redis) -> None:
    client.hset("test:s:demo", mapping={"lease_ms": 50, "window": 40, "terms": ""})
    frontier.admit("demo", posts(8))

    outlive(frontier, client)

    assert Inspector(frontier).count_requests("demo").delayed == 0
    eventually(lambda: frontier.tick("t") and client.llen("post"))


def test_pages_that_are_lost_together_again_come_back_apart_and_none_is_parked(
    frontier: Frontier, client: redis.Redis
) -> None:
    client.hset("test:s:demo", mapping={"lease_ms": 50, "window": 40, "terms": ""})
    frontier.admit("demo", posts(8))
    outlive(frontier, client)
    eventually(lambda: frontier.tick("t") and client.llen("post") == 8)

    client.hset("test:s:demo", mapping={"lease_ms": 60_000, "terms": ""})
    held = [lease(frontier, rid) for rid in released(client)]
    client.zadd("test:s:demo:leased", {str(one.rid): 1 for one in held})
    client.zadd("test:due", {"demo": 1})
    assert frontier.tick("t").expired == 8

    waits = sorted(wait_ms(client))
    assert parked(frontier) == []
    assert len(waits) == 8
    assert all(after - before > 5_000 for before, after in itertools.pairwise(waits))
    assert waits[0] > 50_000
    assert waits[-1] < 120_000


def test_a_page_is_parked_as_hung_when_as_many_leases_ran_out_as_it_has_attempts(
    frontier: Frontier, client: redis.Redis
) -> None:
    client.hset("test:s:demo", mapping={"lease_ms": 50, "max_attempts": 4, "terms": ""})
    frontier.admit("demo", posts(1))

    for _ in range(3):
        outlive(frontier, client)
        assert parked(frontier) == []
        make_due(frontier, client)
    outlive(frontier, client)

    [page] = parked(frontier)
    assert (page.reason, page.details) == ("hung", "each worker that took it died or overran its lease, 4 attempts")
    assert Inspector(frontier).count_requests("demo").imbalance() == ""


def test_the_wait_after_many_deaths_is_bounded(frontier: Frontier, client: redis.Redis) -> None:
    client.hset("test:s:demo", mapping={"lease_ms": 50, "max_attempts": 50, "probe_ms": 900_000, "terms": ""})
    frontier.admit("demo", posts(1))
    for _ in range(8):
        outlive(frontier, client)
        make_due(frontier, client)
    client.hset("test:s:demo", mapping={"lease_ms": 60_000, "terms": ""})
    client.zadd("test:s:demo:leased", {str(lease(frontier, released(client)[0]).rid): 1})
    client.zadd("test:due", {"demo": 1})

    assert frontier.tick("t").expired == 1

    [wait] = wait_ms(client)
    assert 230_000 < wait < 480_000


class Waiting:
    """A throttle that made an attempt wait so long."""

    def __init__(self, waited_s: float) -> None:
        self.waited_s = waited_s


@pytest.mark.parametrize(
    ("lease_ms", "slot_s", "waited_s", "expected"),
    [(45_000, 0, 0, False), (45_000, 0, -42.1, True), (60_000, 15, -42.1, True), (60_000, 15, -41.9, False)],
)
def test_a_page_is_overdue_shortly_before_its_lease_ends_waiting_for_slots_aside(
    lease_ms: int, slot_s: float, waited_s: float, expected: bool
) -> None:
    slot = SlotSpan(0.0, slot_s, slot_s) if slot_s else None
    held = Lease(1, 1, 1, post(1), "v1", 0, deadline_ms=lease_ms, slot=slot)

    assert is_overdue(LeasedPage(held, AttemptTimer(Waiting(waited_s)))) is expected  # type: ignore[arg-type]


def test_waits_count_neither_as_fetching_nor_as_parsing() -> None:
    timer = AttemptTimer(Waiting(-200.0))  # type: ignore[arg-type]  # as though the rest took so much longer
    timer.fetched(Fetched("http://f/1", 200, {}, b"", 0.0))
    timer.redis_s = -100.0

    effort = timer.effort()

    assert (effort.fetch_ms >= 200_000, effort.parse_ms >= 100_000) == (True, True)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions collect between instructions only")
def test_no_garbage_is_collected_while_stacks_are_read() -> None:
    go = threading.Event()
    threads = [threading.Thread(target=go.wait) for _ in range(20)]
    for thread in threads:
        thread.start()
    places: list[str] = []

    def note(phase: str, _: object) -> None:
        places.append(f"{phase} {sys._getframe(1).f_code.co_name}")

    usual = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1)  # nearly each new object starts a collection
    try:
        found = stacks()
    finally:
        gc.set_threshold(*usual)
        gc.callbacks.remove(note)
        go.set()

    assert len(found) > len(threads)
    assert "start stacks" not in places
    assert gc.isenabled()
