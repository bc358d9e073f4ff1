"""A Redis that was emptied under a database with content is noticed before anything begins anew."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import LOST, LedgerWatch, prepare_rebuild
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
    assert Inspector(crawl.frontier).health(["list"]).halted == LOST

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
    assert Admin(crawl.frontier).restore.halted() == LOST

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
