"""How fast a site is asked: slower under strain, faster again with good answers, never faster than robots.txt says."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import redis

from crawl_tasks.errors import (
    DeadlineExceeded,
    FetchError,
    PageError,
    ParseError,
    RobotsUnavailable,
    ServerError,
    SlowDown,
    Truncated,
    Unreachable,
)
from crawl_tasks.fetch.http_status import failure
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.retry import RetryPolicy, judge
from crawl_tasks.model import Effort, Lease
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.by_hand import NOTHING, end_delays, lease, posts, released

POLICY = RetryPolicy(1, 0.001, 0.001)
RETRY = RetryPolicy(5, 0.001, 0.001)
BUSY = ServerError("502", is_busy=True)


def slowdown(frontier: Frontier) -> int:
    [site] = take_snapshot(frontier).sites
    return site.slowdown


def no_waiting(client: redis.Redis) -> None:
    client.hdel("test:s:demo", "next_at")
    client.zadd("test:due", {"demo": 0})


def next_lease(frontier: Frontier, client: redis.Redis) -> Lease:
    """Lease what is released next, as if the site's delay were over."""
    no_waiting(client)
    frontier.tick("me")
    message = client.rpop("post")
    assert message is not None
    rid = json.loads(json.loads(message)["body"])[1]["rid"]
    no_waiting(client)
    return lease(frontier, rid)


def meet(frontier: Frontier, client: redis.Redis, *errors: PageError | None, fetch_ms: int = 5) -> None:
    """Work on a page for each error; None for a good answer."""
    for error in errors:
        held = next_lease(frontier, client)
        if error is None:
            assert frontier.commit(held, NOTHING, effort=Effort(200, 1, 1, fetch_ms, 1))
        else:
            assert frontier.fail(held, judge(error, held.attempt, POLICY, 0.5))


@pytest.fixture(autouse=True)
def ready(frontier: Frontier, publish: Callable[..., None]) -> None:
    publish(window=1, delay_ms=10)
    frontier.admit("demo", posts(200))


@pytest.mark.parametrize(
    ("error", "factor"),
    [
        (BUSY, 2),
        (DeadlineExceeded("30 s"), 2),
        (Unreachable("refused"), 2),
        (ServerError("500"), 1),
        (Truncated("cut"), 1),
    ],
)
def test_strain_on_two_pages_doubles_the_delay_and_on_one_does_not(
    frontier: Frontier, client: redis.Redis, error: PageError, factor: int
) -> None:
    meet(frontier, client, error)
    after_one = slowdown(frontier)
    meet(frontier, client, error)

    assert (after_one, slowdown(frontier)) == (1, factor)


@pytest.mark.parametrize("error", [SlowDown("429"), RobotsUnavailable("503")])
def test_a_site_that_refuses_requests_is_slowed_down_at_once(
    frontier: Frontier, client: redis.Redis, error: PageError
) -> None:
    meet(frontier, client, error)

    assert slowdown(frontier) == 2


@pytest.mark.parametrize(
    ("between", "factor"),
    [(0, 2), (2, 2), (3, 1)],
)
def test_two_failing_pages_are_strain_unless_three_others_were_answered_meanwhile(
    frontier: Frontier, client: redis.Redis, between: int, factor: int
) -> None:
    meet(frontier, client, BUSY, *[None] * between, BUSY)

    assert slowdown(frontier) == factor


def test_pages_that_hang_together_while_others_are_good_do_not_move_the_site(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=4, delay_ms=0)
    hanging = [next_lease(frontier, client) for _ in range(3)]
    meet(frontier, client, *[None] * 20)

    for held in hanging:
        frontier.fail(held, judge(DeadlineExceeded("10 s"), 1, RETRY, 0.5), Effort(fetch_ms=10_000))

    assert slowdown(frontier) == 1
    assert client.hget("test:s:demo", "next_at") is None


def test_a_page_that_hung_while_others_were_answered_is_no_sign_against_the_next_that_fails(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=8, delay_ms=0)
    hanging = [next_lease(frontier, client) for _ in range(6)]
    meet(frontier, client, *[None] * 12)
    for held in hanging:
        assert frontier.fail(held, judge(DeadlineExceeded("10 s"), 1, POLICY, 0.5), Effort(fetch_ms=10_000))

    meet(frontier, client, Unreachable("reset"))

    assert slowdown(frontier) == 1


@pytest.mark.parametrize(("failing", "factor"), [(3, 1), (4, 2)])
def test_a_site_that_was_in_order_is_down_when_four_pages_fail_one_after_the_other(
    frontier: Frontier, client: redis.Redis, failing: int, factor: int
) -> None:
    meet(frontier, client, *[None] * 20, *[BUSY] * failing)

    assert slowdown(frontier) == factor


def test_an_answer_that_cannot_be_read_shows_a_site_in_order(frontier: Frontier, client: redis.Redis) -> None:
    meet(frontier, client, BUSY)
    for _ in range(3):
        held = next_lease(frontier, client)
        assert frontier.fail(held, judge(ParseError("x"), held.attempt, POLICY, 0.5), Effort(200, 1, 1, 5, 1))
    meet(frontier, client, BUSY)

    assert slowdown(frontier) == 1


@pytest.mark.parametrize(("strained", "factor"), [(0, 1), (3, 4)])
def test_pages_that_failed_before_keep_the_pace_and_rest_only_a_slowed_site(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None], strained: int, factor: int
) -> None:
    publish(window=1, max_attempts=5)
    meet(frontier, client, BUSY, *[None] * 5, *[BUSY] * strained)
    for _ in range(2):
        held = next_lease(frontier, client)
        entry = client.hget("test:s:demo:open", held.rid)
        assert entry is not None
        client.hset("test:s:demo:open", held.rid, entry.replace(b"post 5 1", b"post 5 2"))

        frontier.fail(held, judge(Unreachable("reset"), 2, RetryPolicy(5, 60, 60), 0.5), Effort(fetch_ms=900))

    rests = int(client.hget("test:s:demo", "next_at") or 0) > frontier.clock_ms()
    assert (slowdown(frontier), rests) == (factor, strained > 0)


def test_one_page_that_fails_five_times_does_not_move_the_site(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1, max_attempts=5)
    frontier.admit("demo", posts(1, start=1000))
    rids = []
    for _ in range(200):  # the pages that were ready before
        meet(frontier, client, None)

    for _ in range(5):
        held = next_lease(frontier, client)
        rids.append(held.rid)
        frontier.fail(held, judge(Unreachable("reset"), held.attempt, RETRY, 0.5))
        end_delays(client)

    assert rids == rids[:1] * 5
    assert slowdown(frontier) == 1
    assert client.hget("test:s:demo", "next_at") is None
    assert Inspector(frontier).count_requests("demo").dead == 1


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504, 524])
def test_a_status_that_says_too_much_to_do_shows_strain(status: int) -> None:
    error = failure("http://f.example/", status, {}, 0.0)

    assert isinstance(error, FetchError)
    assert error.slows_site


def test_the_delay_grows_to_64_times_and_no_further(frontier: Frontier, client: redis.Redis) -> None:
    meet(frontier, client, *[BUSY] * 8)

    assert slowdown(frontier) == 64


def test_slow_answers_of_two_pages_slow_the_site_down_and_are_stored(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1, slow_ms=1000)

    meet(frontier, client, None, fetch_ms=1001)
    after_one = slowdown(frontier)
    meet(frontier, client, None, fetch_ms=1001)

    assert (after_one, slowdown(frontier), Inspector(frontier).count_requests("demo").done) == (1, 2, 2)


def test_five_good_answers_take_one_step_back(frontier: Frontier, client: redis.Redis) -> None:
    meet(frontier, client, *[BUSY] * 4)

    steps = []
    for _ in range(15):
        meet(frontier, client, None)
        steps.append(slowdown(frontier))

    assert steps == [8] * 4 + [4] * 5 + [2] * 5 + [1]


def test_one_bad_moment_of_many_requests_in_flight_counts_once(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=8, delay_ms=0)
    held = [next_lease(frontier, client) for _ in range(8)]

    for one in held:
        frontier.fail(one, judge(BUSY, one.attempt, POLICY, 0.5))

    assert slowdown(frontier) == 2


def test_a_slowed_site_gives_its_next_lease_after_the_longer_delay(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=4, delay_ms=60_000)
    meet(frontier, client, BUSY, BUSY)
    asked_at = frontier.clock_ms()

    meet(frontier, client, None)
    next_at = int(client.hget("test:s:demo", "next_at") or 0)

    assert 119_000 <= next_at - asked_at <= 130_000


def test_a_site_rests_for_as_long_as_it_held_a_worker_and_longer_each_time(
    frontier: Frontier, client: redis.Redis
) -> None:
    rests = []
    meet(frontier, client, BUSY)
    for _ in range(7):
        held = next_lease(frontier, client)
        verdict = judge(DeadlineExceeded("30 s"), held.attempt, POLICY, 0.5)
        frontier.fail(held, verdict, Effort(fetch_ms=30_000))
        rests.append(int(client.hget("test:s:demo", "next_at") or 0) - frontier.clock_ms())

    assert [round(rest / 30_000) for rest in rests] == [1, 2, 3, 4, 5, 6, 6]


def test_a_slowed_site_uses_half_of_its_window(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=4, delay_ms=10)
    meet(frontier, client, BUSY, BUSY)

    next_lease(frontier, client)
    next_lease(frontier, client)
    no_waiting(client)
    frontier.tick("me")

    assert released(client) == []


def test_retry_after_rests_the_site_also_when_it_came_with_the_last_attempt(
    frontier: Frontier, client: redis.Redis
) -> None:
    held = next_lease(frontier, client)
    verdict = judge(SlowDown("429", 60.0), held.attempt, POLICY, 0.5)

    frontier.fail(held, verdict)

    assert verdict.rest_ms == 60_000
    assert int(client.hget("test:s:demo", "next_at") or 0) - frontier.clock_ms() > 50_000


def test_a_crawl_delay_that_was_taken_back_holds_no_more(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=2, delay_ms=0)
    frontier.sites.set_crawl_delay("demo", 40.0)
    frontier.sites.set_crawl_delay("demo", 0.0)

    no_waiting(client)
    frontier.tick("me")
    first, second = released(client)[:2]
    lease(frontier, first)

    assert isinstance(frontier.lease("demo", second), Lease)
