"""The answers of docs/data.md: SQL, pandas and DuckDB answer each question alike, and as the forum was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pandas
import pytest
from sqlalchemy import text

from crawl_tasks.model import Comment, Post
from crawl_tasks.store import tables
from crawl_tasks.store.export import export
from crawl_tasks.store.output_format import format_of
from crawl_tasks.store.selection import RowSelection
from crawl_tasks.store.upsert import Store
from tests.store.rows import page

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
DAY_S = 86_400
SINCE = 1_769_212_800  # 2026-01-24, as the page has it
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


class Question(NamedTuple):
    """A question of the page with its three answers."""

    title: str
    sql: str
    pandas: str
    duckdb: str


def questions() -> Iterator[Question]:
    part = PAGE[PAGE.index("## Questions") : PAGE.index("## Tables")]
    for section in part.split("\n### ")[1:]:
        title, _, rest = section.partition("\n")
        yield Question(title, *(code for _, code in BLOCK.findall(rest)))


PREPARED = "".join(
    code for kind, code in BLOCK.findall(PAGE[PAGE.index("## Questions") : PAGE.index("\n### Comments of the last")])
    if kind == "python"
)  # fmt: skip
ANSWERS: dict[str, set[tuple[Any, ...]]] = {
    "Comments of the last days on some boards": {
        ("7", "c2", "王小明", "周末一起骑车吧"),
        ("8", "c3", "bob", "yes"),
    },
    "Threads with the most answers": {
        ("bikes", "7", 3),
        ("bikes", "8", 2),
        ("boats", "7", 1),
        ("bikes", "9", 1),
    },
    "Edits of a thread": {(None, "title", "old title"), ("c1", "body", "first"), ("c1", "body", "second")},
    "Authors who write on two sites": {("ann",)},
    "Growth a day": {(SINCE // DAY_S - 1, 2), (SINCE // DAY_S, 1), (SINCE // DAY_S + 1, 3)},
    "Deleted posts and comments": {("bikes", "8", None), ("bikes", "8", "c4")},
    "Texts with a word, in any script": {("bikes", "7", "c2"), ("bikes", "9", None)},
}


@pytest.fixture
def forums(store: Store) -> Store:
    """Two sites with edits, deletions, Chinese, a board that nobody asks for, and comments without a time or author."""
    store.write([
        page(
            Post("7", 1.0, "1", title="old title", author="ann", created_at=SINCE - 9 * DAY_S, body="hello"),
            Post("8", 1.0, "2", title="two", author="bob", created_at=SINCE, body="body", state="deleted"),
            Post("9", 1.0, "3", title="去哪里骑车", author="cy", created_at=SINCE, body="?"),
            Comment("7", "c1", 1.0, author="ann", created_at=SINCE - 1, body="first"),
            Comment("7", "c2", 1.0, author="王小明", created_at=SINCE, body="周末一起骑车吧"),
            Comment("7", "c5", 1.0, body="nobody knows when"),
            Comment("8", "c3", 1.0, author="bob", created_at=SINCE + DAY_S + 5, body="yes"),
            Comment("8", "c4", 1.0, author="bob", created_at=SINCE - DAY_S, body="spam", state="deleted"),
            Comment("9", "c6", 1.0, author="cy", created_at=SINCE + DAY_S, body="elsewhere"),
            site="bikes",
        ),
        page(
            Post("7", 1.0, "1", title="a boat", author="dee", created_at=SINCE, body="b"),
            Comment("7", "c2", 1.0, author="ann", created_at=SINCE + DAY_S, body="aboard"),
            site="boats",
        ),
    ])  # fmt: skip
    for at, body in ((2.0, "second"), (3.0, "third")):
        store.write([page(Comment("7", "c1", at, body=body), Post("7", at, title="title"), site="bikes")])
    return store


def rows_of(found: Any) -> set[tuple[Any, ...]]:  # noqa: ANN401  # a frame, or tuples of any driver
    """Return rows with None for every way to say that there is no value. Of a version '' is no comment."""
    lines = found.itertuples(index=False) if isinstance(found, pandas.DataFrame) else found
    return {tuple(None if value == "" or value is None or value != value else value for value in row) for row in lines}


@pytest.mark.parametrize("question", list(questions()), ids=lambda question: question.title)
def test_sql_pandas_and_duckdb_give_the_same_right_answer(
    forums: Store, question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export(forums, "rows.parquet", RowSelection(has_versions=True), format_of("rows.parquet"))
    scope: dict[str, Any] = {}
    since = {"since": SINCE} if ":since" in question.sql else {}

    with forums.database.reading() as connection:
        by_sql = rows_of(tuple(row) for row in connection.execute(text(question.sql), since))
    exec(PREPARED + question.pandas, scope)
    named = {"since": scope["since"].to_pydatetime()} if "$since" in question.duckdb else {}
    by_duckdb = rows_of(duckdb.execute(question.duckdb, named).fetchall())

    assert by_sql == ANSWERS[question.title]
    assert rows_of(scope["answer"]) == by_sql
    assert by_duckdb == by_sql


def test_the_likes_of_threads_are_found_in_extra(store: Store, tmp_path: Path) -> None:
    likes: list[dict[str, str | None] | None] = [{"score": "9"}, {"score": "10", "tags": "a, b"}, {"score": None}, None]
    store.write([page(*(Post(str(n), 1.0, "1", extra=one) for n, one in enumerate(likes)), site="bikes")])
    export(store, str(tmp_path / "rows.parquet"), RowSelection(), format_of("rows.parquet"))
    [(_, sql)] = [one for one in BLOCK.findall(PAGE) if "'score'" in one[1]]
    posts = duckdb.read_parquet(str(tmp_path / "rows.parquet"))
    own = sql if store.database.engine.dialect.name == "sqlite" else sql.replace("extra", "CAST(extra AS JSON)")

    with store.database.reading() as connection:
        found = [tuple(row) for row in connection.execute(text(own))]

    assert found == posts.query("posts", sql).fetchall() == [("1", 10), ("0", 9)]


def test_the_page_has_the_seven_questions() -> None:
    assert [question.title for question in questions()] == list(ANSWERS)


@pytest.mark.parametrize("table", list(tables.metadata.tables.values()), ids=lambda table: table.name)
def test_every_table_and_column_says_its_meaning(table: Any) -> None:  # noqa: ANN401  # a Table of SQLAlchemy
    assert [column.name for column in table.columns if not column.comment] == []
    assert table.comment
