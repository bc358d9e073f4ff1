"""The search finds what is stored now, in any script, the newest first, and its index costs the store nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.search_index import SearchIndex
from crawl_tasks.store.search_text import characters, match_expression, tokenized
from crawl_tasks.store.selection import ExportKind, RowSelection
from crawl_tasks.store.upsert import Store
from tests.store.rows import page

TEXTS = {
    "p1": "Which oil filter for the XT-600?",
    "p2": "周末一起骑自行车去北京",
    "p3": "iPhone手机壳 ＡＢＣ",
    "p4": "Oil, not filtered. Café",
    "p5": "東京タワー 한국어 게시판",
    "p6": "日",
}


@contextmanager
def searching(store: Store, directory: Path) -> Iterator[SearchIndex]:
    with SearchIndex(directory / "search.db", store) as index:
        index.update()
        yield index


def found(
    store: Store, directory: Path, query: str, selection: RowSelection | None = None, limit: int = 20
) -> list[str]:
    """Return the ids of the comments or posts that a query finds."""
    with searching(store, directory) as index:
        chosen = selection or RowSelection()
        hits = index.search(query, chosen, chosen.sources(), limit)
    names = [[column.name for column in hit.source.columns] for hit in hits]
    rows = [dict(zip(name, hit.row, strict=True)) for name, hit in zip(names, hits, strict=True)]
    return [str(row.get("comment_id") or row["post_id"]) for row in rows]


@pytest.fixture
def texts(store: Store) -> Store:
    """A post a text, each later than the one before."""
    store.write(
        [page(*(Post(key, 1.0, "1", body=text, created_at=at) for at, (key, text) in enumerate(TEXTS.items())))]
    )
    return store


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("oil", ["p4", "p1"]),
        ("OIL filter", ["p1"]),
        ('"filter oil"', []),
        ('"oil filter"', ["p1"]),
        ("oil -filter", ["p4"]),
        ("filt*", ["p4", "p1"]),
        ("xt-600", ["p1"]),
        ("cafe", ["p4"]),
        ("北京", ["p2"]),
        ("京", ["p5", "p2"]),
        ("自行车", ["p2"]),
        ("骑车", []),
        ("周末一起骑自行车去北京", ["p2"]),
        ("周末 北京", ["p2"]),
        ("周末 -北京", []),
        ("iphone手机", ["p3"]),
        ("手机", ["p3"]),
        ("abc", ["p3"]),
        ("タワー", ["p5"]),
        ("게시판", ["p5"]),
        ("日", ["p6"]),
        ("车 -骑", []),
        ("车 -手", ["p2"]),
        ('"一 京"', []),
        ("nothing", []),
        ('oil" OR "filter', []),
        ("NOT oil", ["p4"]),
        ("text:oil", []),
    ],
)
def test_words_phrases_and_beginnings_are_found_in_any_script(
    texts: Store, tmp_path: Path, query: str, ids: list[str]
) -> None:
    assert found(texts, tmp_path, query) == ids


@pytest.mark.parametrize("query", ["", "  ", "-oil", "?!", '""', "*"])
def test_a_query_without_a_word_is_refused(query: str) -> None:
    with pytest.raises(ConfigError, match="has no word"):
        match_expression(query)


@given(st.text(st.sampled_from("日本语ab1 -\"*'(:^+{骑"), max_size=12))
def test_no_query_is_an_error_of_the_index(query: str) -> None:
    try:
        expression = match_expression(query)
    except ConfigError:
        return  # a query without a word
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text, characters)")

        # Raises OperationalError where the expression is no query.
        rows = connection.execute("SELECT * FROM words WHERE words MATCH ?", (expression,)).fetchall()

    assert rows == []


@given(st.text(st.sampled_from("日本语中ab "), min_size=1, max_size=10), st.data())
def test_every_part_of_a_chinese_text_finds_the_text(text: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(text) - 1))
    part = text[begin : begin + data.draw(st.integers(1, 6))].strip()
    # A word of letters is found whole only, so that the part must not cut one.
    is_cut = any(
        0 < at < len(text) and text[at - 1 : at + 1].isascii() and text[at - 1 : at + 1].isalnum()
        for at in (begin, begin + len(part))
    )
    if not part or is_cut or " " in part or text[begin:].startswith(" "):
        return
    connection = sqlite3.connect(":memory:")
    tokens = "tokenize = 'unicode61 remove_diacritics 2'"
    connection.execute(f"CREATE VIRTUAL TABLE words USING fts5 (text, characters, {tokens})")
    connection.execute("INSERT INTO words VALUES (?, ?)", (tokenized(text), characters(tokenized(text))))

    rows = connection.execute("SELECT 1 FROM words WHERE words MATCH ?", (match_expression(part),)).fetchall()

    connection.close()
    assert len(rows) == 1


def test_an_edit_a_deletion_and_a_removed_site_are_followed(store: Store, tmp_path: Path) -> None:
    store.write([page(Comment("1", "a", 1.0, body="first words"), Comment("1", "b", 1.0, body="first"))])
    assert set(found(store, tmp_path, "first")) == {"a", "b"}
    store.write([page(Comment("1", "a", 2.0, body="second words"), Comment("1", "b", 2.0, state="deleted"))])

    assert found(store, tmp_path, "first") == ["b"]
    assert found(store, tmp_path, "second") == ["a"]
    assert found(store, tmp_path, "first", RowSelection(states=["normal"])) == []
    store.erase("site")
    assert found(store, tmp_path, "second") == []


def test_an_author_is_found_by_the_name_of_now(store: Store, tmp_path: Path) -> None:
    store.write([page(Comment("1", "a", 1.0, author="ann", body="word"))])
    assert found(store, tmp_path, "word", RowSelection(authors=["ann"])) == ["a"]

    store.write([page(Comment("1", "a", 2.0, author="anna", body="word"))])

    assert found(store, tmp_path, "word", RowSelection(authors=["anna"])) == ["a"]
    assert found(store, tmp_path, "word", RowSelection(authors=["ann"])) == []


def test_a_database_that_was_restored_and_recovered_makes_the_index_anew(store: Store, tmp_path: Path) -> None:
    store.write([page(Comment("1", "a", 1.0, body="old")), page(Comment("1", "b", 1.0, body="word"))], "crawl:0")
    store.write([page(Comment("1", "a", 2.0, body="new"))], "crawl:0")
    store.write([page(Comment("1", "c", 2.0, body="last"))], "crawl:0")
    assert found(store, tmp_path, "new") == ["a"]

    with store.database.writing() as connection:  # the backup of the first change
        connection.exec_driver_sql("UPDATE comments SET body = 'old', change_id = 1 WHERE comment_id = 'a'")
        connection.exec_driver_sql("DELETE FROM comments WHERE comment_id = 'c'")
        connection.exec_driver_sql("UPDATE meta SET value = '1' WHERE name IN ('change', 'change@crawl:0')")
    store.settle_change("crawl:0", 3)
    store.write([page(Comment("1", "c", 3.0, body="last"))], "crawl:0")

    assert found(store, tmp_path, "old") == ["a"]


def test_the_newest_come_first_and_a_selection_chooses(store: Store, tmp_path: Path) -> None:
    comments = [Comment("1", f"{n:03}", 1.0, author=f"a{n % 7}", created_at=n, body="word") for n in range(300)]
    store.write(
        [page(Post("1", 1.0, "5"), *comments), page(Comment("1", "x", 1.0, created_at=9, body="word"), site="b")]
    )

    assert found(store, tmp_path, "word", limit=3) == ["299", "298", "297"]
    assert found(store, tmp_path, "word", RowSelection(authors=["a3"]), limit=2) == ["297", "290"]
    assert found(store, tmp_path, "word", RowSelection(since=10, until=12)) == ["011", "010"]
    assert found(store, tmp_path, "word", RowSelection(sites=["b"])) == ["x"]
    assert found(store, tmp_path, "a3") == []
    assert len(found(store, tmp_path, "word", RowSelection(sites=["site"], boards=["5"]), limit=1000)) == 300
    assert found(store, tmp_path, "word", RowSelection(ExportKind.POSTS)) == []


def test_a_board_is_that_of_the_thread_now(store: Store, tmp_path: Path) -> None:
    said = [Comment(thread, f"{thread}-{n}", 1.0, created_at=n, body="word") for n in range(9) for thread in "123"]
    store.write([page(Post("1", 1.0, "5"), Post("2", 1.0, "6"), *said)])
    on_five = RowSelection(sites=["site"], boards=["5"])
    assert set(found(store, tmp_path, "word", on_five)) == {f"1-{n}" for n in range(9)}

    store.write([page(Post("1", 2.0, "6"), Post("2", 2.0, "5"))])

    assert found(store, tmp_path, "word", on_five, limit=2) == ["2-8", "2-7"]


def test_more_rows_of_a_second_than_it_has_numbers_are_all_found(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawl_tasks.store.index_file._SERIAL_BITS", 2)
    said = [Comment("1", str(n), 1.0, author="ann", created_at=1000 + n // 30, body="word") for n in range(60)]
    store.write([page(Post("1", 1.0, "5"), *said)])

    first = RowSelection(until=1001)
    with searching(store, tmp_path) as index:
        at_once = index.search("word", first, first.sources(), 100)
        by_author = index.by_author("site", "@ann", 1001, first.sources(), 100)

    assert (len(at_once), len(by_author)) == (30, 30)
    assert len(found(store, tmp_path, "word", limit=100)) == 60


def test_an_update_takes_only_what_is_new(store: Store, tmp_path: Path) -> None:
    store.write([page(Comment("1", "a", 1.0, body="one"))])
    with SearchIndex(tmp_path / "search.db", store) as index:
        first, again = index.update(), index.update()
        store.write([page(Comment("1", "b", 1.0, body="two"))])

        assert (first, again, index.update()) == (1, 0, 1)


def test_rows_that_are_taken_in_again_do_not_grow_the_index(store: Store, tmp_path: Path) -> None:
    store.write([page(Comment("1", "a", 1.0, body="one"))])
    found(store, tmp_path, "one")
    with closing(sqlite3.connect(tmp_path / "search.db")) as index:
        index.execute("UPDATE meta SET value = '0' WHERE name = 'change'")
        index.commit()
        found(store, tmp_path, "one")

        assert len(index.execute("SELECT rowid FROM words WHERE words MATCH 'text : one'").fetchall()) == 1


def test_a_search_does_not_wait_for_an_update_that_writes(store: Store, tmp_path: Path) -> None:
    store.write([page(Comment("1", "a", 1.0, body="one"))])
    found(store, tmp_path, "one")
    file, sources = tmp_path / "search.db", RowSelection().sources()
    with closing(sqlite3.connect(file, isolation_level=None)) as update:
        update.execute("BEGIN IMMEDIATE")

        with SearchIndex(file, store) as index:
            assert (index.is_current(), len(index.search("one", RowSelection(), sources, 9))) == (True, 1)
            store.write([page(Comment("1", "b", 1.0, body="two"))])
            assert not index.is_current()


def test_another_database_an_older_state_and_another_layout_make_the_index_anew(
    new_url: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(new_url()) as store, Store(f"sqlite:///{tmp_path}/other.db") as other:
        for number in range(3):
            store.write([page(Comment("1", str(number), 1.0, body="here"))])
        other.write([page(Comment("1", "x", 1.0, body="there"))])

        assert found(store, tmp_path, "here") == ["2", "1", "0"]
        assert (found(other, tmp_path, "here"), found(other, tmp_path, "there")) == ([], ["x"])
        assert found(store, tmp_path, "here") == ["2", "1", "0"]
        with store.database.writing() as connection:  # a backup that was taken before the third
            connection.exec_driver_sql("DELETE FROM comments WHERE comment_id = '2'")
            connection.exec_driver_sql("UPDATE meta SET value = '2' WHERE name = 'change'")
        store.write([page(Comment("1", "9", 1.0, body="here"))])
        assert found(store, tmp_path, "here") == ["9", "1", "0"]
        monkeypatch.setattr("crawl_tasks.store.search_index.LAYOUT", "next")
        assert found(store, tmp_path, "here") == ["9", "1", "0"]


UPDATE = """
import sys
from pathlib import Path
from crawl_tasks.store import search_index
from crawl_tasks.store.upsert import Store
search_index._BATCH = 50
with Store(sys.argv[1]) as store, search_index.SearchIndex(Path(sys.argv[2]), store) as index:
    index.update(lambda number: print(number, flush=True))
"""


def test_updates_that_are_killed_or_run_together_lose_nothing(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path}/crawl.db", tmp_path / "search.db"
    with Store(url) as store:
        for start in range(0, 3000, 100):
            some = tuple(
                Comment("1", f"{n:04}", 1.0, created_at=n, body=f"word n{n}") for n in range(start, start + 100)
            )
            store.write([Items("site", (), (), some)])
        command = [sys.executable, "-c", UPDATE, url, str(file)]
        killed = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert killed.stdout is not None
        killed.stdout.readline()
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        killed.stdout.close()
        both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [one.wait(60) for one in both] == [0, 0]

        assert found(store, tmp_path, "word", limit=5000) == [f"{n:04}" for n in reversed(range(3000))]
        assert found(store, tmp_path, "n17") == ["0017"]


def test_a_file_that_is_no_index_is_one_line(store: Store, tmp_path: Path) -> None:
    (tmp_path / "search.db").write_text("no database, " * 100)

    with pytest.raises(StoreError, match="delete the file"):
        found(store, tmp_path, "word")
