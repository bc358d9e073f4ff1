"""Whoever reads the changes on from where they stopped misses nothing, and has in the end what is stored."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, text

from crawl_tasks.errors import ConfigError
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.change_feed import export_changes
from crawl_tasks.store.corrections import Corrections
from crawl_tasks.store.export import export
from crawl_tasks.store.output_format import FORMATS, OutputFormat
from crawl_tasks.store.selection import ExportKind, RowSelection
from crawl_tasks.store.upsert import Store
from tests.store.conftest import MakeStore
from tests.store.rows import empty, page

Row = dict[str, object]


def changes(store: Store, out: Path, after: int = 0, kind: ExportKind = ExportKind.ALL) -> list[Row]:
    export_changes(store, str(out), RowSelection(kind), after=after)
    return lines(out)


def lines(out: Path) -> list[Row]:
    return [json.loads(line) for line in out.read_text("utf-8").split("\n") if line]  # a text may hold other line ends


def named(rows: list[Row]) -> list[tuple[object, ...]]:
    return [(row["kind"], row["post_id"], row.get("comment_id"), row["body"]) for row in rows]


def last(rows: list[Row]) -> int:
    return max(int(str(row["change_id"])) for row in rows)


def test_changes_come_in_the_order_of_their_commits_and_each_row_once(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("2", 1.0, body="old"), Comment("2", "7", 1.0, body="c"))])
    store.write([page(Post("1", 2.0, body="later"))])
    store.write([page(Post("2", 3.0, body="new"))])

    rows = changes(store, tmp_path / "out")

    assert named(rows) == [("comment", "2", "7", "c"), ("post", "1", None, "later"), ("post", "2", None, "new")]


def test_a_reader_who_goes_on_gets_only_what_changed_since(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("1", 1.0, title="t"), Post("2", 1.0, body="b"))])
    known = last(changes(store, tmp_path / "out"))
    store.write([page(Post("1", 2.0, title="t", body="filled"), Post("2", 2.0, body="b", view_count=9))])

    rows = changes(store, tmp_path / "out", after=known)

    assert named(rows) == [("post", "1", None, "filled")]


def test_a_reader_cut_off_within_a_change_gets_that_change_again_and_misses_nothing(
    store: Store, tmp_path: Path
) -> None:
    store.write([page(Post("1", 1.0, body="a"))])
    store.write([page(Post("2", 1.0, body="b"), Post("3", 1.0, body="c"), Comment("3", "7", 1.0, body="d"))])
    read = changes(store, tmp_path / "out")[:2]
    assert [row["body"] for row in read] == ["a", "b"]

    finished = min(int(str(row["change_id"])) for row in read)
    rows = changes(store, tmp_path / "out", after=finished)

    assert [row["body"] for row in rows] == ["b", "c", "d"]


def test_what_is_stored_again_is_no_change(store: Store, tmp_path: Path) -> None:
    batch = [page(Post("1", 1.0, body="b"), Comment("1", "7", 1.0, body="c"))]
    store.write(batch)
    known = last(changes(store, tmp_path / "out"))
    store.write(batch)
    store.write([page(Comment("1", "7", 9.0, body="c"))])

    assert changes(store, tmp_path / "out", after=known) == []


def test_rows_of_a_version_without_changes_come_from_the_beginning_only(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("1", 1.0, body="old"))])
    with store.database.writing() as connection:
        connection.execute(text("UPDATE posts SET change_id = NULL"))
    store.write([page(Post("2", 2.0, body="new"))])

    assert [row["body"] for row in changes(store, tmp_path / "out")] == ["old", "new"]
    assert [row["body"] for row in changes(store, tmp_path / "out", after=1)] == ["new"]


texts = st.sampled_from(["a", "b", None])
observations = st.one_of(
    st.builds(Post, st.sampled_from("12"), st.integers(1, 5).map(float), body=texts, title=texts),
    st.builds(Comment, st.just("1"), st.sampled_from("78"), st.integers(1, 5).map(float), body=texts),
)


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(batches=st.lists(st.lists(observations, min_size=1, max_size=4), min_size=1, max_size=5))
def test_reading_on_after_every_batch_gives_what_is_stored(
    store: Store, tmp_path: Path, batches: list[list[Post | Comment]]
) -> None:
    empty(store)
    seen: dict[tuple[object, ...], object] = {}
    after = store.last_change()
    for batch in batches:
        store.write([page(*batch)])
        rows = changes(store, tmp_path / "out", after)
        assert len({key_of(row) for row in rows}) == len(rows)
        seen |= {key_of(row): row["body"] for row in rows}
        after = max([after, *(int(str(row["change_id"])) for row in rows)])
    export(store, str(tmp_path / "all"), overwrite=True)

    assert seen == {key_of(row): row["body"] for row in lines(tmp_path / "all")}


def key_of(row: Row) -> tuple[object, ...]:
    return row["kind"], row["post_id"], row.get("comment_id")


def test_a_reader_beside_several_writers_misses_nothing(store: Store, tmp_path: Path) -> None:
    url = store.database.url.render_as_string(hide_password=False)

    def write(writer: int) -> None:
        with Store(url) as own:
            for number in range(20):
                own.write(pages_of(writer, number))

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in writers:
        thread.start()
    found: list[Row] = []
    while any(thread.is_alive() for thread in writers):
        found += changes(store, tmp_path / "out", after=last(found) if found else 0)
    for thread in writers:
        thread.join()
    found += changes(store, tmp_path / "out", after=last(found) if found else 0)

    expected = {item.post_id for writer in range(3) for number in range(20) for item in posts_of(writer, number)}
    assert {row["post_id"] for row in found} == expected
    assert len(found) == len(expected)


def pages_of(writer: int, number: int) -> list[Items]:
    return [page(*posts_of(writer, number))]


def posts_of(writer: int, number: int) -> list[Post]:
    return [Post(f"{writer}-{number}-{place}", 1.0, body="b") for place in range(3)]


def test_the_changes_from_the_beginning_are_not_sorted_first(tmp_path: Path) -> None:
    plans: list[str] = []

    def explain(
        _: object, cursor: sqlite3.Cursor, statement: str, parameters: tuple[object, ...], *_rest: object
    ) -> None:
        if " ORDER BY " in statement:
            with closing(sqlite3.connect(tmp_path / "crawl.db")) as database:
                plan = database.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
                plans.extend(str(row[3]) for row in plan)

    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        event.listen(store.database.engine, "before_cursor_execute", explain)
        changes(store, tmp_path / "out")

    assert sum("comments_by_change" in step for step in plans) == 2
    assert [step for step in plans if "TEMP B-TREE" in step or step.startswith("SCAN")] == []


def test_following_hands_on_what_is_stored_meanwhile(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    written = chain([Post("1", 1.0, body="first"), Post("2", 1.0, body="second")])

    def goes_on() -> bool:
        post = next(written, None)
        if post is not None:
            store.write([page(post)])
        return post is not None

    export_changes(store, str(out), goes_on=goes_on)

    assert [row["body"] for row in lines(out)] == ["first", "second"]


@pytest.mark.parametrize(
    "fields",
    [
        {"author": "new name"}, {"created_at": 7}, {"url": "/new"}, {"edited_at": 7}, {"author_id": "9"},
        {"body_html": "<b>b</b>"}, {"extra": {"tags": "x"}}, {"forum_id": "2"}, {"state": "masked"},
    ],
    ids=lambda fields: next(iter(fields)),
)  # fmt: skip
def test_every_value_but_a_count_is_a_change(store: Store, tmp_path: Path, fields: dict[str, Any]) -> None:
    before = {"forum_id": "1", "body": "b", "author": "name", "url": "/old", "is_page": True}
    store.write([page(Post("1", 1.0, **before), Post("2", 1.0, **before))])
    known = store.last_change()

    store.write([page(Post("1", 2.0, **(before | fields)), Post("2", 2.0, **before))])

    assert [row["post_id"] for row in changes(store, tmp_path / "out", after=known)] == ["1"]


@pytest.mark.parametrize(
    "fields",
    [
        {"reply_count": 9}, {"view_count": 9}, {"last_reply_at": 9}, {"revision": "9"},
        {"extra": {"score": "9", "likes": "1.2k"}},
    ],
    ids=lambda fields: next(iter(fields)),
)  # fmt: skip
def test_a_count_is_no_change(store: Store, tmp_path: Path, fields: dict[str, Any]) -> None:
    store.write([page(Post("1", 1.0, body="b", extra={"score": "8", "likes": "7"}))])
    known = store.last_change()

    store.write([page(Post("1", 2.0, body="b", **fields))])

    assert changes(store, tmp_path / "out", after=known) == []


def test_comments_of_a_moved_thread_come_again_with_its_board(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("1", 1.0, "a"), Comment("1", "c", 1.0), Post("2", 1.0, "a"), Comment("2", "c", 1.0))])
    known = store.last_change()
    store.write([page(Post("1", 2.0, "b"), Comment("1", "d", 2.0))])

    rows = changes(store, tmp_path / "out", after=known)

    found = [(row["kind"], row["post_id"], row.get("comment_id"), row["forum_id"], row["change_id"]) for row in rows]
    moved = known + 1
    assert sorted(found, key=str) == [
        ("comment", "1", "c", "b", known),
        ("comment", "1", "d", "b", moved),
        ("post", "1", None, "b", moved),
    ]
    assert changes(store, tmp_path / "out", after=moved) == []


def test_a_thread_that_is_stored_after_its_comments_gives_them_their_board(store: Store, tmp_path: Path) -> None:
    store.write([page(Comment("1", "c", 1.0))])
    known = store.last_change()
    store.write([page(Post("1", 1.0, "a"))])

    rows = changes(store, tmp_path / "out", after=known)

    assert [(row["kind"], row["forum_id"]) for row in rows] == [("post", "a"), ("comment", "a")]


def test_an_erased_site_and_what_is_stored_of_it_later_come_in_that_order(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("1", 1.0)), page(Post("1", 1.0), site="other")])
    known = store.last_change()
    store.erase("site", 2000)
    store.write([page(Post("1", 3.0))])

    for kind in (ExportKind.ALL, ExportKind.POSTS):
        rows = changes(store, tmp_path / "out", after=known, kind=kind)
        found = [(row["kind"], row["site"], row["post_id"], row.get("comment_id")) for row in rows]
        assert found == [("removed", "site", None, None), ("post", "site", "1", None)]
    assert [row["kind"] for row in changes(store, tmp_path / "out", known, ExportKind.COMMENTS)] == ["removed"]
    export_changes(store, str(tmp_path / "out"), RowSelection(sites=["other"]), after=known)
    assert lines(tmp_path / "out") == []


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_removals_come_in_every_format_and_with_chosen_columns(
    store: Store, tmp_path: Path, form: OutputFormat
) -> None:
    store.write([page(Post("1", 1.0, title="a title"))])
    store.erase("site", 2000)
    store.write([page(Post("1", 3.0, title="a title"))])
    fields = ("change_id", "kind", "title", "site", "post_id", "comment_id")

    for number, names in enumerate(((), fields)):
        out = tmp_path / f"{number}.{form.name}"
        export_changes(store, str(out), RowSelection(fields=names), form)
        rows = duckdb.execute(f"SELECT kind, post_id, title FROM '{out}' ORDER BY change_id").fetchall()

        assert [(kind, str(post_id or ""), title or "") for kind, post_id, title in rows] == [
            ("removed", "", ""),
            ("post", "1", "a title"),
        ]


def test_rows_that_a_reread_finds_no_more_are_told_as_removed(new_store: MakeStore, tmp_path: Path) -> None:
    store, scratch = new_store(), new_store()
    store.write([page(Post("1", 1.0, "f"), Comment("1", "c", 1.0), Comment("1", "d", 2.0))])
    known = store.last_change()
    corrections = Corrections(store, scratch, "site")
    corrections.add(1.0, Items("site"))

    corrections.apply()

    rows = changes(store, tmp_path / "out", after=known)
    found = {(row["kind"], row["post_id"], row["comment_id"], row.get("forum_id")) for row in rows}
    assert found == {("removed", "1", None, None), ("removed", "1", "c", None), ("comment", "1", "d", None)}


def test_a_number_ahead_of_the_database_is_refused_with_the_way_out(store: Store, tmp_path: Path) -> None:
    store.write([page(Post("1", 1.0))])

    with pytest.raises(ConfigError, match=r"change 15 is not in this database, whose last is 1: it was restored .*0$"):
        changes(store, tmp_path / "out", after=15)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("between", [1, 9])
def test_changes_that_a_restore_took_back_are_told_to_their_readers_for_good(
    store: Store, tmp_path: Path, between: int
) -> None:
    for number in range(11):
        store.write([page(Post(str(number), 1.0))], "crawl:0")
    # Of the changes that Redis knows, four are not in the backup. What is stored before the recovery has their numbers.
    for number in range(between):
        store.write([page(Post("between", number + 1.0, title=str(number)))], "crawl:0", acked=15)
    store.settle_change("crawl:0", 15, 15)
    store.write([page(Post("after", 1.0))], "crawl:0", acked=15)

    for after in (12, 15, 16):
        with pytest.raises(ConfigError, match=f"change {after} was lost when this database was restored.*--after 0"):
            changes(store, tmp_path / "out", after=after)
    assert [row["post_id"] for row in changes(store, tmp_path / "out", after=11)] == ["between", "after"]
    assert changes(store, tmp_path / "out", after=store.last_change()) == []


def test_a_reader_that_follows_while_the_database_is_restored_is_told(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        store.write([page(Post(str(number), 1.0))])

    def restore() -> bool:
        with store.database.writing() as connection:
            connection.execute(text("UPDATE meta SET value = '1' WHERE name = 'change'"))
        return True

    with pytest.raises(ConfigError, match="change 3 is not in this database"):
        export_changes(store, str(tmp_path / "out"), goes_on=restore)
