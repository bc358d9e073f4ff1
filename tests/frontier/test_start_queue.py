"""Start entries of other programs: claimed, read and settled; none is lost, none is admitted twice."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import redis

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import FailedKind
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.start_queue import StartResult
from crawl_tasks.model import Lease
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.report import snapshot_row
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.schedule import start_entries
from crawl_tasks.schedule.start_entries import StartEntries
from crawl_tasks.schedule.start_requests import StartRequests
from crawl_tasks.schedule.ticker import Ticker
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.site_json import dump_site
from crawl_tasks.web.exposition import Writer
from crawl_tasks.web.metrics import FAMILIES
from crawl_tasks.worker.idle_exit import IdleExit
from tests.frontier.by_hand import TERMS, post, posts
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
def inbox(frontier: Frontier) -> StartRequests:
    published(frontier)
    return StartRequests(frontier, "test:start")


def entries(count: int, start: int = 1, site: str = "demo") -> list[str]:
    return [json.dumps({"site": site, "post": number}) for number in range(start, start + count)]


def refused(client: redis.Redis) -> list[str]:
    return [text.decode() for text in client.lrange("test:refused", 0, -1)]


@pytest.mark.parametrize(("kind", "order"), [("list", "abcd"), ("sorted set", "dcba")])
def test_a_list_gives_its_oldest_entries_first_and_a_sorted_set_its_highest_scores(
    frontier: Frontier, client: redis.Redis, kind: str, order: str
) -> None:
    PUSHES[kind](client, "test:start", list("abcd"))

    claims = [frontier.start_queue.claim("test:start", "", 3), frontier.start_queue.claim("test:start", "", 3)]

    assert [claim.entry.decode() for some in claims for claim in some] == list(order)


@pytest.mark.parametrize("kind", PUSHES)
@pytest.mark.parametrize("key", ["test:start", "test:start:demo"])
def test_entries_of_any_kind_of_key_are_admitted_once(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis, kind: str, key: str
) -> None:
    published(frontier, max_backlog=5000)
    PUSHES[kind](client, key, entries(700))
    PUSHES[kind](client, key, entries(700))
    inbox.drain()

    assert Inspector(frontier).count_requests("demo").admitted == 700
    assert client.exists(key, "test:claims", "test:claimed") == 0


@pytest.mark.parametrize("kind", PUSHES)
@pytest.mark.parametrize("key", ["test:start", "test:start:demo"])
def test_a_site_takes_no_more_than_its_threshold_and_the_rest_waits(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis, kind: str, key: str
) -> None:
    published(frontier, max_backlog=10)
    frontier.admit("demo", posts(4, start=1000))
    PUSHES[kind](client, key, entries(30))

    for _ in range(3):
        inbox.drain()

    assert Inspector(frontier).count_requests("demo").open == 10
    published(frontier, max_backlog=1000)
    inbox.drain()
    assert Inspector(frontier).count_requests("demo").open == 34


def test_a_full_site_does_not_hold_up_the_others_of_the_common_key(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    published(frontier, max_backlog=1)
    published(frontier, "other")
    client.rpush("test:start", *entries(5), *entries(5, site="other"))
    inbox.drain()

    assert [Inspector(frontier).count_requests(name).open for name in ("demo", "other")] == [1, 5]
    assert [json.loads(entry)["post"] for entry in client.lrange("test:start:demo", 0, -1)] == [2, 3, 4, 5]


def test_a_paused_site_takes_nothing_from_its_key(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    frontier.sites.pause("demo")
    client.rpush("test:start:demo", *entries(5))

    assert inbox.drain() == 0
    assert client.llen("test:start:demo") == 5


def test_what_a_dead_process_had_in_hand_is_given_out_again_and_settled_once(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    client.rpush("test:start", *entries(3))
    lost = frontier.start_queue.claim("test:start", "", 10)
    assert inbox.drain() == 0

    client.zadd("test:claims", {str(claim.id): 0 for claim in lost})
    assert inbox.drain() == 3

    late = frontier.start_queue.settle([StartEntries(frontier, inbox.key_of).judge(claim, "start1") for claim in lost])
    assert (late.new, late.known) == (0, 0)
    assert Inspector(frontier).count_requests("demo").admitted == 3


def test_bad_entries_are_kept_aside_with_their_reason_and_the_others_go_on(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    client.rpush(
        "test:start", "{", *entries(1), '{"post": 5}', *entries(1, site="nobody"), "x" * 70_000, *entries(1, 2)
    )
    inbox.drain()

    assert Inspector(frontier).count_requests("demo").admitted == 2
    assert sorted(text.split("\n")[0].split(":")[1].strip() for text in refused(client)) == [
        "70000 bytes are too many for an entry",
        "names no site, nor does its key",
        "not JSON",
        "site 'nobody' is not published",
    ]
    assert client.hget("test:starts", "refused") == b"4"


def test_those_who_watch_see_what_became_of_entries(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    client.rpush("test:start", *entries(3), *entries(2), "{")
    inbox.drain()
    client.rpush("test:start", *entries(4, start=50))
    frontier.start_queue.claim("test:start", "", 10)

    snapshot = take_snapshot(frontier)
    text = Writer(FAMILIES).write(snapshot)

    assert dict(snapshot.starts) == {"new": 3, "known": 2, "refused": 1}
    assert snapshot_row(snapshot)["start_entries"] == {"in_hand": 4, **snapshot.starts}
    assert 'crawl_start_entries_total{outcome="known"} 2\n' in text
    assert "crawl_start_entries_in_hand 4\n" in text


def test_no_more_than_a_thousand_refused_entries_are_kept(inbox: StartRequests, client: redis.Redis) -> None:
    client.rpush("test:start", *(f"nonsense {n}" for n in range(1200)))
    inbox.drain()

    assert client.llen("test:refused") == 1000


def test_a_key_of_another_kind_is_left_alone(inbox: StartRequests, client: redis.Redis) -> None:
    client.set("test:start", "a string")

    assert inbox.drain() == 0
    assert client.get("test:start") == b"a string"


def test_the_same_board_is_scanned_once_a_minute_however_often_it_is_asked_for(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    client.rpush("test:start:demo", *['{"board": 1}'] * 10_000)
    inbox.drain()

    assert Inspector(frontier).count_requests("demo").admitted in (1, 2)  # 2 when the minute turned


def test_the_name_of_the_key_may_be_that_of_another_crawler(frontier: Frontier, client: redis.Redis) -> None:
    published(frontier)
    client.lpush("demo:start_urls", "https://forum.example/post/1")
    StartRequests(frontier, "{site}:start_urls").drain()

    assert Inspector(frontier).count_requests("demo").admitted == 1


def test_a_worker_drains_without_beat(inbox: StartRequests, frontier: Frontier, client: redis.Redis) -> None:
    client.rpush("test:start", *entries(2))
    Ticker(frontier, inbox).once()

    assert Inspector(frontier).count_requests("demo").admitted == 2


def with_function(frontier: Frontier, name: str, site: str = "demo") -> None:
    text = GOOD.replace("name: forum", f"name: {site}") + f"start_request: tests.unit.start_functions:{name}\n"
    parsed = parse_site(text, "f.yaml")
    frontier.sites.publish(site, parsed.version, dump_site(parsed), TERMS, [])


def test_a_function_of_ones_own_makes_requests_of_any_payload(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    with_function(frontier, "two_posts")
    for _ in range(2):
        client.rpush("test:start:demo", "41+42")
        inbox.drain()

    assert Inspector(frontier).count_requests("demo").admitted == 4
    assert client.exists("test:claims", "test:claimed", "test:refused") == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "KeyError: '41+42'"),
        ("hangs", "did not end within 0.05 s"),
        ("makes_nothing", "must return one entry or 1 to 100 of them, each a dict"),
        ("makes_too_many", "must return one entry or 1 to 100 of them, each a dict"),
    ],
)
def test_a_function_that_fails_refuses_its_entry_and_harms_no_other_site(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setattr(start_entries, "DEADLINE_S", 0.05)
    with_function(frontier, name)
    published(frontier, "other")
    client.rpush("test:start:demo", *["41+42"] * 5)
    client.rpush("test:start:other", '{"post": 7}')

    inbox.drain()

    assert Inspector(frontier).count_requests("demo").admitted == 0
    assert Inspector(frontier).count_requests("other").admitted == 1
    assert len(refused(client)) == 5
    assert said in refused(client)[-1]
    assert ("hangs in 3 calls here" in refused(client)[0]) == (name == "hangs")


def test_an_entry_with_an_unknown_key_is_refused_and_kept(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    entry = '{"post": 1, "prioritty": 9}'
    client.rpush("test:start:demo", entry)

    inbox.drain()

    [text] = refused(client)
    assert text.startswith("start: unknown 'prioritty'; known are board, dont_filter,")
    assert text.endswith(entry)


def test_dont_filter_pages_and_meta_reach_the_request(
    inbox: StartRequests, frontier: Frontier, client: redis.Redis
) -> None:
    sent = {"forum_id": 1, "max_page": 2, "meta": {"job": "a b"}, "dont_filter": True}
    client.rpush("test:start:demo", json.dumps(sent), json.dumps(sent))
    inbox.drain()

    held = frontier.lease("demo", 1)

    assert isinstance(held, Lease)
    assert (held.request.reach.pages, held.request.meta) == (2, {"job": "a b"})
    assert Inspector(frontier).count_requests("demo").admitted == 2


def test_a_batch_is_as_large_as_it_is_set(frontier: Frontier, client: redis.Redis) -> None:
    published(frontier)
    client.rpush("test:start:demo", *entries(400))

    assert StartRequests(frontier, "test:start", lambda: 0.0, batch=3).drain() == 300  # 100 batches of one key in a row


def test_workers_that_read_different_start_keys_are_named(frontier: Frontier) -> None:
    frontier.heartbeat("here:1", ["list"], "crawl:start")
    frontier.heartbeat("here:2", ["post"], "crawl:start")
    frontier.heartbeat("here:3", ["store"])

    def said() -> list[str]:
        return [one.text for one in find_problems(take_snapshot(frontier)) if one.name == "CrawlStartKeysDiffer"]

    assert said() == []
    frontier.heartbeat("here:2", ["post"], "{site}:start_urls")
    assert "different keys (crawl:start, {site}:start_urls)" in said()[0]
    frontier.heartbeat("here:2", [])
    assert said() == []


def test_a_worker_is_idle_when_it_had_no_page_and_nothing_is_open(frontier: Frontier) -> None:
    now = [0.0]
    idle = IdleExit(frontier, 30, clock=lambda: now[0])
    now[0] = 29.9
    assert not idle.is_idle()
    now[0] = 30
    assert idle.is_idle()

    frontier.admit("demo", posts(1))
    assert not idle.is_idle()
    frontier.sites.pause("demo")
    assert idle.is_idle()
    idle.note()
    assert not idle.is_idle()


@pytest.mark.parametrize("kind", ["list", "set", "zset"])
def test_a_start_key_keeps_its_type_when_entries_come_back_to_it(
    kind: str, frontier: Frontier, client: redis.Redis
) -> None:
    key = "test:start:demo"
    match kind:
        case "list":
            client.rpush(key, "a")
        case "set":
            client.sadd(key, "a")
        case _:
            client.zadd(key, {"a": 7.5})
    [claim] = frontier.start_queue.claim(key, "demo", 5)
    assert not client.exists(key)
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"max_backlog": 10}, [])
    frontier.admit("demo", posts(200, start=100))

    settled = frontier.start_queue.settle([StartResult(claim, [post(1)], waits_in=key)])

    assert settled.waiting == 1
    assert client.type(key) == kind.encode()
    if kind == "zset":
        assert client.zscore(key, "a") == 7.5
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    [claim] = frontier.start_queue.claim(key, "demo", 5)
    frontier.start_queue.settle([StartResult(claim, (), reason="why", waits_in=key)])
    assert not client.exists(key)
    Admin(frontier).failed.of(FailedKind.START, key).retry()
    assert client.type(key) == kind.encode()


def test_entries_stay_rejected_where_nothing_can_wait(frontier: Frontier, client: redis.Redis) -> None:
    published(frontier)
    client.rpush("test:start", "no JSON")
    StartRequests(frontier, "test:start").drain()
    client.set("test:start", "of another program")

    with pytest.raises(BackendError, match="test:start is a string, where nothing can wait"):
        Admin(frontier).failed.of(FailedKind.START, "test:start").retry()

    assert len(refused(client)) == 1
    client.delete("test:start")
    assert Admin(frontier).failed.of(FailedKind.START, "test:start").retry() == 1
    assert (client.lrange("test:start", 0, -1), refused(client)) == ([b"no JSON"], [])
