"""One bad page costs itself: it waits behind the pages that were never tried, and holds a part of the window."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from crawl_tasks.errors import Truncated
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.retry import RetryPolicy, judge
from crawl_tasks.model import Lease, Stage
from tests.frontier.by_hand import NOTHING, end_delays, lease, post, posts, released
from tests.waiting import eventually

RETRY = RetryPolicy(5, 0.001, 0.001)


def fail(frontier: Frontier, held: Lease) -> None:
    assert frontier.fail(held, judge(Truncated("cut"), held.attempt, RETRY, 0.5))


def tick(frontier: Frontier, client: redis.Redis) -> list[int]:
    """Give the requests that a look at the site releases, all delays being over."""
    end_delays(client)
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")
    return released(client)


@pytest.mark.parametrize("order", ["fifo fifo fifo", "lifo lifo lifo"])
def test_a_retry_stands_behind_the_pages_that_were_never_tried(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None], order: str
) -> None:
    publish(window=1, order=order)
    frontier.admit("demo", posts(5))
    first = lease(frontier, released(client)[0])
    fail(frontier, first)

    rids = []
    for _ in range(5):
        [rid] = released(client) or tick(frontier, client)
        rids.append(rid)
        frontier.commit(lease(frontier, rid), NOTHING)

    assert rids[-1] == first.rid


def test_a_page_whose_worker_died_stands_behind_the_others_too(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1, lease_ms=1)
    frontier.admit("demo", posts(3))
    [killer] = released(client)
    lease(frontier, killer)

    eventually(lambda: frontier.tick("me").expired == 1)

    *_, last = client.lrange("test:s:demo:ready:post:5", 0, -1)
    assert last.split()[0] == b"%d" % killer


def test_a_page_that_got_no_lease_was_not_tried_and_stands_in_front(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1)
    frontier.admit("demo", posts(3))
    [rid] = released(client)
    frontier.sites.pause("demo")

    frontier.lease("demo", rid)

    assert client.lindex("test:s:demo:ready:post:5", 0).split()[0] == b"%d" % rid


@pytest.mark.parametrize(("window", "share"), [(1, 1), (2, 1), (4, 2), (7, 3)])
def test_pages_that_failed_before_hold_half_of_the_window_at_most(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None], window: int, share: int
) -> None:
    publish(window=window)
    frontier.admit("demo", posts(window))
    for rid in released(client):
        fail(frontier, lease(frontier, rid))

    held = [lease(frontier, rid) for rid in tick(frontier, client)]
    again = tick(frontier, client)
    frontier.admit("demo", [post(1000 + n) for n in range(window)])
    fresh = [lease(frontier, rid) for rid in tick(frontier, client)]

    assert [one.attempt for one in held] == [2] * share
    assert again == []
    assert [one.attempt for one in fresh] == [1] * (window - share)
    assert Inspector(frontier).count_requests("demo").imbalance() == ""


def test_released_pages_that_failed_before_count_before_a_worker_takes_them(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=4)
    frontier.admit("demo", posts(4))
    for rid in released(client):
        fail(frontier, lease(frontier, rid))

    assert (len(tick(frontier, client)), tick(frontier, client)) == (2, [])


def test_the_next_page_that_failed_before_goes_when_one_of_them_has_ended(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=2)
    frontier.admit("demo", posts(2))
    for rid in released(client):
        fail(frontier, lease(frontier, rid))
    [first] = tick(frontier, client)

    frontier.commit(lease(frontier, first), NOTHING)

    [second] = released(client)
    assert {first, second} == {1, 2}


def test_tried_pages_of_a_stage_without_a_worker_do_not_take_the_places_of_another(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=2)
    comments = [post(n)._replace(stage=Stage.COMMENT, page=2) for n in (1, 2)]
    frontier.admit("demo", [*posts(2, start=10), *comments])
    for queue in ("post", "comment"):
        for rid in released(client, queue) or tick(frontier, client):
            fail(frontier, lease(frontier, rid))

    end_delays(client)
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")

    assert (client.llen("comment"), client.llen("post")) == (1, 1)
