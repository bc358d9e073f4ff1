"""How live scans, posts, comments and backfill share a site's gate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.model import Request, Stage
from crawl_tasks.registry.site_publisher import terms_of
from crawl_tasks.sites.loader import parse_site
from tests.frontier.by_hand import NOTHING, TERMS, lease
from tests.frontier.small_crawl import RULES

WAITS_MS = 4000  # so old, and nobody expects it to be taken

LANES = ("list", "post", "comment", "backfill")


def request(lane: str, number: int) -> Request:
    """Write a request of a lane; backfill takes turns among the stages."""
    stage = list(Stage)[number % 3] if lane == "backfill" else Stage(lane)
    level = number // 3 % 3 if lane == "backfill" else 3 + number % 3
    return Request("demo", stage, f"{lane}{number}", f"http://127.0.0.1/{lane}/{number}", 2, priority=level)


def admit(frontier: Frontier, count: int, lanes: tuple[str, ...] = LANES) -> None:
    frontier.admit("demo", [request(lane, number) for number in range(count) for lane in lanes])


def taken(client: redis.Redis, stages: tuple[str, ...] = ("list", "post", "comment")) -> list[int]:
    """Take the messages that stand on the queues of some stages."""
    return [
        json.loads(json.loads(message)["body"])[1]["rid"]
        for stage in stages
        for message in client.rpop(stage, 1000) or ()
    ]


def lanes_of(frontier: Frontier, client: redis.Redis, count: int) -> list[str]:
    """Work on that many pages, as if each site's delay were over at once, and say of which lane each was."""
    lanes = []
    while len(lanes) < count:
        for rid in taken(client):  # before the next tick: while it stands on its queue, only the other lanes take turns
            client.hdel("test:s:demo", "next_at")
            held = lease(frontier, rid)
            lanes.append(held.request.key.rstrip("0123456789"))
            frontier.commit(held, NOTHING)
        client.hdel("test:s:demo", "next_at")
        client.zadd("test:due", {"demo": 0})
        frontier.tick("me")
    return lanes


@pytest.mark.parametrize("terms", [{"window": 1, "delay_ms": 60_000}, {"window": 1, "delay_ms": 0}])
def test_lanes_that_all_have_work_share_by_their_weights(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None], terms: dict[str, int]
) -> None:
    publish(weights="4 2 1 1", **terms)
    admit(frontier, 40)

    shares = Counter(lanes_of(frontier, client, 64))

    assert all(abs(shares[lane] - share) <= 1 for lane, share in zip(LANES, (32, 16, 8, 8), strict=True)), shares


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.integers(1, 9), min_size=4, max_size=4), st.sets(st.sampled_from(LANES), min_size=1))
def test_no_lane_that_has_work_waits_longer_than_one_round(
    frontier: Frontier, client: redis.Redis, weights: list[int], lanes: set[str]
) -> None:
    client.flushdb()
    terms = TERMS | {"window": 1, "delay_ms": 60_000, "weights": " ".join(map(str, weights))}
    frontier.sites.publish("demo", "v1", "{}", terms, [])
    admit(frontier, 40, tuple(sorted(lanes)))
    one_round = sum(weight for lane, weight in zip(LANES, weights, strict=True) if lane in lanes)

    order = lanes_of(frontier, client, min(40, 2 * one_round))

    for start in range(len(order) - one_round + 1):
        assert set(order[start : start + one_round]) == lanes


def test_what_comes_after_a_long_silence_has_saved_nothing_up(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(weights="1 1 1 1", window=1, delay_ms=60_000)
    admit(frontier, 60, ("comment",))
    lanes_of(frontier, client, 40)
    admit(frontier, 20, ("list",))

    order = lanes_of(frontier, client, 12)

    assert 5 <= Counter(order)["comment"] <= 7


def test_a_stage_that_no_worker_serves_does_not_keep_the_others_from_the_window(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(weights="100 1 1 1", window=2, delay_ms=60_000)
    admit(frontier, 10, ("list", "post"))
    done = 0

    for _ in range(8):  # its messages stand on the queue and nobody takes them
        for rid in client.zrange("test:s:demo:released:list", 0, -1):
            client.zadd("test:s:demo:released:list", {rid: frontier.clock_ms() - WAITS_MS})
        client.hdel("test:s:demo", "next_at")
        client.zadd("test:due", {"demo": 0})
        frontier.tick("me")
        for rid in taken(client, ("post",)):
            client.hdel("test:s:demo", "next_at")
            frontier.commit(lease(frontier, rid), NOTHING)
            done += 1

    assert done >= 5


def test_a_window_is_not_promised_to_more_than_it_holds(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(weights="1 1 1 1", window=6, delay_ms=0)
    admit(frontier, 10)

    leases = [frontier.lease("demo", rid) for rid in taken(client)]

    assert len(leases) == 6
    assert not any(isinstance(one, NoLease) for one in leases)


def test_weights_of_a_site_file_are_published_in_the_order_of_the_lanes() -> None:
    text = RULES.replace("gate: {", "gate: {weights: {list: 9, backfill: 3}, ")

    assert terms_of(parse_site(text, "demo.yaml"))["weights"] == "9 8 4 3"
