"""A database of an earlier or a later version than the program that opens it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import inspect, text

from crawl_tasks.errors import StoreError
from crawl_tasks.model import Comment
from crawl_tasks.store.database import Database
from crawl_tasks.store.migrations import STEPS, Step, version_after
from crawl_tasks.store.upsert import Store, Written
from tests.store.rows import page

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
