"""Start entries of other programs: claimed, read and settled; none is lost, none is admitted twice."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.report import snapshot_row
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.schedule.entries import Entries
from crawl_tasks.schedule.inbox import Inbox
from crawl_tasks.schedule.pacer import Pacer
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.published import dump_site
from crawl_tasks.web.families import exposition
from crawl_tasks.web.metrics import FAMILIES
from tests.frontier.by_hand import TERMS, posts
from tests.unit.good_site import GOOD

Push = Callable[[redis.Redis, str, list[str]], object]
PUSHES: dict[str, Push] = {
    "list": lambda client, key, entries: client.rpush(key, *entries),
    "set": lambda client, key, entries: client.sadd(key, *entries),
    "sorted set": lambda client, key, entries: client.zadd(key, {entry: place for place, entry in enumerate(entries)}),
}


def published(frontier: Frontier, name: str = "demo", **terms: int) -> None:
    site = parse_site(GOOD.replace("name: forum", f"name: {name}"), "f.yaml")
    frontier.sites.publish(name, site.version, dump_site(site), TERMS | terms, [])


@pytest.fixture
def inbox(frontier: Frontier) -> Inbox:
    published(frontier)
    return Inbox(frontier, "test:start")


def entries(count: int, start: int = 1, site: str = "demo") -> list[str]:
    return [json.dumps({"site": site, "post": number}) for number in range(start, start + count)]


def refused(client: redis.Redis) -> list[str]:
    return [text.decode() for text in client.lrange("test:refused", 0, -1)]


@pytest.mark.parametrize("kind", PUSHES)
@pytest.mark.parametrize("key", ["test:start", "test:start:demo"])
def test_entries_of_any_kind_of_key_are_admitted_once(
    inbox: Inbox, frontier: Frontier, client: redis.Redis, kind: str, key: str
) -> None:
    published(frontier, max_backlog=5000)
    PUSHES[kind](client, key, entries(700))
    PUSHES[kind](client, key, entries(700))
    inbox.drain()

    assert frontier.census("demo").admitted == 700
    assert client.exists(key, "test:claims", "test:claimed") == 0


@pytest.mark.parametrize("kind", PUSHES)
@pytest.mark.parametrize("key", ["test:start", "test:start:demo"])
def test_a_site_takes_no_more_than_its_threshold_and_the_rest_waits(
    inbox: Inbox, frontier: Frontier, client: redis.Redis, kind: str, key: str
) -> None:
    published(frontier, max_backlog=10)
    frontier.admit("demo", posts(4, start=1000))
    PUSHES[kind](client, key, entries(30))

    for _ in range(3):
        inbox.drain()

    assert frontier.census("demo").open == 10
    published(frontier, max_backlog=1000)
    inbox.drain()
    assert frontier.census("demo").open == 34


def test_a_full_site_does_not_hold_up_the_others_of_the_common_key(
    inbox: Inbox, frontier: Frontier, client: redis.Redis
) -> None:
    published(frontier, max_backlog=1)
    published(frontier, "other")
    client.rpush("test:start", *entries(5), *entries(5, site="other"))
    inbox.drain()

    assert [frontier.census(name).open for name in ("demo", "other")] == [1, 5]
    assert [json.loads(entry)["post"] for entry in client.lrange("test:start:demo", 0, -1)] == [2, 3, 4, 5]


def test_a_paused_site_takes_nothing_from_its_key(inbox: Inbox, frontier: Frontier, client: redis.Redis) -> None:
    frontier.sites.pause("demo")
    client.rpush("test:start:demo", *entries(5))

    assert inbox.drain() == 0
    assert client.llen("test:start:demo") == 5


def test_what_a_dead_process_had_in_hand_is_given_out_again_and_settled_once(
    inbox: Inbox, frontier: Frontier, client: redis.Redis
) -> None:
    client.rpush("test:start", *entries(3))
    lost = frontier.starts.claim("test:start", "", 10)
    assert inbox.drain() == 0

    client.zadd("test:claims", {str(claim.id): 0 for claim in lost})
    assert inbox.drain() == 3

    late = frontier.starts.settle([Entries(frontier, inbox.key_of).judge(claim, "start1") for claim in lost])
    assert (late.new, late.known) == (0, 0)
    assert frontier.census("demo").admitted == 3


def test_bad_entries_are_kept_aside_with_their_reason_and_the_others_go_on(
    inbox: Inbox, frontier: Frontier, client: redis.Redis
) -> None:
    client.rpush(
        "test:start", "{", *entries(1), '{"post": 5}', *entries(1, site="nobody"), "x" * 70_000, *entries(1, 2)
    )
    inbox.drain()

    assert frontier.census("demo").admitted == 2
    assert sorted(text.split("\n")[0].split(":")[1].strip() for text in refused(client)) == [
        "70000 bytes are too many for an entry",
        "names no site, nor does its key",
        "not JSON",
        "site 'nobody' is not published",
    ]
    assert client.hget("test:starts", "refused") == b"4"


def test_those_who_watch_see_what_became_of_entries(inbox: Inbox, frontier: Frontier, client: redis.Redis) -> None:
    client.rpush("test:start", *entries(3), *entries(2), "{")
    inbox.drain()
    client.rpush("test:start", *entries(4, start=50))
    frontier.starts.claim("test:start", "", 10)

    snapshot = take_snapshot(frontier)
    text = exposition(FAMILIES, snapshot)

    assert dict(snapshot.starts) == {"new": 3, "known": 2, "refused": 1}
    assert snapshot_row(snapshot)["start_entries"] == {"in_hand": 4, **snapshot.starts}
    assert 'crawl_start_entries_total{outcome="known"} 2\n' in text
    assert "crawl_start_entries_in_hand 4\n" in text


def test_no_more_than_a_thousand_refused_entries_are_kept(inbox: Inbox, client: redis.Redis) -> None:
    client.rpush("test:start", *(f"nonsense {n}" for n in range(1200)))
    inbox.drain()

    assert client.llen("test:refused") == 1000


def test_a_key_of_another_kind_is_left_alone(inbox: Inbox, client: redis.Redis) -> None:
    client.set("test:start", "a string")

    assert inbox.drain() == 0
    assert client.get("test:start") == b"a string"


def test_the_same_board_is_scanned_once_a_minute_however_often_it_is_asked_for(
    inbox: Inbox, frontier: Frontier, client: redis.Redis
) -> None:
    client.rpush("test:start:demo", *['{"board": 1}'] * 10_000)
    inbox.drain()

    assert frontier.census("demo").admitted in (1, 2)  # 2 when the minute turned


def test_the_name_of_the_key_may_be_that_of_another_crawler(frontier: Frontier, client: redis.Redis) -> None:
    published(frontier)
    client.lpush("demo:start_urls", "https://forum.example/post/1")
    Inbox(frontier, "{site}:start_urls").drain()

    assert frontier.census("demo").admitted == 1


def test_a_worker_drains_without_beat(inbox: Inbox, frontier: Frontier, client: redis.Redis) -> None:
    client.rpush("test:start", *entries(2))
    Pacer(frontier, inbox).once()

    assert frontier.census("demo").admitted == 2
