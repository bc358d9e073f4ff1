"""A database that fails under a store worker: items wait in the outbox and are stored once when it is well again."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
import redis
from sqlalchemy import create_engine, text

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Comment, Items
from crawl_tasks.store.upsert import Store
from tests.store.conftest import Cluster, empty_schema
from tests.store.rows import page
from tests.store.waiting_items import Waiting

Fault = Callable[[Store], AbstractContextManager[object]]


def _tell(store: Store, command: str) -> None:
    """Run a command on the connection that the store will use next."""
    with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(command)


def _file(store: Store) -> Path:
    return Path(str(store.database.url.database))


@contextmanager
def locked(store: Store) -> Iterator[None]:
    other = sqlite3.connect(_file(store), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.close()


@contextmanager
def full(store: Store) -> Iterator[None]:
    _tell(store, "PRAGMA max_page_count = 1")  # SQLite takes the present size instead: nothing can be added
    yield
    _tell(store, "PRAGMA max_page_count = 100000")


@contextmanager
def read_only(store: Store) -> Iterator[None]:
    _tell(store, "PRAGMA query_only = 1")
    yield
    _tell(store, "PRAGMA query_only = 0")


@contextmanager
def gone(store: Store) -> Iterator[None]:
    away = _file(store).rename(_file(store).with_suffix(".away"))
    yield
    away.rename(_file(store))


@contextmanager
def replaced(store: Store) -> Iterator[None]:
    away = _file(store).rename(_file(store).with_suffix(".away"))
    _file(store).touch()
    yield
    away.rename(_file(store))


@contextmanager
def server_read_only(store: Store) -> Iterator[None]:
    _tell(store, "SET default_transaction_read_only = on")
    yield
    _tell(store, "SET default_transaction_read_only = off")


@contextmanager
def rows_held(store: Store) -> Iterator[None]:
    """Another session holds what the store wants to write, for longer than the server lets a statement wait."""
    other = create_engine(store.database.url)
    with other.connect() as connection:
        connection.execute(text("LOCK TABLE comments IN EXCLUSIVE MODE"))
        _tell(store, "SET statement_timeout = 50")
        yield
    other.dispose()
    store.database.engine.dispose()


@pytest.fixture
def waiting(client: redis.Redis, tmp_path: Path) -> Iterator[Waiting]:
    with Store(f"sqlite:///{tmp_path}/crawl.db", busy_timeout_s=0.05) as store:
        yield Waiting(client, store)


@pytest.fixture
def waiting_for_postgres(client: redis.Redis, postgres_server: str) -> Iterator[Waiting]:
    with Store(empty_schema(postgres_server)) as store:
        yield Waiting(client, store)


def check_nothing_is_lost(waiting: Waiting, fault: Fault, says: str, caplog: pytest.LogCaptureFixture) -> None:
    waiting.add(1)
    waiting.worker.run()
    waiting.add(2, 3)

    with fault(waiting.store), caplog.at_level(logging.ERROR):
        said = [waiting.store_again() for _ in range(3)]
        waited = waiting.frontier.outbox.size()
        waiting.later()
        said.append(waiting.store_again())
    waiting.later()

    assert said == ["failed", "not now", "not now", "failed"]
    [told] = caplog.records  # of two failures
    assert says in str(vars(told)["error"])
    assert told.exc_info is None
    assert waited == 2
    assert waiting.worker.run() == "2 pages"
    assert caplog.messages[1:] == ["works again"]
    assert waiting.stored() == ["1", "2", "3"]
    assert waiting.frontier.outbox.size() == 0
    assert Inspector(waiting.frontier).count_requests("demo").stats["comment:new"] == 3


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (locked, "another process holds the database"),
        (full, "the disk is full; free some space"),
        (read_only, "read-only; make the file"),
        (gone, "is gone or was replaced while in use; put it back"),
        (replaced, "is gone or was replaced while in use; put it back"),
    ],
)
def test_items_wait_while_a_file_fails_and_are_stored_once_afterwards(
    waiting: Waiting, fault: Fault, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    check_nothing_is_lost(waiting, fault, says, caplog)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (server_read_only, "the server is read-only; point the URL at the primary"),
        (rows_held, "longer than the server allows"),
    ],
)
def test_items_wait_while_a_server_fails_and_are_stored_once_afterwards(
    waiting_for_postgres: Waiting, fault: Fault, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    check_nothing_is_lost(waiting_for_postgres, fault, says, caplog)


def test_items_wait_while_the_server_is_stopped_and_are_stored_once_afterwards(
    client: redis.Redis, small_cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    @contextmanager
    def stopped(_: Store) -> Iterator[None]:
        small_cluster.stop()
        yield
        small_cluster.start()

    with Store(empty_schema(small_cluster.url)) as store:
        check_nothing_is_lost(Waiting(client, store), stopped, "no server listens there", caplog)


def test_items_wait_while_the_server_has_no_connection_left(
    client: redis.Redis, small_cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    @contextmanager
    def used_up(store: Store) -> Iterator[None]:
        store.database.engine.dispose()
        others = create_engine(store.database.url)
        with ExitStack() as held:
            for _ in range(4):
                held.enter_context(others.connect())
            yield
        others.dispose()

    with Store(empty_schema(small_cluster.url)) as store:
        check_nothing_is_lost(Waiting(client, store), used_up, "the server has no connection left", caplog)


def test_a_server_restarted_between_two_batches_is_not_noticed(client: redis.Redis, small_cluster: Cluster) -> None:
    with Store(empty_schema(small_cluster.url)) as store:
        waiting = Waiting(client, store)
        waiting.add(1)
        waiting.worker.run()
        small_cluster.stop()
        small_cluster.start()
        waiting.add(2)

        assert waiting.worker.run() == "1 pages"
        assert waiting.stored() == ["1", "2"]


def test_a_damaged_file_is_named_kept_and_not_begun_anew(waiting: Waiting, caplog: pytest.LogCaptureFixture) -> None:
    waiting.add(*range(1, 4))
    waiting.worker.run()
    waiting.add(4)
    waiting.store.close()
    file = _file(waiting.store)
    whole = file.read_bytes()
    damaged = whole[:8192] + b"\xff" * (len(whole) - 8192)
    file.write_bytes(damaged)

    assert waiting.store_again() == "failed"

    assert "the file is damaged; restore a backup" in str(caplog.records[-1].__dict__["error"])
    assert waiting.frontier.outbox.size() == 1
    assert file.read_bytes() == damaged


def test_a_database_that_begins_anew_under_an_old_ledger_is_said(
    waiting: Waiting, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    waiting.add(1)
    waiting.worker.run()
    said_at_first = caplog.text
    waiting.add(2)

    with Store(f"sqlite:///{tmp_path}/other.db") as other:
        again = Waiting(waiting.client, other)
        assert again.worker.run() == "1 pages"

    assert said_at_first == ""
    assert [record.message for record in caplog.records] == [
        "the database is new, but items of this ledger are in another one"
    ]


def test_what_no_database_takes_is_laid_aside_and_the_rest_is_stored(waiting: Waiting) -> None:
    waiting.add(*range(1, 8))
    # Another page's number, as no forum has it and no column holds it.
    trail = ["1", f'1 post 5 1 http://127.0.0.1/post/9 ["9",{2**63},""]']
    waiting.client.xadd("test:outbox", {"items": json.dumps(["demo", [], [], [["7", "9", 1.0]], [], [], "v", trail])})

    waiting.worker.run()

    assert waiting.stored() == [str(number) for number in range(1, 8)]
    assert waiting.frontier.outbox.size() == 0
    [rejected] = Admin(waiting.frontier).failed.items.list()
    assert (b'"9"' in rejected.items, "cannot be stored" in rejected.reason) == (True, True)


def test_a_wrong_kind_of_value_from_a_function_costs_the_value_not_the_item(store: Store) -> None:
    odd = Comment("7", "1", "soon", created_at="yesterday", depth=1.5, body=["b"], extra="x")  # type: ignore[arg-type]

    store.write([page(odd)])

    with store.database.reading() as connection:
        [row] = connection.execute(text("SELECT seen_at, created_at, depth, body, extra FROM comments"))
    assert tuple(row) == (0.0, None, 1, "['b']", None)
    assert store.write([Items("site")]).new_comments == 0


def test_a_connection_that_cannot_commit_is_replaced_and_the_batch_is_stored(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path / 'crawl.db'}") as store:
        held = store.database.engine.raw_connection()
        unfetched = held.cursor()
        unfetched.execute("INSERT INTO meta (name, value) VALUES ('a', '1'), ('b', '2') RETURNING name")
        held.close()  # back into the pool, and the statement goes on

        written = store.write([page(Comment("1", "1", 1.0, body="hello"))])

        assert written.new_comments == 1


def test_a_change_feed_outlasts_a_restart_of_the_server(client: redis.Redis, small_cluster: Cluster) -> None:
    url = empty_schema(small_cluster.url)
    command = [sys.executable, "-m", "crawl_tasks", "export", "--follow"]
    with Store(url) as store:
        waiting = Waiting(client, store)
        waiting.add(1)
        waiting.worker.run()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, env=os.environ | {"CRAWL_DATABASE_URL": url}, **pipes) as feed:
            assert feed.stdout
            assert feed.stderr
            first = json.loads(feed.stdout.readline())
            small_cluster.stop()
            told = feed.stderr.readline()
            small_cluster.start()
            waiting.add(2)
            waiting.worker.run()
            second = json.loads(feed.stdout.readline())
            over = feed.stderr.readline()
            feed.terminate()

    assert [first["comment_id"], second["comment_id"]] == ["1", "2"]
    assert "the database cannot be read; the feed goes on when it answers" in told
    assert "works again" in over
