"""Redis far away from its workers: a page asks it a few times, and a site is asked as often as it allows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.frontier.slot_throttle import TOLERANCE_S
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Request, Stage
from crawl_tasks.schedule.ticker import Ticker
from tests.chaos.door import Door
from tests.far import FarServer
from tests.frontier.by_hand import TERMS, released
from tests.frontier.small_crawl import RULES, SmallCrawl
from tests.waiting import eventually

DELAY_S = 0.2
PAGES = 30
THREADS = 4
LOOK_S = 0.005
SITES = 600
SETTLING = 20  # what a thread asks when it begins: who it talks to, what it may do, what time it is


@pytest.fixture(params=[pytest.param(3, marks=pytest.mark.long), 25], ids=["6 ms away", "50 ms away"])
def far(request: pytest.FixtureRequest, redis_server: RedisServer) -> Iterator[FarServer]:
    with FarServer(redis_server.port, request.param, jitter_ms=1) as far:
        yield far


@pytest.fixture
def asked_at(far: FarServer, crawl: SmallCrawl) -> Iterator[list[float]]:
    """Crawl a site that wants to be asked slowly, each verb a long way to Redis; give when its server was asked."""
    with (
        closing(Door(urlsplit(crawl.forum.url).port or 0)) as door,
        open_client(f"redis://127.0.0.1:{far.port}/0", "") as client,
        FarServer(far.target_port, far.way_ms) as far_too,  # the clockwork's, so that its looks are not counted
        open_client(f"redis://127.0.0.1:{far_too.port}/0", "") as ticking,
    ):
        crawl.forum.url = f"http://127.0.0.1:{door.port}"
        for number in range(PAGES):
            crawl.forum.thread(str(number))
        crawl.publish(rules=RULES.replace("delay_s: 0,", f"delay_s: {DELAY_S},"))
        pages = [Request("demo", Stage.POST, str(one), f"{crawl.forum.url}/post/{one}") for one in range(PAGES)]
        crawl.frontier.admit("demo", pages)
        working = SmallCrawl(crawl.client, Frontier(client, "test"), crawl.forum)
        pacer, is_over = Ticker(Frontier(ticking, "test")), threading.Event()

        def work() -> None:
            while not is_over.wait(LOOK_S):
                working.work()

        threads = [threading.Thread(target=work, daemon=True) for _ in range(THREADS)]
        try:
            pacer.start()
            for thread in threads:
                thread.start()
            eventually(lambda: Inspector(crawl.frontier).count_requests("demo").open == 0)
        finally:
            is_over.set()
            pacer.stop()
        for thread in threads:
            thread.join()
        yield sorted(door.arrivals)


def test_a_site_is_asked_as_often_as_it_allows_and_no_more(asked_at: list[float]) -> None:
    gaps = [after - before for before, after in pairwise(asked_at)]

    assert len(asked_at) == PAGES
    assert min(gaps) >= DELAY_S - TOLERANCE_S
    assert DELAY_S / (sum(gaps) / len(gaps)) > 0.5


def test_a_page_asks_redis_a_few_times(asked_at: list[float], far: FarServer, crawl: SmallCrawl) -> None:
    assert len(asked_at) == PAGES
    assert far.asked <= 4 * PAGES + SETTLING * THREADS  # a lease, a commit, and now and then another turn
    assert int(crawl.client.hget("test:s:demo:stats", "late_slots") or 0) <= 2 * PAGES  # on a busy machine


def test_a_far_ticker_serves_many_sites_in_few_round_trips(redis_server: RedisServer, frontier: Frontier) -> None:
    names = [f"site{number}" for number in range(SITES)]
    for name in names:
        frontier.sites.publish(name, "v1", "{}", TERMS, [])
        frontier.admit(name, [Request(name, Stage.POST, "1", "http://forum.test/1")])
    frontier.client.zadd("test:due", dict.fromkeys(names, 0))

    with FarServer(redis_server.port, 25) as far, open_client(f"redis://127.0.0.1:{far.port}/0", "") as client:
        ticker = Ticker(Frontier(client, "test"))
        ticker.start()
        eventually(lambda: not frontier.client.zcount("test:due", 0, 1))
        asked = far.asked
        ticker.stop()

    assert asked < SITES / 20  # what single ticks would need


def test_a_ticker_goes_on_after_a_bug(frontier: Frontier) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"lease_ms": 1, "max_attempts": 1}, [])
    frontier.admit("demo", [Request("demo", Stage.POST, "1", "http://forum.test/1")])
    told: list[str] = []

    def crash(site: str, _: object) -> None:
        told.append(site)
        raise ZeroDivisionError

    ticker = Ticker(frontier, on_idle=crash)
    frontier.lease("demo", released(frontier.client)[0])
    ticker.start()
    eventually(lambda: told)
    frontier.admit("demo", [Request("demo", Stage.POST, "2", "http://forum.test/2")])
    frontier.lease("demo", released(frontier.client)[0])

    eventually(lambda: len(told) == 2)
    ticker.stop()
