"""What recovery and summaries read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy.event import listen

from crawl_tasks.model import FULL_REACH, Comment, Forum, Items, Post, Request, Stage, Visit
from crawl_tasks.store.queries import SiteCounts, counts, posting_hours, read_by, readers, remembered, with_stored
from crawl_tasks.store.upsert import Store
from tests.store.rows import page


def test_counts_are_per_site(store: Store) -> None:
    listed = Items("one", (Forum("f"),), (Post("1", 1.0, title="a"), Post("2", 2.0)), (Comment("1", "7", 1.0),))
    store.write(
        [listed, page(Post("1", 3.0, title="b", body="b"), site="one"), page(Comment("9", "1", 9.0), site="two")]
    )

    assert counts(store) == [
        SiteCounts("one", forums=1, posts=2, fetched_posts=1, comments=1, versions=1, last_seen_at=3.0),
        SiteCounts("two", comments=1),
    ]
    assert [found.site for found in counts(store, "two")] == ["two"]
    assert counts(store, "three") == []


def test_the_last_reply_of_each_thread_stands_for_comments_without_times(store: Store) -> None:
    thread = Post("7", 1.0, forum_id="1", url="http://f/7", created_at=3_600_000, last_reply_at=7_200_100)
    store.write([Items("demo", posts=(thread,), comments=(Comment("7", "a", 1.0),))])

    assert posting_hours(store, "demo", 0, 9_999_999) == {"1": {3_600_000: 1, 7_200_000: 1}}
    assert posting_hours(store, "demo", 3_600_001, 7_200_100) == {}


def test_stored_requests_are_found_by_the_primary_key(tmp_path: Path) -> None:
    asked = [Request("site", stage, "1", "http://f/1") for stage in (Stage.POST, Stage.COMMENT)]
    said: list[tuple[str, tuple[object, ...]]] = []
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        listen(store.database.engine, "before_cursor_execute", lambda *call: said.append(call[2:4]))
        with_stored(store, asked, [Stage.POST, Stage.COMMENT])

    with closing(sqlite3.connect(tmp_path / "crawl.db")) as database:
        queries = [(f"EXPLAIN QUERY PLAN {sql}", values) for sql, values in said if "FROM requests" in sql]
        plans = [database.execute(*query).fetchone()[3] for query in queries]
    assert len(plans) == 2
    assert all("(site=? AND stage=? AND key=?)" in plan for plan in plans), plans


def test_streams_can_be_left_early(store: Store) -> None:
    visits = [
        Visit("site", "post", str(n), 1, f"http://f/{n}", 5, FULL_REACH, "", 1, is_done=True) for n in range(3000)
    ]
    store.write([page(Post("0", 1.0))._replace(visits=tuple(visits))])

    stream = remembered(store, "site")
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # an iterator that is a generator

    assert store.write([page(Post("0", 2.0))]).unchanged_posts == 1


def test_what_a_version_read_is_named_page_by_page_those_longest_not_fetched_first(store: Store) -> None:
    threads = page(
        Post("1", 1.0, url="http://f/1", body="b", revision="r"), Comment("1", "7", 1.0), Comment("2", "8", 1.0)
    )
    visits = tuple(
        Visit("site", "comment", key, number, f"http://f/{key}/{number}", 5, FULL_REACH, "c", at, is_done=True)
        for key, number, at in (("1", 2, 9), ("1", 3, 8), ("3", 2, 7))
    )
    store.write([threads._replace(visits=visits, read_by="old"), page(Comment("2", "8", 2.0))._replace(read_by="new")])

    found = [(one.stage, one.address, one.page, one.revision) for one in read_by(store, "site", "old")]

    assert readers(store, "site") == ["new", "old"]
    assert found == [
        (Stage.POST, "http://f/1", 1, "r"),
        (Stage.COMMENT, "http://f/1/3", 3, "c"),
        (Stage.COMMENT, "http://f/1/2", 2, "c"),
    ]
