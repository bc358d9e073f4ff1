"""The lives of a site, removed and published again, are told apart whatever Redis' clock does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Operator
from crawl_tasks.recovery.ages import LedgerState, loss_of
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.recovery.rebuild import Rebuilt, known_sites
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import LedgerWatch, prepare_rebuild
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.small_crawl import SmallCrawl

ANN = Operator("ann@host", "they asked us to stop")
AHEAD_MS = 10_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        yield store


def write_threads(crawl: SmallCrawl, count: int) -> None:
    crawl.forum.board("1", 1, *(f"{number} 0" for number in range(10, 10 + count)))
    for number in range(10, 10 + count):
        crawl.forum.thread(str(number))


def set_clock_back(client: redis.Redis) -> None:
    """Let the site have begun, and leased, ahead of the clock."""
    for field in ("since", "fence"):
        client.hincrby("test:s:demo", field, AHEAD_MS)


def remove(frontier: Frontier, store: Store) -> None:
    """Remove the site with its data, as the command does."""
    admin = Admin(frontier)
    token = frontier.sites.remove("demo", ANN, erases=True)
    admin.restore.wipe("demo", token)
    erased = store.erase("demo", max(one.at_ms for one in admin.decisions.of(["demo"]) if one.is_removal))
    admin.restore.end_removal("demo", token, erased)


def look(frontier: Frontier, store: Store) -> None:
    LedgerWatch(frontier, lambda: store, contact=None, by_itself=False).look()


def test_pages_behind_a_clock_that_was_set_back_count_for_their_site(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = crawl.publish()
    write_threads(crawl, 2)
    crawl.scan()
    crawl.store_into(store)
    set_clock_back(client)
    write_threads(crawl, 4)

    crawl.scan()
    Admin(crawl.frontier).failed.items.put(crawl.frontier.outbox.draw("me", 1).pages[0][0], "why")
    client.delete("test:refused")
    assert Check(crawl.frontier, None).run() == []
    assert Admin(crawl.frontier).failed.items.retry() == 1
    crawl.store_into(store)

    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.done, counts.count("stored")) == (6, 6)
    assert Check(crawl.frontier, store).run() == []
    rebuilt: list[Rebuilt] = []
    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, rebuilt.append)
    assert rebuilt == [Rebuilt("demo", ready=0, known=5, boards=1)]


def begun_anew(crawl: SmallCrawl, client: redis.Redis, store: Store) -> Site:
    """Publish a site again that was removed with its data, while its tokens ran ahead of the clock; and crawl it."""
    site = crawl.publish()
    write_threads(crawl, 3)
    crawl.scan()
    crawl.store_into(store)
    client.hincrby("test:s:demo", "fence", AHEAD_MS)
    remove(crawl.frontier, store)
    publish_site(crawl.frontier, site, None, "host:files")
    crawl.scan()
    crawl.store_into(store)
    return site


def test_a_site_whose_removal_was_ahead_of_the_clock_makes_no_redis_older(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    begun_anew(crawl, client, store)

    look(crawl.frontier, store)

    assert loss_of(crawl.frontier, store) is LedgerState.WHOLE
    assert Check(crawl.frontier, store).run() == []


def test_pages_of_a_site_whose_removal_was_ahead_of_the_clock_are_known_after_a_loss(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = begun_anew(crawl, client, store)
    client.flushall()
    rebuilt: list[Rebuilt] = []

    prepare_rebuild(crawl.frontier, store, None).run({"demo": site}, rebuilt.append)

    assert rebuilt == [Rebuilt("demo", ready=0, known=4, boards=1)]


def test_an_old_removal_ends_no_site_that_was_published_since(
    crawl: SmallCrawl, client: redis.Redis, store: Store
) -> None:
    site = crawl.publish()
    crawl.frontier.sites.remove("demo", ANN)
    OutboxConsumer(crawl.frontier, lambda: store, batch=9, worth=1).run()
    client.flushall()
    publish_site(crawl.frontier, site, None, "host:files")
    assert list(known_sites(crawl.frontier, store)) == ["demo"]

    look(crawl.frontier, store)
    OutboxConsumer(crawl.frontier, lambda: store, batch=9, worth=1).run()

    assert crawl.frontier.sites.names() == ["demo"]
    assert [(one.subject, one.value) for one in store.decisions("test:")] == [("site", "published")]
    assert list(known_sites(crawl.frontier, store)) == ["demo"]


def test_a_removal_that_is_newer_than_the_site_ends_it(crawl: SmallCrawl, client: redis.Redis, store: Store) -> None:
    crawl.publish()
    kept = {key: client.dump(key) for key in client.keys("*")}
    crawl.frontier.sites.remove("demo", ANN)
    OutboxConsumer(crawl.frontier, lambda: store, batch=9, worth=1).run()
    client.flushall()
    for key, value in kept.items():
        client.restore(key, 0, value)

    look(crawl.frontier, store)

    assert crawl.frontier.sites.names() == []
    crawl.publish()  # the fixture counts its requests
