"""What a worker sends late, or beyond a page's first request, gets a turn of its own at the gate."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import redis

from crawl_tasks.errors import NoTurn, Scope
from crawl_tasks.frontier import slot_throttle
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import Moment, NoLease
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.slot_throttle import SlotThrottle
from crawl_tasks.model import Lease, SlotSpan, State
from tests.frontier.by_hand import NOTHING, lease, posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl
from tests.waiting import eventually

SLOW = {"delay_ms": 20_000, "window": 4}
LONG_AGO = 10.0


def opens_at(client: redis.Redis) -> int:
    return int(client.hget("test:s:demo", "next_at"))


def opens_in_s(span: SlotSpan) -> float:
    return span.opens_at - time.monotonic()


def gate_turn(frontier: Frontier, lease: Lease, late_s: float = 0.0) -> SlotThrottle:
    """Return the turns of a lease that was given some time ago."""
    assert lease.slot is not None
    return SlotThrottle(frontier, lease, SlotSpan(*(moment - late_s for moment in lease.slot)))


class Stalls:
    """A machine that does something else for ten seconds whenever a thread waits."""

    def __init__(self) -> None:
        self._lost_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._lost_s

    def sleep(self, _seconds: float) -> None:
        self._lost_s += LONG_AGO


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

    gate_turn(frontier, two[1], LONG_AGO).confirm()

    assert opens_at(client) > before


def test_who_is_in_time_asks_for_nothing(frontier: Frontier, client: redis.Redis, two: list[Lease]) -> None:
    before = opens_at(client)

    SlotThrottle(frontier, two[1], SlotSpan(0.0, 0.0, time.monotonic() + LONG_AGO)).confirm()

    assert opens_at(client) == before


def test_a_turn_that_begins_later_is_waited_for(frontier: Frontier, two: list[Lease]) -> None:
    begins = time.monotonic() + 0.05
    later = SlotThrottle(frontier, two[1], SlotSpan(0.0, begins, begins + LONG_AGO))

    later.confirm()

    assert time.monotonic() >= begins
    assert later.waited_s > 0


def test_a_machine_that_misses_every_turn_asks_a_few_times_and_sends_nothing(
    frontier: Frontier, client: redis.Redis, two: list[Lease], monkeypatch: pytest.MonkeyPatch
) -> None:
    stalling = gate_turn(frontier, two[1], LONG_AGO)
    monkeypatch.setattr(slot_throttle, "time", Stalls())

    with pytest.raises(NoTurn, match="were missed"):
        stalling.confirm()

    # It asked four times, and is one attempt that is late: the counter is held against the attempts.
    assert int(client.hget("test:s:demo:stats", "late_slots")) == 1


def test_a_turn_that_is_asked_for_anew_lasts_longer_each_time(frontier: Frontier, two: list[Lease]) -> None:
    spans = [frontier.reserve_slot(two[1], Moment.LATE, missed) for missed in (1, 2, 3)]

    lengths = [span.shuts_at - span.opens_at for span in spans]
    assert lengths == sorted(lengths)
    assert lengths[2] > 3 * lengths[0]


def test_who_is_late_while_the_site_rests_waits_though_the_rest_is_shorter_than_the_delay(
    frontier: Frontier, two: list[Lease]
) -> None:
    assert frontier.fail(two[0], Verdict(State.DELAYED, "slow_down", "429", 60_000, rest_ms=15_000, scope=Scope.SITE))

    assert opens_in_s(frontier.reserve_slot(two[1], Moment.LATE)) > 10


def test_who_is_late_and_had_others_after_it_waits_behind_them(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    before = opens_at(client)

    span = frontier.reserve_slot(two[0], Moment.LATE)

    assert opens_at(client) >= before + SLOW["delay_ms"]
    assert opens_in_s(span) > SLOW["delay_ms"] / 2000


def test_the_next_request_of_a_page_waits_even_where_nobody_else_asks(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    before = opens_at(client)

    span = frontier.reserve_slot(two[1], Moment.NEXT)

    assert opens_at(client) >= before + SLOW["delay_ms"]
    assert opens_in_s(span) > SLOW["delay_ms"] / 2000


def test_a_lease_lasts_as_much_longer_as_its_page_waits(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    frontier.reserve_slot(two[1], Moment.NEXT)

    ends_at = client.zscore("test:s:demo:leased", str(two[1].rid))
    assert ends_at >= two[1].deadline_ms + SLOW["delay_ms"]


def test_what_was_sent_late_moves_the_gate_and_never_forward(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    frontier.reserve_slot(two[1], Moment.NEXT)
    before = opens_at(client)

    frontier.sent(two[0], time.monotonic())
    kept = opens_at(client)
    client.hset("test:s:demo", "next_at", 1)
    frontier.sent(two[0], time.monotonic() - LONG_AGO)

    assert kept == before
    assert 0 < opens_at(client) - frontier.clock_ms() <= SLOW["delay_ms"] - LONG_AGO * 1000


def test_second_worker_gets_no_turn_with_a_stale_token(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    frontier.commit(two[1], NOTHING)
    before = opens_at(client)

    with pytest.raises(NoTurn, match="the lease was lost"):
        frontier.reserve_slot(two[1], Moment.LATE)

    assert opens_at(client) == before


def test_nobody_gets_a_turn_while_the_site_rests(frontier: Frontier, two: list[Lease]) -> None:
    verdict = Verdict(State.DELAYED, "slow_down", "it asked for patience", 1, rest_ms=3_600_000, scope=Scope.SITE)
    frontier.fail(two[0], verdict)

    with pytest.raises(NoTurn, match="rests by now"):
        frontier.reserve_slot(two[1], Moment.LATE)


def test_no_lease_is_given_within_the_delay_after_a_late_request(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    frontier.commit(two[0], NOTHING)
    wait_over(frontier, client)
    [rid] = released(client)

    gate_turn(frontier, two[1], LONG_AGO).confirm()

    assert frontier.lease("demo", rid) is NoLease.TOO_EARLY


def test_a_request_is_released_and_leased_a_little_before_its_turn(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    client.hset("test:s:demo", mapping={"next_at": frontier.clock_ms() + 400, "lead": 450})
    client.zadd("test:due", {"demo": 0})

    frontier.tick("me")
    early = lease(frontier, released(client)[0])

    assert early.slot is not None
    assert opens_in_s(early.slot) > 0
    assert opens_at(client) >= frontier.clock_ms() + SLOW["delay_ms"]


def test_what_is_released_and_on_its_way_counts_as_a_turn(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    wait_over(frontier, client)
    client.zadd("test:due", {"demo": 0})

    frontier.tick("me")

    assert len(released(client)) == 1


def test_a_site_learns_how_long_before_a_turn_it_must_release(
    frontier: Frontier, client: redis.Redis, two: list[Lease]
) -> None:
    before = float(client.hget("test:s:demo", "lead"))
    wait_over(frontier, client)
    [rid] = released(client)
    client.zincrby("test:s:demo:released:post", -400, str(rid))  # a worker took its message so much later

    lease(frontier, rid)

    assert float(client.hget("test:s:demo", "lead")) > before + 50


def test_robots_and_the_hops_of_a_redirect_have_turns_of_their_own(crawl: SmallCrawl) -> None:
    rules = RULES.replace("robots: false\n", "").replace("delay_s: 0,", "delay_s: 0.05, daily_budget: 100,")
    crawl.publish(rules=rules)
    crawl.forum.moved["/list/1/1"] = "/list/1/01"
    crawl.forum.pages["/list/1/01"] = "<p class=nothing>"

    crawl.scan()

    assert crawl.forum.asked == ["/robots.txt", "/list/1/1", "/list/1/01"]
    assert crawl.client.hget("test:s:demo", "spent").split()[1] == b"3"


def test_a_page_behind_robots_txt_holds_no_thread_until_its_slot(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish(rules=RULES.replace("robots: false\n", "").replace("delay_s: 0,", "delay_s: 20,"))
    crawl.forum.board("1", 1)

    crawl.scan()

    assert crawl.forum.asked == ["/robots.txt"]
    assert client.zcard("test:s:demo:leased") == 0
    [entry] = client.zrange("test:s:demo:delayed", 0, -1)
    assert entry.split()[3] == b"0"  # attempts

    client.zadd("test:s:demo:delayed", {entry: 0})
    wait_over(crawl.frontier, client)
    assert crawl.work() == ["/list/1/1"]
