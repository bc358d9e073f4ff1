"""A site that refuses requests for now: no attempt is counted, and the breaker of the stage waits for its probe."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from crawl_tasks.errors import NoTurn, PageError, ParseError, RobotsUnavailable, SlowDown, Truncated
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.frontier.retry import RetryPolicy, judge
from crawl_tasks.model import Lease, Request, Stage, State
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.by_hand import NOTHING, TERMS, end_delays, lease, posts, released
from tests.waiting import eventually

POLICY = RetryPolicy(5, 0.002, 0.002)
AN_HOUR = 3600.0


def fail(frontier: Frontier, held: Lease, error: PageError) -> State | None:
    failed = frontier.fail(held, judge(error, held.attempt, POLICY, 0.5))
    return failed.state if failed else None


def good(frontier: Frontier, held: Lease) -> None:
    assert frontier.commit(held, NOTHING) is not None


def reason(frontier: Frontier) -> str:
    """Give why the breaker of the post stage is open, '' for a closed one."""
    [site] = take_snapshot(frontier).sites
    return site.open_breakers[Stage.POST].reason if Stage.POST in site.open_breakers else ""


def taken(frontier: Frontier, client: redis.Redis) -> Lease:
    """Lease the one request that is released next, after the waits of the site and of its breaker."""
    client.hdel("test:s:demo", "next_at", "slow")
    if line := client.hget("test:s:demo", "breaker:post"):
        since, _, rest = line.decode().split(" ", 2)
        client.hset("test:s:demo", "breaker:post", f"{since} 0 {rest}")
    end_delays(client)
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")
    [rid] = released(client)
    return lease(frontier, rid)


def open_until(client: redis.Redis) -> int:
    return int((client.hget("test:s:demo", "breaker:post") or b"").split()[1])


@pytest.fixture(autouse=True)
def ready(frontier: Frontier, publish: Callable[..., None]) -> None:
    publish(window=1, max_attempts=5)
    frontier.admit("demo", posts(40))


@pytest.mark.parametrize("error", [SlowDown("429"), RobotsUnavailable("robots.txt hangs")])
def test_a_refused_page_opens_the_breaker_and_goes_behind_the_others_without_an_attempt(
    frontier: Frontier, client: redis.Redis, error: PageError
) -> None:
    first = taken(frontier, client)

    assert fail(frontier, first, error) is State.READY

    *_, last = client.lrange("test:s:demo:ready:post:5", 0, -1)
    assert last.decode().split()[:4] == [str(first.rid), "post", "5", "0"]
    assert reason(frontier) == error.reason
    assert Inspector(frontier).count_requests("demo").imbalance() == ""


def test_a_forum_that_refuses_all_pages_for_long_loses_none_and_is_asked_by_one_probe_at_a_time(
    frontier: Frontier, client: redis.Redis
) -> None:
    for _ in range(200):  # five rounds of all pages
        assert fail(frontier, taken(frontier, client), SlowDown("503")) is State.READY

    for _ in range(40):
        good(frontier, taken(frontier, client))

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.done, counts.dead, counts.open, reason(frontier)) == (40, 0, 0, "")
    assert counts.imbalance() == ""


def test_refused_probes_do_not_slow_the_site_down_further(frontier: Frontier, client: redis.Redis) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429"))
    client.hset("test:s:demo", "breaker:post", "1 1 0 slow_down")
    client.hdel("test:s:demo", "next_at")
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")
    [probe] = released(client)

    fail(frontier, lease(frontier, probe), SlowDown("429"))

    [site] = take_snapshot(frontier).sites
    assert site.slowdown == 2


def test_a_probe_goes_when_the_time_that_the_site_named_is_over(frontier: Frontier, client: redis.Redis) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429", AN_HOUR))

    assert 3_590_000 < open_until(client) - frontier.clock_ms() <= 3_600_000


def test_without_a_named_time_the_distance_of_probes_doubles_up_to_the_greatest(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1, probe_ms=300_000)
    fail(frontier, taken(frontier, client), SlowDown("429"))

    waits = []
    for open_for_s in (10, 20, 1000):
        held = taken(frontier, client)
        _, rest = (client.hget("test:s:demo", "breaker:post") or b"").split(b" ", 1)
        since = frontier.clock_ms() - open_for_s * 1000
        client.hset("test:s:demo", "breaker:post", f"{since} {rest.decode()}")
        fail(frontier, held, SlowDown("429"))
        waits.append(round((open_until(client) - frontier.clock_ms()) / 1000))

    assert waits == [10, 20, 300]


def test_pages_in_flight_when_the_refusal_began_count_no_attempt_either(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=4)
    frontier.tick("me")
    client.zadd("test:due", {"demo": 0})
    eventually(lambda: frontier.tick("me") and client.llen("post") == 4)
    held = [lease(frontier, rid) for rid in released(client)]

    states = [fail(frontier, one, SlowDown("429")) for one in held]

    assert states == [State.READY] * 4
    assert Inspector(frontier).count_requests("demo").delayed == 0


def test_a_page_that_is_always_refused_while_others_are_good_ends_as_dead_and_stops_the_stage_once(
    frontier: Frontier, client: redis.Redis
) -> None:
    bad, states, openings = "1", [], 0
    while Inspector(frontier).count_requests("demo").open:
        held = taken(frontier, client)
        if held.request.key == bad:
            states.append(fail(frontier, held, SlowDown("503", AN_HOUR)))
            openings += bool(reason(frontier))
        else:
            good(frontier, held)

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.done, counts.dead, reason(frontier)) == (39, 1, "")
    assert openings <= 1
    assert states == [State.READY] * openings + [State.DELAYED] * 4 + [State.DEAD]


@pytest.mark.parametrize("bad", [{"7", "20"}, {"1", "2", "3"}, {"10", "11", "12", "13"}])
def test_several_pages_that_are_always_refused_end_as_dead_too(
    frontier: Frontier, client: redis.Redis, bad: set[str]
) -> None:
    for _ in range(100):
        if not Inspector(frontier).count_requests("demo").open:
            break
        held = taken(frontier, client)
        if held.request.key in bad:
            fail(frontier, held, SlowDown("503"))
        else:
            good(frontier, held)

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.done, counts.dead, reason(frontier)) == (40 - len(bad), len(bad), "")


def test_a_page_that_is_refused_among_good_ones_rests_the_site_once(frontier: Frontier, client: redis.Redis) -> None:
    for _ in range(6):
        good(frontier, taken(frontier, client))
    refused = taken(frontier, client)

    states = [fail(frontier, refused, SlowDown("429", AN_HOUR))]
    rested = int(client.hget("test:s:demo", "next_at") or 0) - frontier.clock_ms()
    client.hdel("test:s:demo", "next_at")
    for _ in range(6):
        other = taken(frontier, client)
        if other.rid == refused.rid:
            states.append(fail(frontier, other, SlowDown("429", AN_HOUR)))
        else:
            good(frontier, other)

    assert 2_000 < rested <= 3_000
    assert states == [State.DELAYED]
    assert reason(frontier) == ""


def test_a_page_that_asks_for_a_day_waits_alone_while_others_were_good_a_moment_ago(
    frontier: Frontier, client: redis.Redis
) -> None:
    good(frontier, taken(frontier, client))
    # Too few good ones to know it for the pages' own fault.
    states = [fail(frontier, taken(frontier, client), SlowDown("429", 24 * AN_HOUR)) for _ in range(2)]
    before_ms = frontier.clock_ms()
    states.append(fail(frontier, taken(frontier, client), SlowDown("429", 24 * AN_HOUR)))

    assert states == [State.DELAYED] * 3
    assert 0 < open_until(client) - before_ms <= 10_000
    [(_, at)] = client.zrange("test:s:demo:delayed", 0, -1, withscores=True)  # the others' waits were ended by hand
    assert at - frontier.clock_ms() > 86_300_000
    assert Inspector(frontier).count_requests("demo").imbalance() == ""


def test_a_site_that_was_good_and_asks_for_a_day_again_and_again_is_believed_after_some_probes(
    frontier: Frontier, client: redis.Redis
) -> None:
    good(frontier, taken(frontier, client))
    fail(frontier, taken(frontier, client), SlowDown("429", 24 * AN_HOUR))
    attempts = [line.split(b" ", 1) for line in client.lrange("test:s:demo:recent", 0, -1)]
    client.delete("test:s:demo:recent")
    client.rpush("test:s:demo:recent", *(b"%d %s" % (int(at) - 120_001, rest) for at, rest in attempts))

    fail(frontier, taken(frontier, client), SlowDown("429", 24 * AN_HOUR))

    assert open_until(client) - frontier.clock_ms() > 86_300_000


def test_a_short_time_that_the_site_named_is_the_least_between_probes_whose_distance_doubles(
    frontier: Frontier, client: redis.Redis
) -> None:
    fail(frontier, taken(frontier, client), SlowDown("503", 1.0))

    waits = []
    for open_for_s in (0, 20, 100):
        held = taken(frontier, client)
        _, rest = (client.hget("test:s:demo", "breaker:post") or b"").split(b" ", 1)
        since = frontier.clock_ms() - open_for_s * 1000
        client.hset("test:s:demo", "breaker:post", f"{since} {rest.decode()}")
        fail(frontier, held, SlowDown("503", 1.0))
        waits.append(round((open_until(client) - frontier.clock_ms()) / 1000))

    assert waits == [1, 20, 100]


def test_the_last_page_of_its_stage_that_is_refused_while_lists_are_good_uses_up_its_attempts(
    frontier: Frontier, client: redis.Redis
) -> None:
    while Inspector(frontier).count_requests("demo").open > 1:
        good(frontier, taken(frontier, client))
    client.delete("test:s:demo:recent")
    states = [fail(frontier, taken(frontier, client), SlowDown("503", 1.0)) for _ in range(2)]
    frontier.admit("demo", [Request("demo", Stage.LIST, "1", "http://f/list/1")])
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")
    client.hdel("test:s:demo", "next_at", "slow")
    eventually(lambda: frontier.tick("me") and client.llen("list"))
    good(frontier, lease(frontier, released(client, "list")[0]))

    while Inspector(frontier).count_requests("demo").open:
        states.append(fail(frontier, taken(frontier, client), SlowDown("503", 1.0)))

    assert states == [State.READY] * 2 + [State.DELAYED] * 4 + [State.DEAD]
    assert reason(frontier) == ""


def test_five_pages_that_failed_before_and_are_refused_in_a_row_speak_for_the_whole_site(
    frontier: Frontier, client: redis.Redis
) -> None:
    for _ in range(40):
        fail(frontier, taken(frontier, client), Truncated("cut"))

    states = [fail(frontier, taken(frontier, client), SlowDown("429")) for _ in range(6)]

    assert states == [State.DELAYED] * 4 + [State.READY] * 2
    assert reason(frontier) == "slow_down"


@pytest.mark.parametrize("outcome", ["", "gone:post"])
def test_any_answer_to_a_probe_ends_the_refusal(frontier: Frontier, client: redis.Redis, outcome: str) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429"))

    frontier.commit(taken(frontier, client), NOTHING, outcome)

    assert reason(frontier) == ""


def test_a_probe_that_cannot_be_read_ends_the_refusal_and_is_parked(frontier: Frontier, client: redis.Redis) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429"))

    fail(frontier, taken(frontier, client), ParseError("title found nothing"))

    assert reason(frontier) == ""
    assert Inspector(frontier).count_requests("demo").parked == 1


def test_a_probe_that_fails_otherwise_is_followed_by_another_one_soon(frontier: Frontier, client: redis.Redis) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429"))

    fail(frontier, taken(frontier, client), Truncated("cut"))

    assert reason(frontier) == "slow_down"
    assert open_until(client) - frontier.clock_ms() < 30_000


def test_a_probe_that_hangs_is_followed_by_another_one_after_as_long_as_the_site_refuses(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429", 3.0))
    publish(window=4)
    hanging = taken(frontier, client)
    waits_s = (open_until(client) - frontier.clock_ms()) / 1000
    other = taken(frontier, client)

    assert 0 < waits_s <= 3
    good(frontier, other)
    assert reason(frontier) == ""
    fail(frontier, hanging, SlowDown("429"))


def test_a_probe_whose_worker_died_is_followed_by_another_one_after_its_lease(
    frontier: Frontier, client: redis.Redis
) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429"))

    taken(frontier, client)

    assert open_until(client) - frontier.clock_ms() <= 2 * int(TERMS["lease_ms"])


def test_pages_that_were_parked_before_stay_parked_when_a_refusal_ends(frontier: Frontier, client: redis.Redis) -> None:
    fail(frontier, taken(frontier, client), ParseError("title found nothing"))
    fail(frontier, taken(frontier, client), SlowDown("429"))

    good(frontier, taken(frontier, client))

    assert (reason(frontier), Inspector(frontier).count_requests("demo").parked) == ("", 1)


def test_the_problem_names_the_site_and_the_stage_that_it_refuses(frontier: Frontier, client: redis.Redis) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429"))

    refused = {one.name: one.summary for one in find_problems(take_snapshot(frontier))}
    good(frontier, taken(frontier, client))
    after = {one.name for one in find_problems(take_snapshot(frontier))}

    assert refused["CrawlSiteRefuses"].startswith("demo: the site refuses post pages for now")
    assert not {"CrawlSiteRefuses", "CrawlQuarantined"} & after
    assert "CrawlQuarantined" not in refused


def test_a_paused_site_sends_no_probe_and_a_resumed_one_does_at_its_time(
    frontier: Frontier, client: redis.Redis
) -> None:
    fail(frontier, taken(frontier, client), SlowDown("429", AN_HOUR))
    frontier.sites.pause("demo")
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")
    paused = released(client)

    frontier.sites.resume("demo")
    resumed = released(client)
    good(frontier, taken(frontier, client))

    assert (paused, resumed, reason(frontier)) == ([], [], "")


def test_an_attempt_in_which_nothing_was_sent_is_not_counted(frontier: Frontier, client: redis.Redis) -> None:
    held = taken(frontier, client)

    for _ in range(6):
        assert fail(frontier, held, NoTurn("the site rests by now")) is State.DELAYED
        while (other := taken(frontier, client)).rid != held.rid:
            good(frontier, other)
        held = other

    assert held.attempt == 1


def test_a_message_that_stood_on_the_queue_when_the_refusal_began_gets_no_lease(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=2)
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")
    first, second = released(client)
    fail(frontier, lease(frontier, first), SlowDown("429", AN_HOUR))
    client.hdel("test:s:demo", "next_at", "slow")

    assert frontier.lease("demo", second) is NoLease.QUARANTINED
