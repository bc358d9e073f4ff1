"""Redis' memory is nearly full, or full: nothing new begins, what is open goes on as far as it can, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Items, Lease, Parsed, Stage
from tests.frontier.by_hand import post, posts
from tests.frontier.small_crawl import SmallCrawl

FillTo = Callable[[float], None]


@pytest.fixture
def fill_to(client: redis.Redis) -> Iterator[FillTo]:
    def share(of: float) -> None:
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] / of))

    yield share
    client.config_set("maxmemory", 0)


def released(client: redis.Redis) -> list[int]:
    return [int(rid) for rid in client.zrange(f"test:s:demo:released:{Stage.POST.value}", 0, -1)]


def test_scans_wait_until_there_is_memory_again(crawl: SmallCrawl, client: redis.Redis, fill_to: FillTo) -> None:
    crawl.publish()
    fill_to(0.9)
    assert crawl.frontier.produce() == (0, 1, 0)

    client.config_set("maxmemory", 0)
    client.zadd("test:boards", {"demo 1": 0})

    assert crawl.frontier.produce() == (1, 0, 0)


def test_start_entries_wait_until_there_is_memory_again(
    frontier: Frontier, client: redis.Redis, fill_to: FillTo
) -> None:
    client.rpush("test:start", "{}")
    fill_to(0.9)

    assert frontier.start_queue.claim("test:start", "", 10) == []
    assert client.llen("test:start") == 1


def test_when_nothing_can_be_written_what_is_leased_ends_and_is_stored(
    frontier: Frontier, client: redis.Redis, fill_to: FillTo
) -> None:
    frontier.admit("demo", posts(10))
    first, second, *_ = released(client)
    lease = frontier.lease("demo", first)
    assert isinstance(lease, Lease)
    fill_to(2)

    with pytest.raises(BackendError, match="maxmemory"):
        frontier.lease("demo", second)
    with pytest.raises(BackendError, match="maxmemory"):
        frontier.admit("demo", [post(99)])
    assert frontier.commit(lease, Parsed(Items("demo"), children=(post(50)._replace(key="50"),))) is not None
    assert frontier.tick("me").is_leader

    [(page, _)] = frontier.outbox.draw("me", 10).pages
    assert frontier.outbox.ack({"demo": [page]}).untaken == 0
    counts = Inspector(frontier).count_requests("demo")
    assert (counts.done, counts.leased, counts.admitted) == (1, 0, 11)


def test_a_tick_goes_on_where_somebody_deleted_entries(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(3))
    assert isinstance(frontier.lease("demo", released(client)[0]), Lease)
    client.zadd("test:s:demo:leased", dict.fromkeys(client.zrange("test:s:demo:leased", 0, -1), 1))
    for rid in released(client):
        client.zadd("test:s:demo:released:post", {rid: 1.5})
    client.delete("test:s:demo:open", "post")
    client.zadd("test:due", {"demo": 1})

    assert frontier.tick("me").is_leader

    assert released(client) == []
    client.hset("test:s:demo", "admitted", 0)  # they are lost, and the ledger would say so


def test_a_redis_that_lost_its_last_writes_gives_no_token_twice(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(2))
    rid = released(client)[0]
    before = {key: client.dump(key) or b"" for key in client.scan_iter("test:*")}
    first = frontier.lease("demo", rid)

    for key in client.scan_iter("test:*"):
        client.delete(key)
    for key, content in before.items():
        client.restore(key, 0, content)
    second = frontier.lease("demo", rid)

    assert isinstance(first, Lease)
    assert isinstance(second, Lease)
    assert second.token > first.token
