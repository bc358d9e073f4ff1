"""What the scripts count for those who watch: once, where it happens."""

from __future__ import annotations

from collections.abc import Callable

import redis

from crawl_tasks.errors import Scope
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS, Histogram, read_histogram
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.model import Effort, Items, Parsed, Post, State
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.by_hand import lease, posts, released
from tests.waiting import eventually

NOTHING = Parsed(Items("demo"))
EFFORT = Effort(status=200, wire_bytes=700, body_bytes=3000, fetch_ms=120, parse_ms=3)


def stats(frontier: Frontier) -> dict[str, int]:
    return dict(Inspector(frontier).count_requests("demo").stats)


def test_a_commit_counts_status_bytes_and_times(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(2))
    for rid in released(client):
        frontier.commit(lease(frontier, rid), NOTHING, effort=EFFORT)

    counted = stats(frontier)
    times = Inspector(frontier).health(()).counters

    assert (counted["status:200"], counted["wire"], counted["body"]) == (2, 1400, 6000)
    assert Inspector(frontier).count_requests("demo").count("attempts") == 2
    assert read_histogram(times, "fetch:post", TIMES_MS).total == 240
    assert read_histogram(times, "parse:post", TIMES_MS).counts[2] == 2
    assert read_histogram(times, "wait:post", TIMES_MS).count == 2


def test_a_commit_with_a_stale_token_counts_nothing(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(lease_ms=10)
    frontier.admit("demo", posts(1))
    stale = lease(frontier, released(client)[0])
    eventually(lambda: frontier.tick("t").expired == 1)

    frontier.commit(stale, NOTHING, effort=EFFORT)

    assert stats(frontier) == {}


def test_a_failure_counts_its_fate_its_status_and_the_time_the_site_rests(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    frontier.admit("demo", posts(3))
    slow, parked, dead = (lease(frontier, rid) for rid in released(client))

    frontier.fail(parked, Verdict(State.PARKED, "parse", "x"), Effort(status=200, fetch_ms=9))
    frontier.fail(dead, Verdict(State.DEAD, "status", "x"), Effort(status=418, fetch_ms=9))
    verdict = Verdict(State.DELAYED, "slow_down", "x", delay_ms=1, rest_ms=5000, scope=Scope.SITE)
    frontier.fail(slow, verdict, Effort(429, fetch_ms=9))

    counted = stats(frontier)
    assert {name: counted[name] for name in ("delayed:slow_down", "parked:parse", "dead:status")} == {
        "delayed:slow_down": 1,
        "parked:parse": 1,
        "dead:status": 1,
    }
    assert (counted["status:429"], counted["status:418"], counted["rest_ms"]) == (1, 1, 5000)
    assert take_snapshot(frontier).sites[0].fates[("parked", "parse")] == 1


def test_a_request_whose_workers_all_died_counts_as_given_up(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(lease_ms=10, max_attempts=1)
    frontier.admit("demo", posts(1))
    lease(frontier, released(client)[0])
    eventually(lambda: frontier.tick("t").expired == 1)

    assert stats(frontier) == {"parked:hung": 1}


def test_a_refusal_at_the_gate_is_counted(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(1))
    rid = released(client)[0]
    frontier.sites.pause("demo")

    frontier.lease("demo", rid)

    assert stats(frontier) == {"refused:-4": 1}
    assert Inspector(frontier).count_requests("demo").count("attempts") == 0


def test_what_is_stored_is_counted_once_although_the_acknowledgement_is_sent_again(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("demo", posts(1))
    frontier.commit(lease(frontier, released(client)[0]), Parsed(Items("demo", posts=(Post("1", 1.0),))))
    ids = [page_id for page_id, _ in frontier.outbox.draw("me", 10).pages]

    for _ in range(2):
        frontier.outbox.ack({"demo": ids}, {"demo": {"post:new": 3}})

    assert stats(frontier)["post:new"] == 3


def test_a_process_is_alive_while_it_says_so(frontier: Frontier, client: redis.Redis) -> None:
    frontier.heartbeat("here:1", ["list", "control"])
    frontier.heartbeat("here:2", ["store"])
    client.zadd("test:alive", {"here:2": 1})
    one = take_snapshot(frontier)
    frontier.heartbeat("here:1", [])

    assert (one.workers_of("control"), one.workers_of("store")) == (1, 0)
    assert take_snapshot(frontier).processes == []


def test_a_worker_that_never_gave_a_heartbeat_has_died_once_that_is_due(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.note_birth("here:1", "a")
    frontier.note_birth("here:2", "b")
    frontier.heartbeat("here:2", ["list"], birth="b")
    frontier.heartbeat("here:3", ["list"], birth="c")
    young = take_snapshot(frontier)
    for name, at in client.zrange("test:births", 0, -1, withscores=True):
        client.zadd("test:births", {name: at - 45_000})
    old = take_snapshot(frontier)
    frontier.heartbeat("here:1", [], birth="a")

    assert (young.died, old.died, take_snapshot(frontier).died) == (0, 1, 0)
    assert old.health.process_health.starts == 3


def test_many_sites_are_counted_in_the_order_they_were_asked_for(frontier: Frontier) -> None:
    names = [f"s{number}" for number in range(450)]
    for name in names:
        frontier.sites.publish(name, "v", "{}", {"window": 1}, [])
    frontier.admit("demo", posts(2))

    all_counts = Inspector(frontier).count_all([*names, "demo"])

    assert [counts.site for counts in all_counts] == [*names, "demo"]
    assert [counts.admitted for counts in all_counts[-2:]] == [0, 2]


def test_a_quantile_lies_within_its_bucket() -> None:
    ages = Histogram(AGES_S, [0, 10, 0, 10, *[0] * 11], 0)

    assert ages.quantile(0.5) == 30
    assert ages.quantile(0.75) == 90
    assert Histogram(AGES_S, [0] * 15, 0).quantile(0.5) is None
    assert Histogram(AGES_S, [*[0] * 14, 1], 0).quantile(0.5) == 604_800


def test_a_histogram_that_began_again_is_taken_whole() -> None:
    before, after = Histogram((1,), [5, 5], 9), Histogram((1,), [1, 0], 1)

    assert after.since(before) == after
    assert before.since(after) == Histogram((1,), [4, 5], 8)


def test_the_last_pages_are_remembered_and_no_more(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=100)
    frontier.admit("demo", posts(60))
    *rids, last = released(client)
    for rid in rids:
        held = lease(frontier, rid)
        frontier.commit(held, Parsed(Items("demo", posts=(Post("1", 1.0), Post("2", 1.0)))), effort=EFFORT)
    frontier.fail(lease(frontier, last), Verdict(State.PARKED, "parse", "x"))

    pages = Inspector(frontier).recent("demo")

    assert [page.address for page in pages] == [f"http://127.0.0.1/post/{number}" for number in range(60, 40, -1)]
    assert [(page.status, page.fetch_ms, page.outcome) for page in pages[:2]] == [(0, 0, "parse"), (200, 120, "2")]
    assert client.llen("test:s:demo:recent") < 40
