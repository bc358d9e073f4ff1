"""Alerts of a real ledger: each holds for as long as its cause lasts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.errors import ArchiveFailed
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.reads import Process
from crawl_tasks.frontier.retry import RetryPolicy, Verdict, judge
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, Lease, Parsed, State
from crawl_tasks.monitor.marks import Marks
from crawl_tasks.monitor.problems.installation_kinds import STORE_LATE_S
from crawl_tasks.monitor.problems.registry import ALERTS, find_problems
from crawl_tasks.monitor.snapshot import Snapshot, take_snapshot
from crawl_tasks.queues import QUEUES
from tests.frontier.by_hand import TERMS, board, posts, released
from tests.waiting import eventually

SILENT = {"CrawlNoWorker", "CrawlBeatSilent"}


def alerts(snapshot: Snapshot) -> set[str]:
    """Name the alerts beside those of processes that a test does not start."""
    return {problem.name for problem in find_problems(snapshot, ALERTS)} - SILENT


def later(snapshot: Snapshot, seconds: float) -> Snapshot:
    """Return a snapshot as if time had passed, with a worker that lives on."""
    at_ms = snapshot.at_ms + round(seconds * 1000)
    return replace(snapshot, health=replace(snapshot.health, at_ms=at_ms, processes=(Process("a", QUEUES, at_ms),)))


def test_a_store_that_fails_is_told_with_a_small_outbox_and_until_all_is_stored(client: redis.Redis) -> None:
    frontier = Frontier(client, "test", outbox_max=3)
    frontier.heartbeat("here:1", QUEUES)
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    frontier.admit("demo", posts(5))
    for rid in released(client)[:3]:
        lease = frontier.lease("demo", rid)
        assert isinstance(lease, Lease)
        frontier.commit(lease, Parsed(Items("demo")))
    frontier.outbox.draw("a store worker that cannot write", 10)
    during = take_snapshot(frontier)

    assert alerts(during) == {"CrawlOutboxFull"}
    for seconds in (STORE_LATE_S + 1, 3600, 86_400):
        assert alerts(later(during, seconds)) == {"CrawlStoreFails"}  # it is why the outbox is full

    drawn = frontier.outbox.draw("another", 10, takeover_ms=0).pages
    frontier.outbox.ack({"demo": [page for page, _ in drawn]})
    assert alerts(take_snapshot(frontier)) == set()


def in_window(frontier: Frontier, before: Marks) -> set[str]:
    return {problem.name for problem in find_problems(replace(take_snapshot(frontier), before=before), ALERTS)} - SILENT


@pytest.mark.parametrize("end", ["a page comes", "paused", "drained"])
def test_a_site_that_is_down_is_told_though_it_is_asked_once_a_day(client: redis.Redis, end: str) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [board("1")])
    frontier.admit("demo", posts(5))
    for rid in released(client)[:3]:
        held = frontier.lease("demo", rid)
        assert isinstance(held, Lease)
        frontier.fail(held, Verdict(State.DEAD, "unreachable", "refused"))
    quiet = take_snapshot(frontier).marks()

    assert in_window(frontier, quiet) == {"CrawlGivenUp"}  # three failures within a second are an accident

    client.hset("test:s:demo", "failing", f"{frontier.clock_ms() - 61_000} unreachable")
    assert in_window(frontier, quiet) == {"CrawlNoPages", "CrawlGivenUp"}
    assert alerts(take_snapshot(frontier)) == {"CrawlNoPages", "CrawlGivenUp"}

    held = frontier.lease("demo", 4)
    assert isinstance(held, Lease)
    if end == "a page comes":
        frontier.commit(held, Parsed(Items("demo")))
    elif end == "paused":
        frontier.sites.pause("demo")
    else:
        frontier.sites.drain("demo")
        frontier.fail(held, Verdict(State.DEAD, "unreachable", "refused"))
        last = frontier.lease("demo", 5)
        assert isinstance(last, Lease)
        frontier.fail(last, Verdict(State.DEAD, "unreachable", "refused"))
    assert in_window(frontier, take_snapshot(frontier).marks()) <= {"CrawlNoProgress", "CrawlGivenUp"}


def test_an_archive_without_room_is_told_from_the_first_attempts_until_a_page_comes(client: redis.Redis) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [board("1")])
    frontier.admit("demo", posts(4))
    [*without_room, last] = released(client)
    for rid in without_room:
        held = frontier.lease("demo", rid)
        assert isinstance(held, Lease)
        frontier.fail(held, judge(ArchiveFailed("its disk is full"), 1, RetryPolicy(3, 1.0, 2.0), 0.0))

    assert alerts(take_snapshot(frontier)) == {"CrawlArchiveFails"}

    held = frontier.lease("demo", last)
    assert isinstance(held, Lease)
    frontier.commit(held, Parsed(Items("demo")))
    assert alerts(take_snapshot(frontier)) == set()


def test_a_board_whose_page_is_parked_is_told_for_as_long_as_that_lasts_and_not_as_one_that_is_late(
    client: redis.Redis,
) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [board("1")])
    frontier.produce()
    [rid] = released(client, "list")
    held = frontier.lease("demo", rid)
    assert isinstance(held, Lease)
    frontier.fail(held, Verdict(State.PARKED, "crashed", "a bug"))

    for since_ms in (61_000, 3_600_000, 86_400_000):
        client.zadd("test:s:demo:overdue", {"1": frontier.clock_ms() - since_ms})
        assert alerts(take_snapshot(frontier)) == {"CrawlBoardsUnwatched"}
    frontier.sites.drain("demo")
    assert alerts(take_snapshot(frontier)) == {"CrawlBoardsUnwatched"}


@pytest.fixture
def replica(tmp_path: Path, client: redis.Redis) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "replica")
    server.start()
    yield server
    server.stop()


def test_a_redis_that_refuses_writes_is_told_with_its_reason(client: redis.Redis, replica: RedisServer) -> None:
    client.config_set("maxmemory", 1)
    full = take_snapshot(Frontier(client, "test"))
    client.config_set("maxmemory", 0)
    well = take_snapshot(Frontier(client, "test"))
    with redis.Redis.from_url(replica.url) as other:
        master = client.connection_pool.connection_kwargs
        other.replicaof(master["host"], master["port"])
        eventually(lambda: take_snapshot(Frontier(other, "test")).health.refusal)
        copy = take_snapshot(Frontier(other, "test"))

    assert (full.health.refusal, well.health.refusal) == ("its memory is full (maxmemory)", "")
    assert copy.health.refusal == "it is a read-only replica"
    assert "CrawlRedisRefuses" in alerts(full) & alerts(copy)
    assert "CrawlRedisRefuses" not in alerts(well)
