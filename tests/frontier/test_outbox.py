"""The outbox calls the store, and is bounded: what cannot be stored is not fetched."""

from __future__ import annotations

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.model import Items, Lease, Parsed, Stage
from tests.frontier.by_hand import NOTHING, lease, post, posts

MOST = 2


def released(client: redis.Redis) -> list[int]:
    return [int(rid) for rid in client.zrange(f"test:s:demo:released:{Stage.POST.value}", 0, -1)]


def test_while_the_store_is_behind_nothing_is_leased_or_released(frontier: Frontier, client: redis.Redis) -> None:
    bounded = Frontier(client, "test", outbox_max=MOST)
    bounded.admit("demo", posts(10))
    leases = [bounded.lease("demo", rid) for rid in released(client)[:MOST]]
    for held in leases:
        assert isinstance(held, Lease)
        bounded.commit(held, Parsed(Items("demo")))
    waiting = released(client)

    refusals = {bounded.lease("demo", rid) for rid in waiting}

    assert refusals == {NoLease.STORE_BEHIND}
    assert released(client) == []
    assert bounded.tick("me").is_leader
    assert released(client) == []

    bounded.outbox.ack({"demo": [page_id for page_id, _ in bounded.outbox.draw("me", 10).pages]})
    bounded.admit("demo", [])  # any verb that releases

    assert len(released(client)) == 4


def test_the_store_is_called_once_when_enough_pages_wait_and_by_a_tick_for_the_rest(
    frontier: Frontier, client: redis.Redis
) -> None:
    calling = Frontier(client, "test", store_at=2)
    calling.admit("demo", posts(4))
    calls = []

    for rid in released(client):
        calling.commit(lease(calling, rid), NOTHING)
        calls.append(client.llen("store"))
    client.delete("store")  # a store worker has come, and left something
    soon = calling.tick("me")
    calls.append(client.llen("store"))
    client.hdel("test:stats", "store_called_at")  # that it was called is long ago
    calling.tick("me")
    calls.append(client.llen("store"))

    assert calls == [0, 1, 1, 1, 0, 1]
    assert soon.wait_ms <= 500


def test_pages_in_the_hands_of_a_store_worker_are_no_reason_to_call_it_again(
    frontier: Frontier, client: redis.Redis
) -> None:
    calling = Frontier(client, "test", store_at=2)
    calling.admit("demo", posts(4))
    taken: list[list[bytes]] = []
    calls = []

    for rid in released(client):
        calling.commit(lease(calling, rid), NOTHING)
        if client.delete("store"):
            taken.append([page_id for page_id, _ in calling.outbox.draw(f"worker {len(taken)}", 2).pages])
        calls.append(len(taken))

    assert calls == [0, 1, 1, 2]
    assert [calling.outbox.ack({"demo": pages}).untaken for pages in taken] == [0, 0]


def test_pages_that_another_store_worker_took_over_are_counted_as_stored_once(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("demo", posts(4))
    for rid in released(client):
        frontier.commit(lease(frontier, rid), NOTHING)
    slow = [page for page, _ in frontier.outbox.draw("slow", 2).pages]
    quick = [page for page, _ in frontier.outbox.draw("quick", 4, takeover_ms=0).pages]

    frontier.outbox.ack({"demo": slow})
    frontier.outbox.ack({"demo": quick})

    assert (len(quick), Inspector(frontier).count_requests("demo").count("stored")) == (4, 4)


def test_store_workers_that_come_and_go_leave_nothing_in_an_empty_outbox(
    frontier: Frontier, client: redis.Redis
) -> None:
    for number in (1, 2):
        frontier.admit("demo", [post(number)])
        frontier.commit(lease(frontier, released(client)[0]), NOTHING)
        drawn = frontier.outbox.draw(f"worker {number}", 10).pages
        frontier.outbox.ack({"demo": [page for page, _ in drawn]})

    assert (len(drawn), client.exists("test:outbox")) == (1, 0)


def test_pages_that_came_since_redis_clock_was_set_back_are_not_waited_for(
    frontier: Frontier, client: redis.Redis
) -> None:
    client.xadd("test:outbox", {"items": "of before"}, id="9999999999999-0")
    waiting = frontier.outbox.span()
    assert frontier.outbox.has_within(waiting)

    client.delete("test:outbox")  # as when all is stored
    client.xadd("test:outbox", {"items": "of now"}, id="1700000000000-0")

    assert not frontier.outbox.has_within(waiting)
    client.delete("test:outbox")
