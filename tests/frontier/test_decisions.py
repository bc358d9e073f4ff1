"""An operator's word stands: it is in the database, with who and why, and comes back before anything is fetched."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import redis
from click.testing import Result

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.recovery.rebuild import Rebuild, known_sites
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.web.actions import Actions
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.unit.command_line import run, site_text

Command = Callable[..., Result]


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    frontier = Frontier(client, "test", outbox_max=5000)
    for name in ("one", "two"):
        publish(frontier, name)
    return frontier


def publish(frontier: Frontier, name: str) -> None:
    publish_site(frontier, parse_site(site_text(name), f"{name}.yaml"), None)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/crawl.db"


@pytest.fixture
def command(frontier: Frontier, redis_server: RedisServer, tmp_path: Path, url: str) -> Command:
    def call(*words: str) -> Result:
        return run(*words, home=tmp_path, redis_url=redis_server.url, database_url=url)

    return call


def store_once(frontier: Frontier, url: str) -> None:
    """Run the store task once, as a tick would have it."""
    with Store(url) as store:
        OutboxConsumer(frontier, lambda: store, batch=100, worth=1).run()


def in_database(url: str) -> dict[str, str]:
    with Store(url) as store:
        return {f"{one.site} {one.subject}": f"{one.value}, {one.why}" for one in store.decisions("test:")}


def is_paused(client: redis.Redis, name: str) -> bool:
    return client.hget(f"test:s:{name}", "paused") == b"1"


def test_pause_hold_and_interval_come_back_with_an_emptied_redis(
    command: Command, frontier: Frontier, client: redis.Redis, url: str
) -> None:
    command("pause", "two", "--drain")
    store_once(frontier, url)
    command("pause", "one", "--why", "their operator asked us to")
    command("schedule", "hold", "two/b2", "--why", "noise")
    command("schedule", "set", "two/1", "--interval", "7m")
    client.flushall()

    assert command("recover").exit_code == 0

    counts = {name: Inspector(frontier).count_requests(name) for name in ("one", "two")}
    boards = {board.board: board for board in Inspector(frontier).boards("two")}
    assert frontier.produce()[0] == 0
    assert (is_paused(client, "one"), is_paused(client, "two")) == (True, False)
    assert counts["two"].fields["draining"] == "1"
    assert (boards["b2"].is_held, boards["1"].fixed_ms) == (True, 420_000)
    assert "their operator asked us to" in command("status").stdout
    assert command("resume", "--all").exit_code == 0
    assert frontier.produce()[0] == 3  # all but the held board


def test_a_decision_that_was_taken_back_does_not_come_back(
    command: Command, frontier: Frontier, client: redis.Redis, url: str
) -> None:
    command("pause", "one")
    store_once(frontier, url)
    for words in (["resume", "one"], ["schedule", "hold", "one"], ["schedule", "go", "one"]):
        command(*words)
    client.flushall()

    command("recover")

    assert not is_paused(client, "one")
    assert frontier.produce()[0] == 2


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_the_status_page_and_the_command_store_the_same_decision_at_once(
    command: Command, frontier: Frontier, url: str, verb: str
) -> None:
    command("pause", "one", "two")
    store_once(frontier, url)
    page = Actions(Cells([frontier]), url)

    assert command(verb, "one", "--why", "noise\x1b[2J").exit_code == 0
    page.do(verb, "two", why="noise\x1b[2J")

    with Store(url) as store:
        by_command, by_page = sorted(store.decisions("test:"), key=lambda decision: decision.site)
    assert (by_page.subject, by_page.value, by_page.why) == (by_command.subject, by_command.value, by_command.why)
    assert (by_page.why, by_page.who) == ("noise\\x1b[2J", "the status page")
    assert "@" in by_command.who
    assert Admin(frontier).decisions.unstored() == []


def test_a_decision_that_the_database_does_not_take_waits_in_redis(
    command: Command, frontier: Frontier, client: redis.Redis, url: str
) -> None:
    command("pause", "two")
    store_once(frontier, url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("create trigger full before insert on decisions begin select raise(abort, 'full'); end")

    said = command("pause", "one", "--why", "x")

    assert (said.exit_code, is_paused(client, "one")) == (0, True)
    assert "a store worker writes this there" in said.stderr
    assert [decision.subject for decision in Admin(frontier).decisions.unstored()] == ["gate"]


def test_a_decision_without_a_database_at_hand_is_stored_by_the_next_store_task(
    command: Command, frontier: Frontier, client: redis.Redis, url: str
) -> None:
    said = command("pause", "one", "--why", "x")

    assert "a store worker writes this there" in said.stderr
    frontier.tick("here")
    assert client.llen("store") == 1
    store_once(frontier, url)
    assert in_database(url) == {"one gate": "pause, x"}
    assert Admin(frontier).decisions.unstored() == []


def test_the_status_page_logs_a_decision_that_waits_for_the_database(
    frontier: Frontier, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    page = Actions(Cells([frontier]), url)

    page.do("pause", "one", why="x")
    store_once(frontier, url)
    page.do("resume", "one")

    assert [record.getMessage() for record in caplog.records if "database" in record.getMessage()] == [
        "not in the database yet: a store worker writes this there"
    ]


def test_a_database_of_another_ledger_takes_no_decision(
    command: Command, frontier: Frontier, url: str, tmp_path: Path
) -> None:
    with Store(url) as store:
        store.keep("one", "{}", "another", "test:")

    command("pause", "one")

    assert in_database(url) == {}
    assert [one.subject for one in Admin(frontier).decisions.unstored()] == ["gate"]


def test_a_recovery_that_ends_half_way_has_the_decisions_already(
    command: Command, frontier: Frontier, client: redis.Redis, url: str
) -> None:
    command("pause", "one")
    store_once(frontier, url)
    client.flushall()

    def fail() -> str:
        raise ConfigError("somebody ends the recovery")

    with Store(url) as store, pytest.raises(ConfigError):
        Rebuild(frontier, store, None, fail).run(known_sites(frontier, store), lambda _: None)
    client.delete("test:s:one", "test:s:two")
    for name in ("one", "two"):
        publish(frontier, name)

    assert (is_paused(client, "one"), is_paused(client, "two")) == (True, False)


def test_a_board_that_comes_back_to_its_file_is_still_held(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    command("schedule", "hold", "one/b2")
    less = site_text("one").replace("boards: [1, {id: b2, interval_s: 60}]", "boards: [1]")
    publish_site(frontier, parse_site(less, "one.yaml"), None)

    publish(frontier, "one")

    assert [board.is_held for board in Inspector(frontier).boards("one")] == [False, True]
