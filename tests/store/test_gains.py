"""What a batch says it brought, by site and kind; and what the watchers are told of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Comment, Items, Kind, Parsed, Post, Request, Stage, StoredChange
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.by_hand import TERMS, board, lease, released

LISTED = Post("1", 10.0, title="a", created_at=100)
FETCHED = Post("1", 20.0, title="a", created_at=100, body="b")
EDITED = Post("1", 30.0, title="a", created_at=100, body="c")


def comments(count: int, seen_at: float = 20.0) -> tuple[Comment, ...]:
    return tuple(Comment("1", str(number), seen_at, created_at=100 + number, body="c") for number in range(count))


def gains(store: Store, *batch: Items) -> dict[tuple[str, Kind], tuple[int, int, int, int, tuple[int, ...]]]:
    return {
        (gain.site, gain.kind): (gain.new, gain.filled, gain.changed, gain.unchanged, gain.posted)
        for gain in _written(store, batch)
    }


def _written(store: Store, batch: tuple[Items, ...]) -> tuple[StoredChange, ...]:
    return store.write(batch).gains


def test_each_site_of_a_batch_gets_its_own_counts(store: Store) -> None:
    store.write([Items("a", comments=comments(2))])

    told = gains(store, Items("a", comments=comments(3, seen_at=30.0)), Items("b", comments=comments(1)))

    assert told[("a", Kind.COMMENT)] == (1, 0, 0, 2, (102,))
    assert told[("b", Kind.COMMENT)] == (1, 0, 0, 0, (100,))


def test_a_post_counts_as_fresh_when_its_text_comes_not_when_a_list_shows_it(store: Store) -> None:
    told = [gains(store, Items("a", posts=(post,)))[("a", Kind.POST)] for post in (LISTED, FETCHED, FETCHED, EDITED)]

    assert told == [(1, 0, 0, 0, ()), (0, 1, 0, 0, (100,)), (0, 0, 0, 1, ()), (0, 0, 1, 0, ())]


def test_a_batch_that_comes_twice_brings_nothing_the_second_time(store: Store) -> None:
    batch = Items("a", posts=(FETCHED,), comments=comments(300))
    store.write([batch])

    told = gains(store, batch)

    assert told == {("a", Kind.POST): (0, 0, 0, 1, ()), ("a", Kind.COMMENT): (0, 0, 0, 300, ())}


@pytest.mark.parametrize(("age_s", "counted"), [(45.0, 1), (-5.0, 1), (10 * 86_400.0, 0)])
def test_freshness_counts_what_was_posted_since_the_site_is_watched(
    client: redis.Redis, tmp_path: Path, age_s: float, counted: int
) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    client.hset("test:s:demo", "since", int((time.time() - 86_400) * 1000))
    frontier.admit("demo", [Request("demo", Stage.POST, "1", "http://127.0.0.1/post/1")])
    post = Post("1", time.time(), created_at=int(time.time() - age_s), body="b")
    frontier.commit(lease(frontier, released(client)[0]), Parsed(Items("demo", posts=(post,))))

    with Store(f"sqlite:///{tmp_path / 'x.db'}") as store:
        OutboxConsumer(frontier, lambda: store, batch=10, worth=5).run()

    [site] = take_snapshot(frontier).sites
    assert (site.stat("post:new"), site.freshness.count) == (1, counted)
    assert (site.freshness.total >= 45) is (age_s == 45.0)


def test_freshness_of_a_board_is_that_of_its_posts(client: redis.Redis, tmp_path: Path) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [board("news"), board("talk")])
    client.hset("test:s:demo", "since", 1)
    with Store(f"sqlite:///{tmp_path / 'x.db'}") as store:
        drain = OutboxConsumer(frontier, lambda: store, batch=10, worth=5)
        for number, place in enumerate(("news", "news", "gone"), 1):
            frontier.admit("demo", [Request("demo", Stage.POST, str(number), f"http://127.0.0.1/post/{number}")])
            text = Post(str(number), time.time(), place, created_at=int(time.time() - 45), body="b")
            frontier.commit(lease(frontier, released(client)[0]), Parsed(Items("demo", posts=(text,))))
            drain.run()

    news, talk = Inspector(frontier).boards("demo")

    assert (news.ages.count, news.ages.counts[2], news.ages.total >= 90) == (2, 2, True)
    assert talk.ages.count == 0
    assert client.exists("test:s:demo:board:gone") == 0


@pytest.mark.parametrize(
    ("states", "restored"),
    [
        (("normal", "deleted", "normal"), [0, 0, 1]),
        (("normal", "deleted", "deleted"), [0, 0, 0]),
        (("normal", "deleted", "masked"), [0, 0, 0]),
        (("masked", "normal"), [0, 0]),
    ],
)
def test_what_was_deleted_and_can_be_read_again_counts_as_restored(
    store: Store, states: tuple[str, ...], restored: list[int]
) -> None:
    told = []

    for at, state in enumerate(states):
        items = Items("a", posts=(Post("1", at, state=state),), comments=(Comment("1", "7", at, state=state),))
        told.append([gain.restored for gain in store.write([items]).gains])

    assert told == [[count, count] for count in restored]


def test_the_watchers_are_told_what_was_restored(client: redis.Redis, tmp_path: Path) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    with Store(f"sqlite:///{tmp_path / 'x.db'}") as store:
        drain = OutboxConsumer(frontier, lambda: store, batch=10, worth=5)
        for at, state in enumerate(("normal", "deleted", "normal"), 1):
            frontier.admit("demo", [Request("demo", Stage.POST, str(at), f"http://127.0.0.1/post/{at}")])
            comment = Comment("1", "7", float(at), state=state)
            frontier.commit(lease(frontier, released(client)[0]), Parsed(Items("demo", comments=(comment,))))
            drain.run()

    [site] = take_snapshot(frontier).sites

    assert (site.stat("comment:changed"), site.stat("comment:restored"), site.stat("post:restored")) == (2, 1, 0)


def test_comments_count_for_the_board_of_their_thread_whenever_that_was_stored(store: Store) -> None:
    now = 1_000_000.0
    thread = Post("1", now, "board", body="text", is_page=True)
    store.write([Items("a", posts=(thread,))])

    def said(post: str, number: str, ago_s: int) -> Comment:
        return Comment(post, number, now, body="text", created_at=int(now) - ago_s)

    told = store.write([
        Items("a", posts=(thread._replace(post_id="2", forum_id="other"),), comments=(said("2", "20", 30),)),
        Items("a", comments=(said("1", "10", 40), said("1", "11", 700_000), said("unknown", "30", 50))),
    ]).gains  # fmt: skip

    boards = {gain.kind: dict(gain.by_board) for gain in told}
    assert boards[Kind.COMMENT] == {"board": [int(now) - 40], "other": [int(now) - 30]}
    again = store.write([Items("a", comments=(said("1", "10", 40),))]).gains
    assert [dict(gain.by_board) for gain in again] == [{}]
