"""A database of an earlier or a later version than the program that opens it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from sqlalchemy import inspect, text

from crawl_tasks.errors import StoreError
from crawl_tasks.model import Comment, Forum, Items, Post
from crawl_tasks.store.database import Database
from crawl_tasks.store.migrations import FIRST, STEPS, Step, version_after
from crawl_tasks.store.upsert import Store
from crawl_tasks.store.written import Written
from tests.store.conftest import empty_schema
from tests.store.rows import page, row, versions

NEXT: tuple[Step, ...] = (
    *STEPS,
    ("ALTER TABLE comments ADD COLUMN likes BIGINT", "CREATE INDEX comments_by_likes ON comments (site, likes)"),
    ("ALTER TABLE posts ADD COLUMN tags TEXT",),
)

NewUrl = Callable[[], str]


def columns(database: Database, table: str) -> set[str]:
    with database.reading() as connection:
        return {column["name"] for column in inspect(connection).get_columns(table)}


def version(database: Database) -> str:
    with database.reading() as connection:
        return str(connection.execute(text("SELECT value FROM meta WHERE name = 'schema'")).scalar_one())


def test_an_older_database_is_brought_up_with_what_is_in_it(new_url: NewUrl) -> None:
    url = new_url()
    with Store(url) as store:
        store.write([page(Comment("1", "7", 1.0, body="b"))])
    newer = Database(url, steps=NEXT)

    newer.open(create=True)

    assert {"likes", "body"} <= columns(newer, "comments")
    assert "tags" in columns(newer, "posts")
    assert version(newer) == str(version_after(NEXT))
    with newer.reading() as connection:
        assert connection.execute(text("SELECT body, likes FROM comments")).one() == ("b", None)
    newer.close()


def test_a_database_between_two_versions_takes_only_the_steps_it_lacks(new_url: NewUrl) -> None:
    url = new_url()
    for steps in (STEPS, NEXT[:-1], NEXT, NEXT):
        database = Database(url, steps=steps)
        database.open(create=True)
        database.close()

    assert version(database) == str(version_after(NEXT))
    database.close()


def test_a_worker_of_the_version_before_goes_on_writing(new_url: NewUrl) -> None:
    url = new_url()
    with Store(url) as old:
        old.write([page(Comment("1", "7", 1.0, body="b"))])
        newer = Database(url, steps=NEXT)
        newer.open(create=True)

        again = old.write([page(Comment("1", "7", 2.0, body="edited"), Comment("1", "8", 2.0, body="new"))])

    assert (again.new_comments, again.changed_comments) == (1, 1)
    newer.close()


def test_a_later_schema_is_refused_with_one_line_and_left_as_it_is(new_url: NewUrl) -> None:
    url = new_url()
    newer = Database(url, steps=NEXT)
    newer.open(create=True)

    for create in (True, False):
        with pytest.raises(
            StoreError, match=r"^store: \S+: has schema \d+, this program knows \d+; install .*later one$"
        ):
            Store(url).open(create=create)

    assert version(newer) == str(version_after(NEXT))
    newer.close()


@pytest.mark.parametrize("create", [True, False])
def test_a_database_of_before_the_first_release_is_refused_with_one_line(new_url: NewUrl, *, create: bool) -> None:
    url = new_url()
    with Store(url) as store, store.database.writing() as connection:
        connection.execute(text(f"UPDATE meta SET value = '{FIRST - 1}' WHERE name = 'schema'"))

    with pytest.raises(StoreError, match=r"^store: \S+: was made by a version before 0.2, .* to a new database$"):
        Store(url).open(create=create)


def test_who_only_reads_does_not_change_an_older_database(new_url: NewUrl) -> None:
    url = new_url()
    Store(url).open().close()
    newer = Database(url, steps=NEXT)

    with pytest.raises(StoreError, match="start its store worker once"):
        newer.open(create=False)

    with Store(url) as old:
        assert old.write([page(Comment("1", "7", 1.0))]) == Written(new_comments=1)


def test_of_several_workers_that_start_at_once_one_brings_the_database_up(new_url: NewUrl) -> None:
    url = new_url()
    Store(url).open().close()
    failed: list[BaseException] = []

    def start() -> None:
        database = Database(url, steps=NEXT)
        try:
            database.open(create=True)
        except StoreError as error:
            failed.append(error)
        database.close()

    workers = [threading.Thread(target=start) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert failed == []


def test_a_step_that_fails_leaves_the_database_as_it_was(new_url: NewUrl) -> None:
    url = new_url()
    Store(url).open().close()
    broken = Database(url, steps=(*NEXT, ("ALTER TABLE nowhere ADD COLUMN x BIGINT",)))

    with pytest.raises(StoreError):
        broken.open(create=True)

    database = Database(url)
    database.open(create=False)
    assert "likes" not in columns(database, "comments")
    database.close()


YEAR_S = 365 * 86400.0


def test_an_edit_seen_now_becomes_the_row_of_a_forum_whose_clock_was_a_year_ahead(new_url: NewUrl) -> None:
    url, now = new_url(), time.time()
    ahead = now + YEAR_S
    with Store(url) as store:
        store.write(
            [page(Post("1", ahead, title="t", body="old", state="normal"), Comment("1", "7", ahead, body="old"))]
        )
        store.bring_back(now)
        store.write([page(Post("1", time.time(), title="t", body="new"), Comment("1", "7", time.time(), body="new"))])

        assert row(store, "posts")["body"] == row(store, "comments")["body"] == "new"
        assert {("body", "old")} == set(versions(store))


def test_every_time_of_a_row_from_the_future_is_brought_back(new_url: NewUrl) -> None:
    url, now = new_url(), time.time()
    ahead = now + YEAR_S
    pages = [
        Items("site", (Forum("3", "f", "http://forum.test/3"),), (Post("1", ahead, title="t", body="first"),)),
        page(Post("1", ahead + 10, title="t", body="second", extra={"likes": "1"})),
        page(Post("1", ahead + 20, title="t", view_count=7)),
    ]

    with Store(url) as store:
        store.write(pages)
        store.bring_back(now)
        post = row(store, "posts")
        with store.database.reading() as connection:
            [version_at] = connection.execute(text("SELECT seen_at FROM versions")).scalars().all()

    stamps = [float(group.split(" ")[0]) for group in str(post["stamps"]).split(";") if group[0].isdigit()]
    assert stamps
    for at in (post["seen_at"], post["first_seen_at"], post["fetched_at"], version_at, *stamps):
        assert now <= float(str(at)) <= time.time()
    assert (post["body"], post["view_count"]) == ("second", 7)


def test_rows_of_the_past_are_left_as_they_are(new_url: NewUrl) -> None:
    with Store(new_url()) as store:
        store.write([page(Post("1", 10.0, body="b"), Comment("1", "7", 20.0)), page(Post("1", 30.0, view_count=1))])
        store.bring_back(time.time())
        post, comment = row(store, "posts"), row(store, "comments")

    assert (post["first_seen_at"], post["fetched_at"], post["seen_at"], comment["seen_at"]) == (10.0, 10.0, 30.0, 20.0)


def test_an_open_database_is_mended_only_of_what_is_well_after_the_clock(new_url: NewUrl) -> None:
    with Store(new_url()) as store:
        store.write([page(Comment("1", "7", 1010.0), Comment("1", "8", 1000.0 + YEAR_S))])

        assert store.ahead(1000.0) == [("site", "comments")]
        assert store.bring_back(1000.0) == 1
        assert store.ahead(1000.0) == []
        assert store.newest("site") == 1010.0
        assert store.newest("another") == 0.0


BY_TIME = "comments_by_time"


VALID = """
SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indisvalid AND relnamespace = current_schema()::regnamespace
"""


def indexes(database: Database) -> set[str]:
    """Return the names of the indexes that queries may use."""
    with database.reading() as connection:
        is_lite = connection.dialect.name == "sqlite"
        found = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'index'" if is_lite else VALID))
        return set(found.scalars())


def without_indexes(url: str) -> None:
    """Make a database of the version that had no indexes by time."""
    with Store(url) as store:
        store.write([page(Comment("1", "7", 1.0, author="ann", created_at=1))])
        with store.database.writing() as connection:
            for name in (BY_TIME, "posts_by_time"):
                connection.execute(text(f"DROP INDEX {name}"))


def test_missing_indexes_are_built_when_a_store_worker_starts_and_by_no_reader(new_url: NewUrl) -> None:
    url = new_url()
    without_indexes(url)

    with Store(url).open(create=False) as reader:
        assert BY_TIME not in indexes(reader.database)
    with Store(url) as store:
        assert {BY_TIME, "comments_by_change"} <= indexes(store.database)


def test_several_workers_that_start_at_once_build_the_indexes_once(new_url: NewUrl) -> None:
    url = new_url()
    without_indexes(url)
    failed: list[BaseException] = []

    def start() -> None:
        try:
            Store(url).open().close()
        except StoreError as error:
            failed.append(error)

    workers = [threading.Thread(target=start) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert failed == []
    with Store(url) as store:
        assert BY_TIME in indexes(store.database)


def test_an_index_that_cannot_be_built_now_keeps_no_worker_from_writing(
    new_url: NewUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawl_tasks.store.migrations._LOCK_TIMEOUT", "100ms")
    url = new_url()
    without_indexes(url)
    reader = Store(url, busy_timeout_s=0.1).open(create=False)
    with reader.database.writing() as held:  # an old transaction, which a concurrent build waits for
        held.execute(text("UPDATE comments SET author = author"))
        with Store(url, busy_timeout_s=0.1) as store:
            assert BY_TIME not in indexes(store.database)

    with Store(url) as store:
        assert store.write([page(Comment("1", "8", 1.0))]) == Written(new_comments=1)
        assert BY_TIME in indexes(store.database)
    reader.close()


def test_an_index_whose_build_was_cut_off_is_built_again(postgres_server: str) -> None:
    url = empty_schema(postgres_server)
    is_valid = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)").bindparams(name=BY_TIME)
    with Store(url) as store:
        with store.database.writing() as connection:
            connection.execute(
                text("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(:name)"), {"name": BY_TIME}
            )
        store.database.open(create=True)

        with store.database.reading() as connection:
            assert connection.execute(is_valid).scalar_one() is True
