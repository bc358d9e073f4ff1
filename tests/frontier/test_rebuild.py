"""A ledger that lost keys is built anew from the database: what was open is open, what was done is known."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Comment, Items, Stage, State
from crawl_tasks.recovery.rebuild import Rebuilt
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import read_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.database_guard import DatabaseGuard
from crawl_tasks.worker.ledger_watch import prepare_rebuild
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.store_task import LOOK_EVERY_S, OutboxConsumer
from tests.frontier.by_hand import TERMS, lease, posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        yield store


def half_crawled(crawl: SmallCrawl, store: Store) -> Site:
    """Crawl a board of which one post's page does not answer yet, and store what was found."""
    site = crawl.publish()
    crawl.forum.board("1", 1, "10 0", "11 0", "12 0")
    crawl.forum.thread("10")
    crawl.forum.thread("11")
    crawl.forum.pages["/post/12"] = "<h1>no body, so the page is parked</h1>"
    crawl.scan()
    OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1).run()
    return site


KEYS = ("", ":open", ":parked", ":seen", ":seen:post:0", ":boards", ":board:1", ":unscanned", ":stats")


@pytest.mark.parametrize("key", ["everything", *(f"test:s:demo{key}" for key in KEYS), "test:sites", "test:boards"])
def test_after_a_loss_only_what_was_open_is_fetched(
    key: str, crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = half_crawled(crawl, store)
    crawl.forum.thread("12")
    if key == "everything":
        client.flushall()
    else:
        client.delete(key)
    told: list[Rebuilt] = []

    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, told.append)

    assert told == [Rebuilt("demo", ready=1, known=3, boards=1)]
    assert crawl.work() == ["/post/12"]
    assert crawl.scan() == ["/list/1/1"]


def test_a_crawl_delay_that_the_ledger_forgot_is_heeded_again_by_workers_that_went_on(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    crawl.forum.pages["/robots.txt"] = "User-agent: *\nCrawl-delay: 0.1\n"
    site = crawl.publish(rules=RULES.replace("robots: false", "robots: true"))
    crawl.forum.board("1", 1)
    crawl.scan()
    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None)
    assert client.hexists("test:s:demo", "crawl_delay_ms") == 0

    crawl.scan()

    assert client.hget("test:s:demo", "crawl_delay_ms") == b"100"


def test_a_site_file_that_was_taken_back_is_kept_though_another_process_kept_the_newer_one(
    crawl: SmallCrawl, store: Store
) -> None:
    now = [0.0]
    worker = OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1, clock=lambda: now[0])
    command = OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1)
    crawl.forum.board("1", 1)
    for priority, consumer in ((5, worker), (6, command), (5, worker)):
        site = crawl.publish(f"boards: [1]\npriority: {priority}\n")
        crawl.scan()
        consumer.run()
        now[0] += LOOK_EVERY_S

    assert read_site(store.kept_sites("test")["demo"]) == site


def test_another_ledger_than_the_one_that_was_stored_from_is_noticed(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = half_crawled(crawl, store)
    assert not Admin(crawl.frontier).restore.is_lost(store.epoch(crawl.frontier.ledger))

    client.flushall()

    assert Admin(crawl.frontier).restore.is_lost(store.epoch(crawl.frontier.ledger))
    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None)
    assert not Admin(crawl.frontier).restore.is_lost(store.epoch(crawl.frontier.ledger))


def test_no_token_is_given_a_second_time(crawl: SmallCrawl, client: redis.Redis, frontier: Frontier) -> None:
    crawl.publish()
    before = int(client.hget("test:s:demo", "fence") or 0)
    client.hincrby("test:s:demo", "fence", 3)

    Admin(frontier).restore.wipe("demo")
    crawl.publish()

    assert int(client.hget("test:s:demo", "fence") or 0) >= before > 1_000_000_000_000


def test_a_paused_site_stays_paused(crawl: SmallCrawl, store: Store) -> None:
    site = half_crawled(crawl, store)
    crawl.frontier.sites.pause("demo")

    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None)

    assert crawl.work() == []
    assert Inspector(crawl.frontier).count_requests("demo").open == 1
    assert list(Admin(crawl.frontier).failed.requests.list(Selection("demo", State.PARKED))) == []


def test_a_recovery_that_was_cut_short_is_run_again(crawl: SmallCrawl, store: Store) -> None:
    site = half_crawled(crawl, store)
    Admin(crawl.frontier).restore.wipe("demo")

    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None)

    assert crawl.work() == ["/post/12"]


def test_what_was_dropped_balances_and_does_not_come_back(crawl: SmallCrawl, store: Store) -> None:
    site = half_crawled(crawl, store)

    assert Admin(crawl.frontier).failed.requests.drop(Selection("demo", State.PARKED, reason="another")) == 0
    assert Admin(crawl.frontier).failed.requests.drop(Selection("demo", State.PARKED, stage=Stage.LIST)) == 0
    assert Admin(crawl.frontier).failed.requests.drop(Selection("demo", State.PARKED, stage=Stage.POST)) == 1

    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.parked, counts.imbalance()) == (0, "")
    told: list[Rebuilt] = []
    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, told.append)
    assert told == [Rebuilt("demo", ready=0, known=4, boards=1)]


def test_leases_of_a_rebuilt_ledger_come_after_all_that_the_database_saw(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = half_crawled(crawl, store)
    newest_ms = crawl.frontier.clock_ms() + 10_000
    store.write([Items("demo", comments=(Comment("10", "1", newest_ms / 1000, body="seen by a clock ahead"),))])
    client.flushall()

    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None)
    [rid] = released(client)

    assert lease(crawl.frontier, rid).token > newest_ms


def test_a_rebuild_does_not_begin_behind_a_clock_that_was_years_ahead(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = half_crawled(crawl, store)
    now_ms = crawl.frontier.clock_ms()
    store.write([Items("demo", comments=(Comment("10", "1", now_ms / 1000 + 1e8, body="seen years ahead"),))])

    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None)

    assert now_ms <= int(client.hget("test:s:demo", "fence") or 0) < now_ms + 60_000
    assert store.newest("demo") < now_ms / 1000 + 60


# -- what the ledger knew beyond the last revision of each page -----------------------------------------------------


def rebuild(crawl: SmallCrawl, client: redis.Redis, store: Store, site: Site) -> None:
    """Empty Redis, and build the ledger anew."""
    crawl.store_into(store)
    client.flushall()
    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None)


def one_thread(crawl: SmallCrawl, revision: int, *comments: str) -> None:
    """Write thread 10 with two comments a page, and the list that shows its revision."""
    pages = [comments[at : at + 2] for at in range(0, len(comments), 2)] or [()]
    for path in [path for path in crawl.forum.pages if path.startswith("/comment/")]:
        del crawl.forum.pages[path]
    for number in range(len(pages), 0, -1):
        crawl.forum.thread(
            "10", *(f"{one} words" for one in pages[number - 1]), more=f"<b class=pages>{len(pages)}</b>"
        )
        if number > 1:
            crawl.forum.pages[f"/comment/10/{number}"] = crawl.forum.pages["/post/10"]
    crawl.forum.board("1", 1, f"10 {revision}")


@pytest.mark.parametrize("guard", ["exact", "rolling", "{post: database, comment: database}"])
def test_a_thread_that_was_gone_is_asked_for_when_it_comes_back_after_a_loss(
    guard: str, crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    guarded = DatabaseGuard(lambda: store)
    crawl.pages = PageTask(
        crawl.frontier, SiteRegistry(crawl.frontier, None), Fetcher(build_client("requests")), mark_stored=guarded.mark
    )
    site = crawl.publish(f"boards: [1]\nguard: {guard}\n".replace("guard: {", "guard: {list: 'off', "))
    one_thread(crawl, 0)
    crawl.scan()
    crawl.store_into(store)
    del crawl.forum.pages["/post/10"]
    crawl.forum.board("1", 1, "10 1")
    assert "/post/10" in crawl.scan()
    rebuild(crawl, client, store, site)
    one_thread(crawl, 1)

    asked = [path for _ in range(3) for path in crawl.scan()]

    assert 1 <= asked.count("/post/10") <= 2


@pytest.mark.parametrize("count", [6, 10])
def test_a_thread_that_shrank_before_a_loss_and_grows_after_it_loses_no_reply(
    count: int, crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = crawl.publish()
    one_thread(crawl, 10, *(f"c{n}" for n in range(10)))
    crawl.scan()
    one_thread(crawl, 3, "c0", "c1", "c2")
    crawl.scan()
    rebuild(crawl, client, store, site)
    crawl.work()
    # The count of the last page may be the one that its comment pages had before.
    one_thread(crawl, count, "c0", "c1", "c2", *(f"n{n}" for n in range(count - 3)))

    asked = crawl.scan()

    assert {f"/comment/10/{page}" for page in range(2, count // 2 + 1)} <= set(asked)


def test_a_thread_of_which_the_tail_was_read_before_an_older_database_was_noticed_is_read_whole(
    crawl: SmallCrawl, store: Store, tmp_path: Path
) -> None:
    file, copy = tmp_path / "crawl.db", tmp_path / "copy.db"
    site = crawl.publish()
    for count in (2, 7, 9):
        if count == 9:
            store.close()
            copy.replace(file)
            store = Store(f"sqlite:///{file}").open()
        one_thread(crawl, count, *(f"c{number}" for number in range(count)))
        crawl.scan()
        crawl.store_into(store)
        if count == 2:
            with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)

    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, lambda _: None, walk=True)
    crawl.work()
    crawl.store_into(store)
    store.close()

    with closing(sqlite3.connect(file)) as rows:
        assert rows.execute("select count(*) from comments").fetchone() == (9,)


def test_a_page_that_is_open_again_with_an_earlier_revision_is_fetched_after_a_loss(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = crawl.publish("boards: [1]\n", RULES.replace("window: 50", "window: 1, max_attempts: 9"))
    one_thread(crawl, 5)
    crawl.scan()
    crawl.store_into(store)
    crawl.forum.statuses["/post/10"] = 500
    for count in (6, 5):
        crawl.forum.board("1", 1, f"10 {count}")
        crawl.scan()
    crawl.forum.statuses.clear()
    client.delete("test:s:demo:delayed")

    rebuild(crawl, client, store, site)

    assert "/post/10" in crawl.work()


@pytest.mark.parametrize("end", ["is dropped", "is gone"])
def test_a_board_whose_list_was_never_read_is_a_new_one_after_a_loss(
    end: str, crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = crawl.publish()
    if end == "is gone":
        crawl.scan()
    else:
        crawl.frontier.produce()
        assert crawl.frontier.sites.flush_queue("demo") == 1

    rebuild(crawl, client, store, site)

    assert client.smembers("test:s:demo:unscanned") == {b"1"}


@pytest.mark.parametrize("guard", ["exact exact exact", "off off off", "exact database database"])
def test_a_chunk_that_is_restored_twice_makes_its_pages_ready_once(guard: str, frontier: Frontier) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"guard": guard}, [])
    pages = [(one, True) for one in posts(3)]

    restored = [Admin(frontier).restore.restore_requests("demo", pages) for _ in range(2)]

    assert restored == [(3, 0), (0, 0)]
