"""The dedup guard: exact at any size, small in memory, forgetting only where it is told to."""

from __future__ import annotations

from collections.abc import Callable

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Request, Stage
from tests.frontier.by_hand import post, posts

MANY = 30_000


def test_the_guard_stays_exact_while_its_buckets_split(frontier: Frontier, client: redis.Redis) -> None:
    for start in range(1, MANY, 1000):
        assert frontier.admit("demo", posts(1000, start)).new == 1000
    for start in range(1, MANY, 1000):
        assert frontier.admit("demo", posts(1000, start)).known == 1000

    sizes = [client.scard(key) for key in client.scan_iter("test:s:demo:g:*", count=1000)]
    encodings = {client.object("encoding", key) for key in client.scan_iter("test:s:demo:g:*", count=1000)}
    fields = client.hgetall("test:s:demo:guard")

    assert sum(sizes) == MANY == int(fields[b"post:n"])
    assert len(sizes) == int(fields[b"post:m"]) == MANY // 200
    assert encodings == {b"intset"}


def test_a_rolling_guard_forgets_after_two_windows_and_seeing_again_prolongs_nothing(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(guard="rrr", rolling_ms=60_000)
    frontier.admit("demo", [post(1)])
    [(window_key, expires)] = [(key, client.pttl(key)) for key in client.scan_iter("test:s:demo:g:*")]
    frontier.admit("demo", [post(1)])

    assert 0 < expires <= 120_000
    assert client.pttl(window_key) <= expires

    client.delete(window_key)
    assert frontier.admit("demo", [post(1)]).new == 1


def test_a_rolling_guard_keeps_no_note_of_windows_that_are_over_or_of_another_length(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    for minutes in (3, 2, 1):
        publish(guard="rrr", rolling_ms=60_000 * minutes)
        frontier.admit("demo", [post(minutes)])

        assert list(frontier.audit.guard("demo")) == []

    assert client.hlen("test:s:demo:guard") == 2


def test_a_bloom_guard_knows_what_it_saw_and_takes_few_strangers_for_acquaintances(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(guard="bbb", guard_capacity=10_000)

    new = sum(frontier.admit("demo", posts(1000, start)).new for start in range(1, MANY, 1000))
    known = sum(frontier.admit("demo", posts(1000, start)).known for start in range(1, MANY, 1000))
    sizes = [client.strlen(key) for key in client.scan_iter("test:s:demo:g:*")]

    assert new >= MANY - 9  # 1 in 100,000 at a full filter is expected of three
    assert known == MANY
    assert len(sizes) == 3
    assert max(sizes) == 10_000 * 24 // 8


def test_a_bloom_guard_forgets_nothing_when_the_next_filter_begins(
    frontier: Frontier, publish: Callable[..., None]
) -> None:
    publish(guard="bbb", guard_capacity=1000)
    for start in range(1, 2500, 500):
        frontier.admit("demo", posts(500, start))

    again = frontier.admit("demo", posts(500, 1))

    assert (again.new, again.known) == (0, 500)


def test_without_a_guard_everything_is_new(frontier: Frontier, publish: Callable[..., None]) -> None:
    publish(guard="ooo")

    assert [frontier.admit("demo", [post(1)]).new for _ in range(3)] == [1, 1, 1]


def test_stages_and_pages_do_not_mix(frontier: Frontier) -> None:
    requests = [
        Request("demo", stage, "1", f"http://127.0.0.1/{stage}/{page}", page=page)
        for stage in Stage
        for page in (1, 2, 11)
    ]

    assert frontier.admit("demo", requests).new == 9
    assert frontier.admit("demo", requests).known == 9
