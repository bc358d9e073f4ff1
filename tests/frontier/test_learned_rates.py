"""What was learned of a site's boards survives: a worker's death in mid-scan, a second beat, and an emptied Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Comment, Items, Parsed, Post
from crawl_tasks.sites.site_json import read_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import prepare_rebuild
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.by_hand import board, lease, posts, released, take_list
from tests.frontier.small_crawl import RULES, SmallCrawl

Watch = Callable[..., None]
DATED = RULES.replace("body: .body}", "body: .body, created_at: .at}").replace(
    "body: .say}", "body: .say, created_at: .at}"
)
RATES = {"1": 2.0, "2": 0.2, "3": 0.02}
"""Replies an hour of each board."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        yield store


def rates(frontier: Frontier) -> dict[str, float]:
    return {one.board: one.rate_h for one in Inspector(frontier).boards("demo")}


def intervals(frontier: Frontier) -> dict[str, float]:
    return {one.board: one.interval_ms / 1000 for one in Inspector(frontier).boards("demo")}


def write_past(store: Store, now_s: int, *, has_times: bool = True) -> None:
    """Write a week of replies, as often as each board has them."""
    draw = Random(3)
    for name, rate in RATES.items():
        at, found, last = 0.0, [], 0
        while (at := at + draw.expovariate(rate) * 3600) < 168 * 3600:
            last = now_s - int(at)
            found.append(Comment(f"t{name}", f"{name}-{len(found)}", 1.0, created_at=last if has_times else None))
        thread = Post(f"t{name}", 1.0, forum_id=name, url=f"http://f/{name}", is_page=True)
        store.write([Items("demo", posts=(thread,), comments=tuple(found))])


def watched(crawl: SmallCrawl, store: Store, terms: str) -> None:
    """Scan three boards once, and store what was found."""
    crawl.publish(f"boards: [1, 2, 3]\n{terms}\n", DATED)
    for name in RATES:
        crawl.forum.board(name, 1, f"t{name} 1")
        crawl.forum.thread(f"t{name}")
    for _ in RATES:  # the budget allows one board at a time
        crawl.client.hdel("test:s:demo", "scan_at")
        crawl.scan()
    OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1).run()


def rebuild(crawl: SmallCrawl, store: Store) -> None:
    site = read_site(store.kept_sites("test")["demo"])
    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None)


def test_a_recovery_teaches_the_rates_of_boards_from_the_times_of_stored_posts(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    watched(crawl, store, "freshness: {goal_s: 600, requests_s: 0.01}")
    write_past(store, crawl.frontier.clock_ms() // 1000)
    client.flushall()

    rebuild(crawl, store)

    learned = rates(crawl.frontier)
    assert learned == pytest.approx({"1": 2.0, "2": 0.2, "3": 0.05}, rel=0.4)
    assert intervals(crawl.frontier)["1"] < intervals(crawl.frontier)["2"] < intervals(crawl.frontier)["3"]
    *hours, since = map(int, client.hget("test:s:demo", "busy").split())
    assert sum(hours) > 300
    assert since == 0
    assert client.zcard("test:s:demo:by_due") == 3


def test_a_recovery_gives_the_simple_schedule_its_intervals_back(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    watched(crawl, store, "interval: {min_s: 60, start_s: 300, max_s: 86400}")
    write_past(store, crawl.frontier.clock_ms() // 1000)
    client.flushall()

    rebuild(crawl, store)

    found = intervals(crawl.frontier)
    assert found["1"] == pytest.approx(0.46 * 3600 / 2.0, rel=0.3)
    assert found["2"] == pytest.approx(0.46 * 3600 / 0.2, rel=0.5)
    assert found["3"] > 30_000


def test_a_site_without_times_learns_anew(crawl: SmallCrawl, client: redis.Redis, store: Store) -> None:
    watched(crawl, store, "freshness: {goal_s: 600, requests_s: 0.01}")
    write_past(store, crawl.frontier.clock_ms() // 1000, has_times=False)
    client.flushall()

    rebuild(crawl, store)

    assert client.hget("test:s:demo:board:1", "history") is None
    assert intervals(crawl.frontier) == dict.fromkeys(RATES, 600.0)


def test_a_worker_that_dies_in_mid_scan_takes_nothing_that_was_learned_with_it(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(board("1"), freshness="3600 1")
    frontier.produce()
    frontier.commit(take_list(frontier, client), Parsed(Items("demo")))
    client.zadd("test:boards", {"demo 1": 0})
    client.hdel("test:s:demo", "scan_at")
    frontier.produce()
    first = take_list(frontier, client)
    page_2 = first.request._replace(page=2, address=first.request.address + "2")
    frontier.commit(first, Parsed(Items("demo"), (*posts(2), page_2)))
    lost = take_list(frontier, client)

    client.zadd("test:s:demo:leased", {str(lost.rid): 0})
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")
    again = [rid for rid in released(client, "list") if rid == lost.rid]
    frontier.commit(lease(frontier, again[0]), Parsed(Items("demo"), tuple(posts(3, start=10))))

    assert float(client.hget("test:s:demo:board:1", "history").split()[0]) == pytest.approx(5, abs=0.1)


def test_two_beats_scan_no_board_twice_and_move_the_price_once(
    frontier: Frontier, client: redis.Redis, watch: Watch
) -> None:
    watch(*(board(str(number)) for number in range(5)), freshness="3600 1")
    for _ in range(2):
        frontier.produce()
    once = client.hget("test:s:demo", "pulse"), client.hget("test:s:demo", "scan_at")

    other = Frontier(client, "test")
    counts = [one.produce()[0] for one in (other, frontier, other)]

    assert sum(counts) == 0
    assert (client.hget("test:s:demo", "pulse"), client.hget("test:s:demo", "scan_at")) == once
