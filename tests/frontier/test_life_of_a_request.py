"""The ledger's verbs against a real server; every test ends with the ledger check of the fixture."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.model import Comment, Items, Lease, Parsed, Post, Request, Stage, State
from crawl_tasks.queues import QUEUES
from tests.frontier.by_hand import NOTHING, lease, post, posts, released
from tests.frontier.passing_time import at_once, end_messages
from tests.waiting import eventually


def test_admission_passes_each_request_once(frontier: Frontier) -> None:
    first = frontier.admit("demo", posts(10))
    second = frontier.admit("demo", posts(12))

    assert (first.new, first.known) == (10, 0)
    assert (second.new, second.known) == (2, 10)


def test_a_changed_revision_is_a_new_request(frontier: Frontier) -> None:
    frontier.admit("demo", [post(1, "5")])

    assert frontier.admit("demo", [post(1, "5")]).new == 0
    assert frontier.admit("demo", [post(1, "6")]).new == 1


def test_only_the_window_is_released(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(10))

    assert released(client) == [1, 2, 3, 4]
    assert Inspector(frontier).count_requests("demo").ready == 6


def test_a_commit_ends_the_request_enters_its_children_and_releases_the_next(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("demo", posts(5))
    held = lease(frontier, released(client)[0])
    items = Items("demo", posts=(Post("1", 1.5, title="你好"),), comments=(Comment("1", "9", 1.5),))
    children = (post(5), post(6))

    receipt = frontier.commit(held, Parsed(items, children))

    assert receipt is not None
    assert (receipt.new, receipt.known, receipt.released) == (1, 1, 1)
    assert released(client) == [5]
    [(_, text)] = frontier.outbox.draw("me", 10).pages
    found = read_items(text)
    assert found[:4] == items[:4]
    assert [(visit.key, visit.is_done) for visit in found.visits] == [("1", True), ("6", False)]


@pytest.fixture
def stale_and_fresh(frontier: Frontier, client: redis.Redis, publish: Callable[..., None]) -> tuple[Lease, Lease]:
    """Two leases of one request: that of a worker that was too slow, and that of the next one."""
    publish(lease_ms=30)
    frontier.admit("demo", posts(1))
    stale = lease(frontier, released(client)[0])
    eventually(lambda: frontier.tick("t").expired == 1)
    publish()
    return stale, lease(frontier, released(client)[0])


def test_second_worker_cannot_commit_with_a_stale_token(
    frontier: Frontier, stale_and_fresh: tuple[Lease, Lease]
) -> None:
    stale, fresh = stale_and_fresh

    assert frontier.commit(stale, Parsed(NOTHING.items, (post(7),))) is None
    assert frontier.commit(fresh, NOTHING) is not None
    assert Inspector(frontier).count_requests("demo").admitted == 1


def test_second_worker_cannot_bury_with_a_stale_token(frontier: Frontier, stale_and_fresh: tuple[Lease, Lease]) -> None:
    stale, fresh = stale_and_fresh

    assert not frontier.fail(stale, Verdict(State.DEAD, "status", "HTTP 418"))
    assert frontier.commit(fresh, NOTHING) is not None
    assert Inspector(frontier).count_requests("demo").dead == 0


def test_a_redis_that_lost_its_last_writes_gives_no_token_twice(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(2))
    before, again = released(client)
    first = lease(frontier, before)
    client.hdel("test:s:demo", "fence")  # as if the counter had not been saved
    eventually(lambda: frontier.clock_ms() > int(first.token))

    second = lease(frontier, again)

    assert int(second.token) > int(first.token)


def test_a_message_for_a_request_that_is_done_held_or_unknown_does_nothing(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("demo", posts(2))
    first, second = released(client)
    held = lease(frontier, first)
    frontier.commit(held, NOTHING)
    lease(frontier, second)

    assert frontier.lease("demo", first) is NoLease.UNKNOWN
    assert frontier.lease("demo", second) is NoLease.TAKEN
    assert frontier.lease("demo", 999) is NoLease.UNKNOWN
    assert frontier.lease("nowhere", 1) is NoLease.UNPUBLISHED


def test_attempts_are_counted_before_the_work_and_a_page_without_any_left_is_parked(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(lease_ms=10, max_attempts=2)
    frontier.admit("demo", posts(1))
    for attempt in (1, 2):
        assert lease(frontier, released(client)[0]).attempt == attempt
        eventually(lambda: frontier.tick("t").expired == 1)

    counts = Inspector(frontier).count_requests("demo")

    assert (counts.parked, counts.open) == (1, 0)
    [grave] = client.hvals("test:s:demo:parked")
    assert b" hung " in grave


def test_a_failed_attempt_waits_in_the_frontier_and_comes_back(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(1))
    held = lease(frontier, released(client)[0])

    assert frontier.fail(held, Verdict(State.DELAYED, "server_error", "HTTP 500", delay_ms=60))

    assert Inspector(frontier).count_requests("demo").delayed == 1
    assert released(client) == []
    eventually(lambda: frontier.tick("t") and Inspector(frontier).count_requests("demo").released == 1)
    assert lease(frontier, released(client)[0]).attempt == 2


def test_parked_and_dead_requests_can_be_revived(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(3))
    for rid, state in zip(released(client), (State.PARKED, State.DEAD, State.DEAD), strict=True):
        frontier.fail(lease(frontier, rid), Verdict(state, "parse" if rid != 3 else "robots", "why"))

    assert Admin(frontier).failed.requests.retry(Selection("demo", State.DEAD, reason="robots")) == 1
    assert Admin(frontier).failed.requests.retry(Selection("demo", State.PARKED)) == 1
    counts = Inspector(frontier).count_requests("demo")
    assert (counts.released, counts.parked, counts.dead) == (2, 0, 1)


def test_a_lost_message_is_sent_again_and_one_still_queued_is_not(frontier: Frontier, client: redis.Redis) -> None:
    def a_minute_passes(*rids: str) -> None:
        for rid in rids:
            client.zincrby("test:s:demo:released:post", -60_000, rid)
        client.zadd("test:due", {"demo": 0})

    frontier.admit("demo", posts(2))
    client.rpop("post")  # taken by a worker that died
    a_minute_passes("1")

    assert frontier.tick("t").lost == 0  # it may have been taken just now
    lease(frontier, released(client)[0])
    a_minute_passes("1")
    assert frontier.tick("t").lost == 1
    assert Inspector(frontier).count_requests("demo").count("lost") == 1
    assert released(client) == [1]


def test_a_message_that_was_taken_a_moment_ago_is_not_lost(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(1))
    client.rpop("post")

    for _ in range(3):
        client.zadd("test:due", {"demo": 0})
        assert frontier.tick("t").lost == 0

    assert client.llen("post") == 0


def test_a_higher_priority_goes_first_and_within_one_the_older(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1)
    frontier.admit("demo", [post(1), post(2, priority=3), post(3, priority=9), post(4)])
    order = []
    while rids := released(client):
        held = lease(frontier, rids[0])
        order.append(held.request.key)
        frontier.commit(held, NOTHING)

    assert order == ["3", "1", "4", "2"]


def test_lifo_takes_the_newest_first(frontier: Frontier, client: redis.Redis, publish: Callable[..., None]) -> None:
    publish(order="fifo lifo fifo", window=2)

    frontier.admit("demo", posts(5))

    assert released(client) == [5, 4]


def test_a_paused_site_leases_nothing_and_keeps_its_place(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(2))
    first, _ = released(client)
    frontier.sites.pause("demo")

    assert frontier.lease("demo", first) is NoLease.PAUSED
    assert released(client) == []

    frontier.sites.resume("demo")
    assert first in released(client)


def test_the_window_holds_at_the_lease_whatever_was_released(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=2)
    frontier.admit("demo", [post(1), Request("demo", Stage.COMMENT, "1", "http://127.0.0.1/comment/1/2", page=2)])
    [a], [b] = released(client), released(client, "comment")
    publish(window=1)
    held = lease(frontier, a)

    assert frontier.lease("demo", b) is NoLease.WINDOW_FULL
    frontier.commit(held, NOTHING)
    assert released(client, "comment") == [b]


def test_a_rate_lets_one_go_at_a_time(frontier: Frontier, client: redis.Redis, publish: Callable[..., None]) -> None:
    publish(delay_ms=80)
    frontier.admit("demo", posts(3))
    [first] = released(client)
    leased_at = lease(frontier, first).deadline_ms

    assert released(client) == []
    eventually(lambda: frontier.tick("t") and Inspector(frontier).count_requests("demo").released == 1)
    second = lease(frontier, released(client)[0])
    assert second.deadline_ms - leased_at >= 80


def test_a_child_that_asks_for_news_is_admitted_only_with_news(frontier: Frontier, client: redis.Redis) -> None:
    def page(number: int, only_if_new: bool = False) -> Request:
        return Request("demo", Stage.LIST, "b", f"http://x/list/b/{number}", page=number, only_if_new=only_if_new)

    frontier.admit("demo", [page(1), post(1)])
    frontier.commit(lease(frontier, released(client, "list")[0]), Parsed(Items("demo"), (post(1), page(2, True))))
    assert Inspector(frontier).count_requests("demo").admitted == 2

    frontier.admit("demo", [page(3)])
    frontier.commit(lease(frontier, released(client, "list")[0]), Parsed(Items("demo"), (post(2), page(4, True))))
    assert Inspector(frontier).count_requests("demo").admitted == 5


def test_the_threshold_bounds_admission(frontier: Frontier) -> None:
    admission = frontier.admit("demo", posts(10), threshold=6)

    assert (admission.new, admission.over) == (6, 4)


def test_the_tail_of_a_thread_is_given_with_its_next_lease(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", [post(1234)])
    frontier.commit(lease(frontier, released(client)[0]), Parsed(Items("demo"), tail=7))
    frontier.admit("demo", [post(1234, "new")])

    assert lease(frontier, released(client)[0]).tail == 7


def test_another_process_takes_the_floor_when_the_ticker_is_silent(frontier: Frontier) -> None:
    assert frontier.tick("one", leader_ms=60).is_leader
    assert not frontier.tick("two", leader_ms=60).is_leader

    eventually(lambda: frontier.tick("two", leader_ms=60).is_leader)


def test_items_a_dead_taker_left_are_drawn_again(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(1))
    frontier.commit(lease(frontier, released(client)[0]), Parsed(Items("demo", posts=(Post("1", 1.0),))))
    [(page_id, _)] = frontier.outbox.draw("dead", 10).pages

    assert frontier.outbox.draw("living", 10).pages == []
    [(again, _)] = frontier.outbox.draw("living", 10, takeover_ms=0).pages

    assert again == page_id
    assert frontier.outbox.ack({"demo": [page_id]}).untaken == 0


def test_dropped_items_are_counted_by_reason_with_the_commit_and_only_then(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("demo", posts(2))
    first, second = (lease(frontier, rid) for rid in released(client))
    page = Parsed(Items("demo"), dropped=(("advert", 2), ("without_body", 1)))
    frontier.commit(first, page)
    frontier.commit(first, page)
    frontier.commit(second, page)

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.count("dropped:advert"), counts.count("dropped:without_body")) == (4, 2)


def test_a_site_counts_a_hundred_reasons_and_the_rest_as_other(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(2))
    first, second = (lease(frontier, rid) for rid in released(client))
    frontier.commit(first, Parsed(Items("demo"), dropped=tuple((f"r{n}", 1) for n in range(150))))
    frontier.commit(second, Parsed(Items("demo"), dropped=(("r0", 1), ("new", 3))))

    fields = Inspector(frontier).count_requests("demo").fields
    assert len([name for name in fields if name.startswith("dropped:")]) == 101
    assert (fields["dropped:other"], fields["dropped:r0"]) == ("53", "2")


def test_pages_for_the_browser_have_a_queue_of_their_own(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(rendered="no yes no")
    frontier.admit("demo", [*posts(2), Request("demo", Stage.COMMENT, "1", "http://127.0.0.1/comment/1/2", page=2)])

    [first, second] = client.lrange("render", 0, -1)
    assert (client.llen("post"), client.llen("comment")) == (0, 1)
    assert client.exists("test:wake:render")
    # A worker that gives a message back puts it where the routing key says.
    assert {json.loads(one)["properties"]["delivery_info"]["routing_key"] for one in (first, second)} == {"render"}


def test_a_lost_message_of_the_browsers_queue_is_sent_again_there(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(rendered="no yes no")
    frontier.admit("demo", [post(1)])
    released(client, "render")

    lost = 0
    for _ in range(2):
        end_messages(client, "test:s:demo")
        at_once(client, "test:due")
        lost += frontier.tick("t").lost

    assert lost == 1
    assert released(client, "render") == [1]
    assert client.llen("post") == 0


def test_a_page_that_waits_when_the_file_begins_to_ask_for_a_browser_goes_to_its_queue(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    frontier.admit("demo", posts(5))
    publish(rendered="no yes no")

    held = lease(frontier, released(client)[0])
    frontier.commit(held, NOTHING)

    assert released(client, "render") == [5]


def test_the_browsers_queue_is_watched_only_where_something_uses_it(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    def watched() -> bool:
        return "render" in Inspector(frontier).health(QUEUES).queues

    assert not watched()
    publish(rendered="no yes no")
    frontier.admit("demo", posts(1))
    assert watched()
    client.delete("render")
    assert not watched()
    frontier.heartbeat("here:1", ["render"])
    assert watched()
