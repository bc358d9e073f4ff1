"""Publication of a site: at one instant for all readers, in short calls, and ended by a tick where it broke off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
import redis

from crawl_tasks.errors import BackendError, RedisUnreachable
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.frontier.scripts import Scripts, Verb
from tests.frontier.by_hand import TERMS, board, lease, posts, released

MANY = 300


def boards(count: int, address: str = "/list/") -> list[BoardTerms]:
    return [replace(one, line=one.line.replace("/list/", address)) for one in (board(f"b{n}") for n in range(count))]


def lines(client: redis.Redis) -> set[str]:
    keys = cast("list[bytes]", client.keys("test:s:demo:board:*"))
    return {"/new/" if b"/new/" in client.hget(key, "line") else "/list/" for key in keys}


def break_off_at(monkeypatch: pytest.MonkeyPatch, verb: Verb, times: int) -> None:
    """Let the publisher die at a call of a verb: as kill -9 does, after so many of them."""
    call, left = Scripts.call, [times]

    def dies(self: Scripts, what: Verb, *args: str | bytes | int) -> list[object]:
        if what is verb:
            left[0] -= 1
            if left[0] < 0:
                raise RedisUnreachable("died")
        return call(self, what, *args)

    monkeypatch.setattr(Scripts, "call", dies)


def test_a_publisher_that_dies_before_the_end_has_changed_nothing(
    frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, boards(MANY))
    with monkeypatch.context() as patch:
        break_off_at(patch, Verb.STAGE_BOARDS, 1)
        with pytest.raises(RedisUnreachable):
            frontier.sites.publish("demo", "v2", '{"new": 1}', TERMS, boards(MANY, "/new/"))

    assert (lines(client), frontier.sites.published("demo")) == ({"/list/"}, "{}")
    frontier.sites.publish("demo", "v2", '{"new": 1}', TERMS, boards(MANY, "/new/"))
    assert (lines(client), frontier.sites.published("demo")) == ({"/new/"}, '{"new": 1}')


@pytest.mark.parametrize("is_lost_always", [False, True])
def test_staged_boards_that_redis_lost_are_staged_again_or_the_site_stays_as_it_was(
    frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch, is_lost_always: bool
) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, boards(MANY))
    call, lost = Scripts.call, [0]

    def loses(self: Scripts, what: Verb, *args: str | bytes | int) -> list[object]:
        if what is Verb.PUBLISH and (is_lost_always or not lost[0]):
            lost[0] += client.delete(*client.keys("test:s:demo:staged:*"))
        return call(self, what, *args)

    monkeypatch.setattr(Scripts, "call", loses)
    if is_lost_always:
        with pytest.raises(BackendError, match="Redis lost boards of it"):
            frontier.sites.publish("demo", "v2", "{}", TERMS, boards(MANY, "/new/"))
    else:
        frontier.sites.publish("demo", "v2", "{}", TERMS, boards(MANY, "/new/"))

    assert lost[0] > 0
    assert lines(client) == ({"/list/"} if is_lost_always else {"/new/"})


def test_after_the_switch_every_scan_is_of_the_new_version_although_the_publisher_died(
    frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, boards(MANY))
    with monkeypatch.context() as patch:
        break_off_at(patch, Verb.PUBLISH_BOARDS, 0)
        with pytest.raises(RedisUnreachable):
            frontier.sites.publish(
                "demo", "v2", "{}", TERMS | {"window": 200, "max_backlog": 10**6}, boards(MANY - 100, "/new/")
            )
    assert lines(client) == {"/list/", "/new/"}

    scans = frontier.produce()[0]
    asked = {lease(frontier, rid).request.address.rpartition("/")[0] for rid in released(client, "list")}

    assert scans == MANY - 100
    assert {address.rpartition("/")[0] for address in asked} == {"http://127.0.0.1/new"}


def test_a_tick_applies_what_a_dead_publisher_left_pending(
    frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        break_off_at(patch, Verb.PUBLISH_BOARDS, 0)
        with pytest.raises(RedisUnreachable):
            frontier.sites.publish("demo", "v2", "{}", TERMS, boards(MANY))
    assert Inspector(frontier).count_requests("demo").boards.total < MANY

    for _ in range(20):
        client.zadd("test:due", {"demo": 0})
        frontier.tick("t")

    assert Inspector(frontier).count_requests("demo").boards.total == MANY
    assert client.exists("test:s:demo:pending") == 0
    assert Admin(frontier).audit.sums("demo", mend=False) == ()


def test_an_operator_changes_a_pending_board_as_the_new_file_has_it(
    frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        break_off_at(patch, Verb.PUBLISH_BOARDS, 0)
        with pytest.raises(RedisUnreachable):
            frontier.sites.publish("demo", "v2", "{}", TERMS, boards(MANY))
    names = [f"b{number}" for number in range(MANY)]

    assert Admin(frontier).board_schedule.change("demo", names, Act.FIX, 70_000).changed == MANY
    frontier.sites.publish("demo", "v3", "{}", TERMS, boards(MANY))

    assert {one.fixed_ms for one in Inspector(frontier).boards("demo")} == {70_000}


def test_two_publishers_at_a_time_leave_the_boards_of_the_last(frontier: Frontier, client: redis.Redis) -> None:
    first = Scripts.call
    between = [lambda: frontier.sites.publish("demo", "v2", "{}", TERMS, boards(MANY, "/new/"))]

    def call(self: Scripts, verb: Verb, *args: str | bytes | int) -> list[object]:
        if verb is Verb.PUBLISH and between:
            between.pop()()
        return first(self, verb, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scripts, "call", call)
        frontier.sites.publish("demo", "v3", "{}", TERMS, boards(7))

    assert lines(client) == {"/list/"}
    assert Inspector(frontier).count_requests("demo").boards.total == 7
    assert [*client.scan_iter("test:s:demo:staged:*")] == []


def test_a_site_published_again_writes_only_the_boards_that_differ(frontier: Frontier, client: redis.Redis) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, boards(MANY))
    changed = [replace(one, start_ms=90_000) if place == 7 else one for place, one in enumerate(boards(MANY))]
    before = client.info("commandstats")["cmdstat_hset"]["calls"]

    frontier.sites.publish("demo", "v2", "{}", TERMS, changed)

    assert client.info("commandstats")["cmdstat_hset"]["calls"] - before < 50


def test_a_known_signature_renews_the_terms_and_another_one_asks_for_the_boards(frontier: Frontier) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, boards(3), signature="s")

    assert frontier.sites.renew("demo", "v1", TERMS | {"window": 9}, "", "s")
    assert Inspector(frontier).count_requests("demo").fields["window"] == "9"
    assert not frontier.sites.renew("demo", "v1", TERMS, "", "other")
    assert not frontier.sites.renew("demo", "v2", TERMS, "", "s")
    assert not frontier.sites.renew("new", "v1", TERMS, "", "s")


@pytest.mark.parametrize("lost", ["boards", "board:b1"])
def test_boards_that_redis_lost_are_published_again_though_the_file_has_not_changed(
    frontier: Frontier, client: redis.Redis, lost: str
) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, boards(3), signature="s")
    client.delete(f"test:s:demo:{lost}")
    frontier.scripts.call(Verb.AUDIT_SITE, "demo", 0, 1000, 0)  # `check --deep`, which names `sites check`

    is_known = frontier.sites.renew("demo", "v1", TERMS, "", "s")
    frontier.sites.publish("demo", "v1", "{}", TERMS, boards(3), signature="s")

    assert not is_known
    assert client.smembers("test:s:demo:boards") == {b"b0", b"b1", b"b2"}
    assert client.hget("test:s:demo:board:b1", "line")
    assert frontier.sites.renew("demo", "v1", TERMS, "", "s")


def test_sums_of_the_pulse_are_counted_anew_over_many_boards(
    frontier: Frontier, client: redis.Redis, watch: Callable[..., None]
) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"freshness": "360 1"}, boards(MANY))
    for number in range(MANY):
        client.hset(f"test:s:demo:board:b{number}", mapping={"history": "2 10 0 1 0.5 0.25", "expected": "0.5"})

    frontier.sites.publish("demo", "v2", "{}", TERMS | {"freshness": "360 0.125"}, boards(MANY - 10))

    _, items, hours, rate, met = client.hget("test:s:demo", "pulse").split()
    left = MANY - 10
    assert tuple(map(float, (items, hours, rate, met))) == (2 * left, 10 * left, 0.5 * left, 0.25 * left)


@pytest.mark.parametrize("damaged", ["v1 [4,", "v1 4", "v1 [4]", "v1 ", ""])
def test_terms_that_are_damaged_are_read_one_by_one(frontier: Frontier, client: redis.Redis, damaged: str) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    client.hset("test:s:demo", "terms", damaged)

    frontier.admit("demo", posts(6))

    assert len(released(client)) == TERMS["window"]


def test_terms_are_read_one_by_one_where_their_one_field_is_of_another_version(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    frontier.admit("demo", posts(6))
    assert len(released(client)) == TERMS["window"] == 4

    client.hset("test:s:demo", mapping={"version": "v2", "window": 5})
    frontier.tick("beat", leader_ms=1)

    assert len(released(client)) == 1
