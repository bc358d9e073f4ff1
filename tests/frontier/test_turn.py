"""What a worker sends late, or beyond a page's first request, gets a turn of its own at the gate."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import redis

from crawl_tasks.errors import NoTurn
from crawl_tasks.frontier.answers import Moment
from crawl_tasks.frontier.frontier import Frontier, Refusal
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.turn import GateTurn
from crawl_tasks.model import Lease, State
from tests.frontier.by_hand import NOTHING, lease, posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl
from tests.waiting import eventually

SLOW = {"delay_ms": 20_000, "window": 4}
LONG_AGO = 10.0


def opens_at(client: redis.Redis) -> int:
    return int(client.hget("test:s:demo", "next_at"))


def wait_over(frontier: Frontier, client: redis.Redis) -> None:
    """Let the site's delay be over now."""
    client.hset("test:s:demo", "next_at", frontier.clock_ms())
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")


@pytest.fixture
def two(frontier: Frontier, client: redis.Redis, publish: Callable[..., None]) -> list[Lease]:
    """Two pages of a slow site that are leased; the delay after the first one is over, that of the second is not."""
    publish(**SLOW)
    frontier.admit("demo", posts(3))
    held = [lease(frontier, released(client)[0])]
    wait_over(frontier, client)
    return [*held, lease(frontier, released(client)[0])]


def test_who_is_late_and_had_nobody_after_it_goes_at_once_and_the_others_wait_from_then(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    before = opens_at(client)
    eventually(lambda: frontier.clock_ms() > before - SLOW["delay_ms"])  # later than when it was sent, by a millisecond

    GateTurn(frontier, two[1], time.monotonic() - LONG_AGO).confirm()

    assert opens_at(client) > before


def test_who_is_in_time_asks_for_nothing(frontier: Frontier, client: redis.Redis, two: list[Lease]) -> None:
    before = opens_at(client)

    GateTurn(frontier, two[1], time.monotonic() + LONG_AGO).confirm()

    assert opens_at(client) == before


def test_who_is_late_while_the_site_rests_waits_though_the_rest_is_shorter_than_the_delay(
    frontier: Frontier, two: list[Lease]
) -> None:
    assert frontier.fail(two[0], Verdict(State.DELAYED, "busy", "429", 60_000, rest_ms=15_000))

    assert frontier.turn(two[1], Moment.LATE) > 10


def test_who_is_late_and_had_others_after_it_waits_behind_them(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    before = opens_at(client)

    wait_s = frontier.turn(two[0], Moment.LATE)

    assert opens_at(client) == before + SLOW["delay_ms"]
    assert wait_s > SLOW["delay_ms"] / 2000


def test_the_next_request_of_a_page_waits_even_where_nobody_else_asks(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    before = opens_at(client)

    wait_s = frontier.turn(two[1], Moment.NEXT)

    assert opens_at(client) == before + SLOW["delay_ms"]
    assert wait_s > SLOW["delay_ms"] / 2000


def test_a_lease_lasts_as_much_longer_as_its_page_waits(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    wait_s = frontier.turn(two[1], Moment.NEXT)

    ends_at = client.zscore("test:s:demo:leased", str(two[1].rid))
    assert ends_at >= two[1].deadline_ms + int(wait_s * 1000) - 1


def test_what_was_sent_late_moves_the_gate_and_never_forward(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    frontier.turn(two[1], Moment.NEXT)
    before = opens_at(client)

    frontier.turn(two[0], Moment.SENT)
    kept = opens_at(client)
    client.hset("test:s:demo", "next_at", 1)
    frontier.turn(two[0], Moment.SENT)

    assert kept == before
    assert opens_at(client) >= frontier.clock_ms()


def test_second_worker_gets_no_turn_with_a_stale_token(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    frontier.commit(two[1], NOTHING)
    before = opens_at(client)

    with pytest.raises(NoTurn, match="the lease was lost"):
        frontier.turn(two[1], Moment.LATE)

    assert opens_at(client) == before


def test_nobody_gets_a_turn_while_the_site_rests(frontier: Frontier, two: list[Lease]) -> None:
    frontier.fail(two[0], Verdict(State.DELAYED, "slow_down", "it asked for patience", 1, rest_ms=3_600_000))

    with pytest.raises(NoTurn, match="rests by now"):
        frontier.turn(two[1], Moment.LATE)


def test_no_lease_is_given_within_the_delay_after_a_late_request(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    frontier.commit(two[0], NOTHING)
    wait_over(frontier, client)
    [rid] = released(client)

    GateTurn(frontier, two[1], time.monotonic() - LONG_AGO).confirm()

    assert frontier.lease("demo", rid) is Refusal.TOO_EARLY


def test_robots_and_the_hops_of_a_redirect_have_turns_of_their_own(crawl: SmallCrawl) -> None:
    rules = RULES.replace("robots: false\n", "").replace("delay_s: 0,", "delay_s: 0.05, daily_budget: 100,")
    crawl.publish(rules=rules)
    crawl.forum.moved["/list/1/1"] = "/list/1/01"
    crawl.forum.pages["/list/1/01"] = "<p class=nothing>"

    crawl.scan()

    assert crawl.forum.asked == ["/robots.txt", "/list/1/1", "/list/1/01"]
    assert crawl.client.hget("test:s:demo", "spent").split()[1] == b"3"
