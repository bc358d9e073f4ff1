"""The end of a site: cut off anywhere it is finished by the next command, and nothing of it comes back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.transfer import SiteTransfer
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.model import Operator
from crawl_tasks.recovery.ages import LedgerState, loss_of
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.site_json import dump_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.by_hand import NOTHING, TERMS, lease, post, posts, released
from tests.frontier.small_crawl import RULES, SmallCrawl

ANN = Operator("ann@host", "they asked us to stop")
SITE = parse_site(RULES + "boards: [1]\n", "demo.yaml").relocated("http://127.0.0.1:9")
FILES = "host:files"


class Killed(BaseException):
    """The end of a command by kill -9."""


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    """A frontier with a crowded Redis, so that a wipe takes several calls, and a site with a board and requests."""
    frontier = Frontier(client, "test")
    client.mset({f"other:{number}": 1 for number in range(2000)})
    begin(frontier, range(1, 201))
    return frontier


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        yield store


def begin(frontier: Frontier, numbers: range) -> None:
    """Publish the site by its name, and admit posts."""
    publish_site(frontier, SITE, None, FILES)
    frontier.produce()
    frontier.admit("demo", [post(number) for number in numbers])


def remove(frontier: Frontier) -> None:
    Admin(frontier).restore.wipe("demo", frontier.sites.remove("demo", ANN))


def cut_off(monkeypatch: pytest.MonkeyPatch, step: int, command: Callable[[], None]) -> bool:
    """Run a command that is killed in front of its n-th call. Return whether it came so far."""
    calls, call = 0, Scripts.call

    def counted(self: Scripts, verb: Verb, *args: str | bytes | int) -> list[object]:
        nonlocal calls
        calls += 1
        if calls > step:
            raise Killed
        return call(self, verb, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Scripts, "call", counted)
        try:
            command()
        except Killed:
            return True
    return False


def flaws(frontier: Frontier) -> list[str]:
    return [f"{found.location.flaw} {found.location.where}" for found in Check(frontier, None).run()]


def keys(client: redis.Redis) -> set[bytes]:
    return {key for key in client.scan_iter("test:*", count=1000) if b":s:demo" in key or key == b"test:underway"}


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path / "crawl.db")) as connection, connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("step", range(1, 9))
def test_a_removal_that_is_cut_off_ends_the_crawl_and_the_next_command_ends_the_removal(
    step: int, frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = lease(frontier, released(client)[0])

    was_cut = cut_off(monkeypatch, step, lambda: remove(frontier))

    assert was_cut == bool(client.exists("test:underway"))
    assert frontier.commit(held, NOTHING) is None
    assert frontier.produce()[0] == 0
    remove(frontier)
    assert keys(client) == set()
    assert client.hexists("test:changes", "demo") == 0


@pytest.mark.parametrize("step", range(1, 9))
def test_a_site_that_is_published_behind_a_removal_that_was_cut_off_begins_anew(
    step: int, frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rid in released(client)[:2]:
        lease(frontier, rid)
    cut_off(monkeypatch, step, lambda: remove(frontier))

    begin(frontier, range(1001, 1006))

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.admitted, counts.imbalance(), flaws(frontier)) == (6, "", [])


def test_a_removal_that_goes_on_behind_a_publication_deletes_nothing_of_it_and_says_so(
    frontier: Frontier, client: redis.Redis
) -> None:
    token = frontier.sites.remove("demo", ANN)
    _, cursor = frontier.scripts.call(Verb.WIPE_SITE, "demo", "0", token)
    assert isinstance(cursor, bytes)
    assert cursor != b"0"
    begin(frontier, range(1001, 1006))

    assert frontier.scripts.call(Verb.WIPE_SITE, "demo", cursor, token)[0] == 1

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.admitted, counts.open, counts.imbalance(), flaws(frontier)) == (6, 6, "", [])
    with pytest.raises(ConfigError, match="another command has taken over the site 'demo'"):
        Admin(frontier).restore.end_removal("demo", token)


def test_a_site_whose_data_are_being_erased_is_not_published_before_they_are(frontier: Frontier) -> None:
    token = frontier.sites.remove("demo", ANN, erases=True)
    Admin(frontier).restore.wipe("demo", token)

    with pytest.raises(ConfigError, match="finish it: crawl-tasks sites remove --data"):
        begin(frontier, range(1, 2))

    Admin(frontier).restore.end_removal("demo", token)
    begin(frontier, range(1, 2))


def test_a_removal_without_the_data_undoes_an_erasure_that_was_cut_off(frontier: Frontier) -> None:
    Admin(frontier).restore.wipe("demo", frontier.sites.remove("demo", ANN, erases=True))

    remove(frontier)

    begin(frontier, range(1, 2))


def test_a_site_on_its_way_to_another_cell_is_not_removed(frontier: Frontier, client: redis.Redis) -> None:
    SiteTransfer("demo", frontier, Frontier(client, "other", cell="b")).begin()

    with pytest.raises(ConfigError, match="finish that first: crawl-tasks sites move"):
        frontier.sites.remove("demo", ANN)

    assert frontier.sites.names() == ["demo"]


def test_a_recovery_that_was_cut_off_counts_as_a_lost_ledger_until_one_ends(
    frontier: Frontier, store: Store, tmp_path: Path
) -> None:
    store.keep("demo", dump_site(SITE), Admin(frontier).restore.epoch() or "", frontier.ledger)
    assert loss_of(frontier, store) is LedgerState.WHOLE

    Admin(frontier).restore.wipe("demo")

    assert loss_of(frontier, store) is LedgerState.CUT_OFF
    publish_site(frontier, SITE, None)
    assert loss_of(frontier, store) is LedgerState.CUT_OFF
    frontier.sites.apply_decision("demo")
    assert loss_of(frontier, store) is LedgerState.WHOLE


# -- what arrives later -----------------------------------------------------------------------------------------------


def one_thread(crawl: SmallCrawl, body: str) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "10 0")
    crawl.forum.thread("10", "c1 said", body=body)
    crawl.scan()


@pytest.mark.parametrize("is_published_again", [False, True])
def test_what_a_store_worker_that_slept_still_holds_of_an_erased_site_is_not_stored(
    is_published_again: bool, crawl: SmallCrawl, store: Store, tmp_path: Path
) -> None:
    frontier = crawl.frontier
    one_thread(crawl, "to be erased")
    drawn = frontier.outbox.draw("stopped", 100).pages
    token = frontier.sites.remove("demo", ANN, erases=True)
    Admin(frontier).restore.wipe("demo", token)
    store.write([read_items(text) for _, text in frontier.outbox.draw("other", 100, takeover_ms=0).pages])
    frontier.outbox.ack({"demo": [page_id for page_id, _ in drawn]})
    [removal] = Admin(frontier).decisions.of(["demo"])
    store.erase("demo", removal.at_ms)
    Admin(frontier).restore.end_removal("demo", token)
    if is_published_again:
        publish_site(frontier, parse_site(RULES + "boards: [1]\n", "demo.yaml").relocated(crawl.forum.url), None, FILES)
        crawl.forum.thread("10", body="seen anew")
        crawl.scan()
        crawl.store_into(store)

    with Store(f"sqlite:///{tmp_path}/crawl.db") as woken:
        woken.write([read_items(text) for _, text in drawn])

    assert rows(tmp_path, "select body from posts") == ([("seen anew",)] if is_published_again else [])
    assert rows(tmp_path, "select comment_id from comments") == []
    assert len(rows(tmp_path, "select * from requests")) == (2 if is_published_again else 0)


def test_pages_of_a_removed_site_that_are_stored_later_are_nothing_that_a_recovery_knows(
    crawl: SmallCrawl, store: Store, tmp_path: Path
) -> None:
    frontier = crawl.frontier
    one_thread(crawl, "kept")
    remove(frontier)
    OutboxConsumer(frontier, lambda: store, batch=10, worth=99).run()

    assert rows(tmp_path, "select body from posts") == [("kept",)]
    assert rows(tmp_path, "select * from requests") == []


def test_the_last_pages_of_a_removed_site_do_not_count_for_the_next_one_of_its_name(
    frontier: Frontier, client: redis.Redis
) -> None:
    def done(numbers: list[int]) -> None:
        for rid in numbers:
            frontier.commit(lease(frontier, rid), NOTHING)

    frontier.sites.publish("demo", "v2", dump_site(SITE), TERMS | {"window": 9}, [])
    done(released(client)[:5])
    Admin(frontier).failed.items.put(frontier.outbox.draw("me", 1).pages[0][0], "why")
    before = frontier.outbox.draw("me", 100).pages
    remove(frontier)
    frontier.sites.publish("demo", "v1", dump_site(SITE), TERMS, [], FILES)
    frontier.admit("demo", posts(3))
    done(released(client))

    frontier.outbox.ack({"demo": [page_id for page_id, _ in before]}, {"demo": {"post:new": 4}})
    counts = Inspector(frontier).count_requests("demo")
    assert (counts.done, counts.count("stored")) == (3, 0)
    client.delete("test:outbox")

    assert "unstored 3 pages" in flaws(frontier)
    assert Admin(frontier).failed.items.retry() == 1
    frontier.outbox.ack({"demo": [page_id for page_id, _ in frontier.outbox.draw("me", 9).pages]})
    assert Inspector(frontier).count_requests("demo").count("stored") == 0


def test_a_flush_that_is_cut_off_is_finished_by_the_ticks(
    frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        client.hset(f"test:s:demo:tail:{number}", "1", "2")
    assert cut_off(monkeypatch, 1, lambda: frontier.sites.flush_guard("demo", ANN))
    assert client.keys("test:s:demo:tail:*")

    for _ in range(50):
        client.zadd("test:due", {"demo": 0})
        frontier.tick("me")

    assert client.keys("test:s:demo:tail:*") == []
    assert client.hexists("test:s:demo", "flushing") == 0
