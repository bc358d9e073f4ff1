"""A Redis that was emptied under a database with content is noticed before anything begins anew."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Decision, Operator
from crawl_tasks.recovery.ages import LedgerState, loss_of
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import LedgerWatch, prepare_rebuild
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.by_hand import posts
from tests.frontier.small_crawl import SmallCrawl
from tests.unit.command_line import run, site_text, write_site


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / "crawl.db"


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{database}") as store:
        yield store


@pytest.fixture
def site(crawl: SmallCrawl, store: Store) -> Site:
    """A crawl of two posts that is stored."""
    site = crawl.publish()
    crawl.forum.board("1", 1, "10 0", "11 0")
    crawl.forum.thread("10")
    crawl.forum.thread("11")
    crawl.scan()
    OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1).run()
    return site


def ledger_watch(frontier: Frontier, database: Path, *, by_itself: bool) -> LedgerWatch:
    return LedgerWatch(
        frontier, lambda: Store(f"sqlite:///{database}").open(create=False), contact=None, by_itself=by_itself
    )


def test_all_sites_stand_still_with_one_line_until_somebody_recovers(
    crawl: SmallCrawl, client: redis.Redis, store: Store, database: Path, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    guard = ledger_watch(crawl.frontier, database, by_itself=False)
    guard.look()
    assert Admin(crawl.frontier).restore.halted() == ""
    client.flushall()

    guard.look()
    crawl.publish()
    guard.look()

    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == ["all sites stand still"]
    assert crawl.scan() == []
    assert Inspector(crawl.frontier).health(["list"]).halted == LedgerState.LOST.advice

    prepare_rebuild(crawl.frontier, store, None).run_if_lost(lambda _: None)

    assert Admin(crawl.frontier).restore.halted() == ""
    assert crawl.scan() == ["/list/1/1"]


def test_what_is_released_is_not_leased_while_all_stand_still(crawl: SmallCrawl, frontier: Frontier) -> None:
    frontier.admit("demo", posts(3))
    Admin(frontier).restore.halt("a reason")

    assert crawl.work() == []
    frontier.sites.pause("demo")
    frontier.sites.resume("demo")
    assert crawl.work() == []
    assert Inspector(frontier).count_requests("demo").ready == 3

    assert Admin(frontier).restore.go_on()
    frontier.sites.resume("demo")
    assert Inspector(frontier).count_requests("demo").released == 3


def test_the_first_worker_that_notices_rebuilds_if_so_set(
    crawl: SmallCrawl, client: redis.Redis, store: Store, database: Path, site: Site
) -> None:
    client.flushall()

    ledger_watch(crawl.frontier, database, by_itself=True).look()

    assert not Admin(crawl.frontier).restore.is_lost(store.epoch(crawl.frontier.ledger))
    assert crawl.scan() == ["/list/1/1"]


def test_the_redis_that_was_missed_lets_all_go_on(
    crawl: SmallCrawl, client: redis.Redis, database: Path, site: Site
) -> None:
    guard = ledger_watch(crawl.frontier, database, by_itself=False)
    epoch = client.get("test:epoch") or b""
    client.delete("test:epoch")
    guard.look()
    assert Admin(crawl.frontier).restore.halted() == LedgerState.LOST.advice

    client.set("test:epoch", epoch)
    guard.look()

    assert Admin(crawl.frontier).restore.halted() == ""


def test_of_two_recoveries_one_is_refused(crawl: SmallCrawl, client: redis.Redis, store: Store, site: Site) -> None:
    client.flushall()
    Admin(crawl.frontier).restore.lock("another:1", 60_000)

    with pytest.raises(ConfigError, match="another:1 rebuilds the ledger already"):
        prepare_rebuild(crawl.frontier, store, None).run_if_lost(lambda _: None)

    assert crawl.frontier.sites.names() == []
    Admin(crawl.frontier).restore.lock("another:1", 0)
    assert prepare_rebuild(crawl.frontier, store, None).run_if_lost(lambda _: None)


@pytest.mark.parametrize(("recover", "code"), [("ask", 2), ("auto", 0)])
def test_no_site_is_published_over_an_emptied_redis(
    recover: str, code: int, redis_server: RedisServer, client: redis.Redis, tmp_path: Path, site: Site
) -> None:
    write_site(tmp_path, site_text())
    client.flushall()

    result = run("sites", "check", home=tmp_path, redis_url=redis_server.url, recover=recover)

    assert result.exit_code == code
    assert ("run: crawl-tasks recover" in result.stderr) == (recover == "ask")
    assert client.hlen("test:sites") == (0 if recover == "ask" else 2)
    frontier = Frontier(client, "test")
    if recover == "ask":
        with Store(f"sqlite:///{tmp_path}/state/crawl.db") as store:
            prepare_rebuild(frontier, store, None).run_if_lost(lambda _: None)


# -- of different ages ------------------------------------------------------------------------------------------------


def snapshot(client: redis.Redis) -> dict[bytes, bytes]:
    return {key: client.dump(key) for key in client.keys("*")}


def bring_back(client: redis.Redis, kept: dict[bytes, bytes]) -> None:
    """Let Redis come back as it was, as a replica does that lacks the last writes."""
    client.flushall()
    for key, value in kept.items():
        client.restore(key, 0, value)


def more_news(crawl: SmallCrawl) -> None:
    crawl.forum.board("1", 1, *(f"{number} 0" for number in range(10, 15)))
    for number in range(12, 15):
        crawl.forum.thread(str(number))


def texts(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection, connection:
        return int(connection.execute("select count(*) from posts where body is not null").fetchone()[0])


@pytest.mark.parametrize("by_itself", [False, True])
def test_a_database_that_was_restored_is_noticed_and_filled_again(
    by_itself: bool, crawl: SmallCrawl, database: Path, store: Store, site: Site
) -> None:
    store.database.close()
    with closing(sqlite3.connect(database)) as before, closing(sqlite3.connect(f"{database}.copy")) as copy:
        before.backup(copy)
    with Store(f"sqlite:///{database}") as running:
        more_news(crawl)
        crawl.scan()
        crawl.store_into(running)
        newest = running.last_change()
    for file in database.parent.glob("crawl.db*"):
        if file.suffix != ".copy":
            file.unlink()
    Path(f"{database}.copy").rename(database)
    guard = ledger_watch(crawl.frontier, database, by_itself=by_itself)

    guard.look()

    with Store(f"sqlite:///{database}") as restored:
        if not by_itself:
            said = [str(found) for found in Check(crawl.frontier, restored).run()]
            assert [line.rpartition(": ")[2] for line in said] == ["crawl-tasks recover"]
            assert LedgerState.OLDER_DATABASE in said[0]
            assert crawl.scan() == []
            assert prepare_rebuild(crawl.frontier, restored, None).run_if_lost(lambda _: None)
        crawl.scan()
        crawl.store_into(restored)
        assert restored.last_change() > newest
        guard.look()
        assert (texts(database), Admin(crawl.frontier).restore.halted()) == (5, "")
        assert Check(crawl.frontier, restored).run() == []


def test_a_redis_that_lost_its_last_writes_is_crawled_on_with_named_and_mended_by_one_command(
    crawl: SmallCrawl, client: redis.Redis, store: Store, database: Path, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    guard = ledger_watch(crawl.frontier, database, by_itself=True)
    guard.look()
    kept = snapshot(client)
    more_news(crawl)
    crawl.scan()
    crawl.store_into(store)
    bring_back(client, kept)

    guard.look()
    guard.look()

    assert [record.message for record in caplog.records] == ["Redis has lost its last writes"]
    assert [str(found) for found in Check(crawl.frontier, store).run()] == [
        f"Redis has lost its last writes, and what it knew by them ({LedgerState.OLDER_REDIS}): crawl-tasks recover"
    ]
    assert Admin(crawl.frontier).restore.halted() == ""
    assert prepare_rebuild(crawl.frontier, store, None).run_if_lost(lambda _: None)
    crawl.scan()
    crawl.store_into(store)
    assert Check(crawl.frontier, store).run() == []
    assert texts(database) == 5


def test_a_store_worker_notices_by_its_next_batch_that_redis_went_back_between_two_notes(
    crawl: SmallCrawl, client: redis.Redis, store: Store, site: Site
) -> None:
    worker = OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1, clock=lambda: 0.0)
    crawl.scan()
    worker.run()
    kept = snapshot(client)
    for _ in range(2):
        bring_back(client, kept)
        crawl.scan()
        worker.run()

    assert loss_of(crawl.frontier, store) == LedgerState.OLDER_REDIS


def test_store_workers_beside_each_other_take_no_redis_for_older(
    crawl: SmallCrawl, store: Store, database: Path, site: Site
) -> None:
    now = [0.0]
    with Store(f"sqlite:///{database}") as second:
        for own in (store, second) * 6:
            now[0] += 0.4
            crawl.scan()
            OutboxConsumer(crawl.frontier, lambda own=own: own, batch=1, worth=1, clock=lambda: now[0]).run()

    assert loss_of(crawl.frontier, store) is LedgerState.WHOLE


@pytest.mark.parametrize("what", ["pause", "drain", "remove", "hold", "interval", "flush", "withdraw"])
def test_a_decision_that_a_failover_lost_is_handed_back_and_carried_out(
    what: str, crawl: SmallCrawl, client: redis.Redis, store: Store, database: Path, site: Site
) -> None:
    admin, ann = Admin(crawl.frontier), Operator("ann@host", "they asked us to stop")
    crawl.frontier.sites.publish("demo", "v2", crawl.frontier.sites.published("demo") or "", {}, [], "host:files")
    crawl.publish()
    kept = snapshot(client)
    match what:
        case "hold":
            admin.board_schedule.change("demo", ["1"], Act.HOLD, by=ann)
        case "interval":
            admin.board_schedule.change("demo", ["1"], Act.FIX, 7 * 86_400_000, by=ann)
        case "flush":
            crawl.frontier.sites.flush_guard("demo", ann)
        case "withdraw":
            crawl.frontier.sites.withdraw("demo", "host:files", ann)
        case "remove":
            admin.restore.wipe("demo", crawl.frontier.sites.remove("demo", ann))
        case _:
            getattr(crawl.frontier.sites, what)("demo", ann)
    decided = state_of(crawl, client)
    OutboxConsumer(crawl.frontier, lambda: store, batch=10, worth=1).run()
    bring_back(client, kept)
    assert state_of(crawl, client) != decided

    ledger_watch(crawl.frontier, database, by_itself=False).look()

    assert state_of(crawl, client) == decided
    crawl.publish()  # the fixture counts its requests


def test_decisions_of_many_sites_are_handed_back_by_one_look_at_the_sites(
    crawl: SmallCrawl, client: redis.Redis, store: Store, database: Path, site: Site
) -> None:
    names = [f"site{number}" for number in range(50)]
    store.decide([Decision(name, "gate", "pause", 1, text='["1","pause","",""]') for name in names], "test:")
    guard = ledger_watch(crawl.frontier, database, by_itself=False)
    guard.look()
    before = client.info("commandstats").get("cmdstat_hexists", {"calls": 0})["calls"]

    ledger_watch(crawl.frontier, database, by_itself=False).look()

    assert client.info("commandstats").get("cmdstat_hexists", {"calls": 0})["calls"] - before < 10
    assert client.hexists("test:decisions:site7", "gate")


def state_of(crawl: SmallCrawl, client: redis.Redis) -> tuple[object, ...]:
    """Return what the decisions of operators have made of the site."""
    fields = client.hmget("test:s:demo", "paused", "draining", "withdrawn", "flushes")
    board = client.hmget("test:s:demo:board:1", "held", "interval_ms", "fixed_ms")
    return crawl.frontier.sites.names(), fields, board, client.zscore("test:boards", "demo 1") is None


def test_a_redis_of_before_a_site_was_erased_and_begun_anew_counts_as_older(
    crawl: SmallCrawl, client: redis.Redis, store: Store, database: Path, site: Site
) -> None:
    kept = snapshot(client)
    admin = Admin(crawl.frontier)
    admin.restore.wipe("demo", crawl.frontier.sites.remove("demo"))
    store.erase("demo")
    publish_site(crawl.frontier, site, None, "host:files")
    OutboxConsumer(crawl.frontier, lambda: store, batch=10, worth=1).run()
    bring_back(client, kept)

    ledger_watch(crawl.frontier, database, by_itself=False).look()

    assert loss_of(crawl.frontier, store) == LedgerState.OLDER_REDIS


def test_a_site_that_was_erased_and_begun_anew_makes_no_redis_older(
    crawl: SmallCrawl, store: Store, database: Path, site: Site
) -> None:
    admin = Admin(crawl.frontier)
    admin.restore.wipe("demo", crawl.frontier.sites.remove("demo"))
    store.erase("demo")
    publish_site(crawl.frontier, site, None, "host:files")
    crawl.scan()
    crawl.store_into(store)

    ledger_watch(crawl.frontier, database, by_itself=False).look()

    assert loss_of(crawl.frontier, store) is LedgerState.WHOLE
