"""What the store says when the database is not as it must be: one line, and no batch by halves."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import make_url

from crawl_tasks.errors import StoreError
from crawl_tasks.model import Comment, Items
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.monitor.problems.setup_kinds import DATABASE_DOWN
from crawl_tasks.operate.installation import Fact, examine_machine
from crawl_tasks.settings import load_settings
from crawl_tasks.store.migrations import STEPS, version_after
from crawl_tasks.store.upsert import Store
from crawl_tasks.store.written import Written
from tests.store.conftest import PASSWORD, empty_schema
from tests.store.rows import dump, page, row

ONE = [page(Comment("1", "7", 1.0, body="b"))]


def open_fails(url: str, *, create: bool = True) -> str:
    """Open a store that must not open, and return what it says."""
    with pytest.raises(StoreError) as caught:
        Store(url).open(create=create).close()
    said = str(caught.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "cannot be read"),
        ("", "cannot be read"),
        ("oracle://ann:secret@host/x", "not supported"),
        ("mysql://ann:secret@host/x", "not supported"),
        ("sqlite+nodriver:///x", "unknown kind"),
    ],
)
def test_a_url_we_cannot_use_is_refused_without_its_password(url: str, says: str) -> None:
    said = open_fails(url)

    assert says in said
    assert "sqlite:///FILE" in said
    assert "secret" not in said


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    said = open_fails(f"sqlite:///{tmp_path}/file/crawl.db")

    assert str(tmp_path / "file" / "crawl.db") in said
    assert "that you may write to" in said


def test_missing_directories_are_made(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/a/b/crawl.db") as store:
        assert store.write(ONE) == Written(new_comments=1)


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    assert "cannot be opened" in open_fails(f"sqlite:///{tmp_path}")


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    path.write_text("a letter to my aunt " * 100)

    assert "not an SQLite database" in open_fails(f"sqlite:///{path}")
    assert path.read_text().startswith("a letter")


def test_reading_does_not_make_a_database(tmp_path: Path) -> None:
    said = open_fails(f"sqlite:///{tmp_path}/crawl.db", create=False)

    assert "no such file" in said
    assert list(tmp_path.iterdir()) == []


def test_reading_an_empty_database_says_so(tmp_path: Path) -> None:
    (tmp_path / "crawl.db").touch()

    assert "no crawl was ever stored" in open_fails(f"sqlite:///{tmp_path}/crawl.db", create=False)


def test_a_read_only_database_can_be_read_and_not_written(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        store.write(ONE)
    read_only = Store(f"sqlite:///file:{tmp_path}/crawl.db?mode=ro&uri=true").open(create=False)

    with pytest.raises(StoreError, match="read-only; make the file"):
        read_only.write(ONE)

    assert len(dump(read_only)["comments"]) == 1
    read_only.close()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("CREATE TABLE posts (id INTEGER)", "tables of another program (posts)"),
        ("CREATE TABLE meta (key TEXT)", "belongs to another program"),
        ("CREATE TABLE meta (name TEXT, value TEXT)", "belongs to another program"),
    ],
)
def test_a_foreign_database_is_refused_and_left_as_it_is(tmp_path: Path, script: str, says: str) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.executescript(script)
    before = other.execute("SELECT sql FROM sqlite_master").fetchall()

    assert says in open_fails(f"sqlite:///{path}")
    assert other.execute("SELECT sql FROM sqlite_master").fetchall() == before
    other.close()


def test_a_newer_schema_is_refused(store: Store) -> None:
    with store.database.writing() as connection:
        connection.execute(text("UPDATE meta SET value = '99' WHERE name = 'schema'"))

    said = open_fails(store.database.url.render_as_string(hide_password=False))

    assert f"has schema 99, this program knows {version_after(STEPS)}" in said


def test_a_locked_database_is_waited_for_then_named_and_nothing_is_lost(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/crawl.db", busy_timeout_s=0.05).open()
    other = sqlite3.connect(tmp_path / "crawl.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreError, match="another process holds the database"):
        store.write(ONE)
    other.execute("COMMIT")

    assert store.write(ONE) == Written(new_comments=1)
    other.close()
    store.close()


def test_a_writer_holds_the_lock_from_its_first_moment(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/crawl.db").open()
    other = sqlite3.connect(tmp_path / "crawl.db", timeout=0, isolation_level=None)

    with store.database.writing(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")

    other.close()
    store.close()


def test_a_row_being_merged_is_held_against_other_writers(postgres_server: str) -> None:
    url = make_url(empty_schema(postgres_server))
    hasty = url.update_query_dict({"options": f"{url.query['options']} -clock_timeout=100"})
    slow = Store(url.render_as_string(hide_password=False)).open()
    quick = Store(hasty.render_as_string(hide_password=False)).open()
    newest = [page(Comment("1", "7", 3.0, body="newest"))]
    refused: list[str] = []

    def write_between(*call: object) -> None:
        if str(call[2]).startswith("SELECT comments"):
            with pytest.raises(StoreError) as caught:
                quick.write(newest)
            refused.append(str(caught.value))

    slow.write(ONE)
    event.listen(slow.database.engine, "after_cursor_execute", write_between)
    slow.write([page(Comment("1", "7", 2.0, body="newer"))])
    event.remove(slow.database.engine, "after_cursor_execute", write_between)
    quick.write(newest)

    assert len(refused) == 1
    assert row(slow, "comments")["body"] == "newest"
    slow.close()
    quick.close()


def test_a_full_disk_stores_nothing_of_the_batch_and_all_of_it_later(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/crawl.db")
    event.listen(store.database.engine, "connect", lambda lite, _: lite.execute("PRAGMA max_page_count = 30"))
    store.open()
    batch = [page(*(Comment("1", str(number), 1.0, body="x" * 1000) for number in range(500)))]

    with pytest.raises(StoreError, match="disk is full; free some space"):
        store.write(batch)
    after = dump(store)["comments"]
    with store.database.reading() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 3000")

    assert after == []
    assert store.write(batch) == Written(new_comments=500)
    store.close()


def test_a_file_that_is_gone_is_not_written_to_unseen(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    store = Store(f"sqlite:///{path}").open()
    path.unlink()

    with pytest.raises(StoreError, match="is gone or was replaced"):
        store.write(ONE)

    assert not path.exists()
    store.close()


def test_a_file_that_was_replaced_is_not_written_to(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/crawl.db").open()
    Store(f"sqlite:///{tmp_path}/other.db").open().close()
    (tmp_path / "other.db").replace(tmp_path / "crawl.db")

    with pytest.raises(StoreError, match="is gone or was replaced"):
        store.write(ONE)

    store.close()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    with Store(f"sqlite:///{path}") as store:
        store.write([page(*(Comment("1", str(number), 1.0, body="x" * 500) for number in range(500)))])
    whole = path.read_bytes()
    path.write_bytes(whole[:16384] + b"\xff" * (len(whole) - 16384))

    store = Store(f"sqlite:///{path}")
    with pytest.raises(StoreError, match="damaged"):
        dump(store.open(create=False))

    store.close()


def test_an_error_halfway_leaves_nothing_of_the_batch(store: Store) -> None:
    with store.database.writing() as connection:
        connection.execute(text("DROP TABLE versions"))
    batch = [page(Comment("1", "7", 1.0, body="old")), page(Comment("1", "7", 2.0, body="new"))]

    with pytest.raises(StoreError):
        store.write(batch)

    with store.database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM comments")).scalar_one() == 0


def test_a_wrong_password_is_said_and_never_shown(postgres_server: str) -> None:
    url = make_url(empty_schema(postgres_server)).set(password="hunter2")
    try:
        Store(url.render_as_string(hide_password=False)).open().close()
        pytest.skip("this server asks for no password")
    except StoreError as refusal:
        said = str(refusal)

    assert "user or password is wrong; mend the database URL" in said
    assert "hunter2" not in said


def test_a_server_that_is_not_there_is_said(unused_port: int) -> None:
    said = open_fails(f"postgresql://ann:hunter2@127.0.0.1:{unused_port}/crawl")

    assert "no server listens there" in said
    assert "hunter2" not in said


def test_a_database_that_is_not_there_is_said(postgres_server: str) -> None:
    url = make_url(postgres_server).set(database="not_there")

    assert "lacks a database" in open_fails(url.render_as_string(hide_password=False))


def test_connections_the_server_ended_are_replaced(postgres_server: str) -> None:
    url = empty_schema(postgres_server)
    store = Store(url).open()
    store.write(ONE)
    admin = create_engine(url)
    with admin.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND application_name = current_setting('application_name')"
            )
        )
    admin.dispose()

    assert store.write(ONE) == Written(unchanged_comments=1)
    store.close()


def test_a_connection_lost_inside_the_transaction_is_tried_again_at_once(postgres_server: str) -> None:
    store = Store(empty_schema(postgres_server)).open()
    cut: list[object] = []

    def cut_once(connection: object, *_: object) -> None:
        if not cut:
            cut.append(connection)
            connection.connection.driver_connection.close()  # type: ignore[attr-defined]  # a Connection of SQLAlchemy

    event.listen(store.database.engine, "before_cursor_execute", cut_once)
    written = store.write(ONE)

    assert written == Written(new_comments=1)
    assert len(dump(store)["comments"]) == 1
    store.close()


def test_items_that_are_empty_open_no_transaction(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/crawl.db").open()
    begun: list[object] = []
    event.listen(store.database.engine, "begin", begun.append)

    store.write([Items("site")])

    assert begun == []
    store.close()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "WIN1252", "EUC_JP"])
def test_a_database_that_cannot_hold_all_texts_is_refused_in_one_line(postgres_server: str, encoding: str) -> None:
    name = f"crawl_test_{encoding.lower()}"
    url = make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name}"))
        connection.execute(text(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"))
    engine.dispose()

    said = open_fails(url.set(database=name).render_as_string(hide_password=False))

    assert f"its encoding is {encoding}, which does not hold all texts" in said
    assert "createdb --encoding=UTF8" in said


def checked(url: str) -> Fact | Problem:
    """Return what `check` says of a database."""
    found = list(examine_machine(load_settings({"CRAWL_DATABASE_URL": url})))
    [database] = [
        one for one in found if (one.subject == "database" if isinstance(one, Fact) else one.name == DATABASE_DOWN.name)
    ]
    return database


def test_an_empty_database_is_told_from_one_in_which_this_user_may_make_nothing(postgres_server: str) -> None:
    server, name = make_url(postgres_server).set(drivername="postgresql+psycopg"), f"crawl_empty_{os.getpid()}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0"))
        connection.execute(text(f"CREATE ROLE {name} LOGIN PASSWORD 'open-sesame'"))
    engine.dispose()
    of_owner = server.set(database=name).render_as_string(hide_password=False)
    of_other = server.set(database=name, username=name, password=PASSWORD).render_as_string(hide_password=False)
    of_owner, of_other = (url.replace("+psycopg", "") for url in (of_owner, of_other))

    empty, shut = checked(of_owner), checked(of_other)

    assert (type(empty), type(shut)) == (Fact, Problem)
    assert "is empty yet; the first crawl fills it" in empty.text
    assert f"run GRANT USAGE, CREATE ON SCHEMA public TO {name}" in shut.text
    assert "this user may not do that; grant it CREATE and USAGE on the schema" in open_fails(of_other)
    with Store(of_owner):
        assert "is open for writing" in checked(of_owner).text
