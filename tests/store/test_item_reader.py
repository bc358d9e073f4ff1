"""The reads of a person: the newest posts, a thread, an author, and the search, on every database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crawl_tasks.model import Comment, Post
from crawl_tasks.store.item_reader import PAGE_ROWS, ItemReader, SearchResult, StoredItem
from crawl_tasks.store.selection import RowSelection
from crawl_tasks.store.upsert import Store
from tests.store.rows import page
from tests.waiting import eventually

NOW = 1_700_000_000


@pytest.fixture
def reader(new_url: Callable[[], str], tmp_path: Path) -> Iterator[ItemReader]:
    url = new_url()
    with Store(url) as store:
        store.write([
            page(
                Post("7", 1.0, "1", "https://bikes.example/7", "old", "ann", NOW, "hello", author_id="12"),
                Comment("7", "a", 1.0, None, "bob", NOW + 1, "first", page=1, position=0),
                Comment("7", "b", 1.0, "a", "ann", NOW + 2, "周末一起骑车吧", page=1, position=1, author_id="12"),
                Post("listed", 1.0, "1", title="without a time"),
                site="bikes",
            ),
            page(*(Post(f"n{number:03}", 1.0, created_at=NOW - 1) for number in range(PAGE_ROWS)), site="boats"),
        ])  # fmt: skip
        store.write([page(Post("7", 2.0, title="new", author="anna", author_id="12", body="hello"), site="bikes")])
    with closing(ItemReader(url, tmp_path / "search.db")) as reader:
        yield reader


def whole(read: Callable[[], SearchResult]) -> list[StoredItem]:
    """Return what a read finds once the index has all rows: on a busy machine that may take a while."""
    found: list[SearchResult] = []

    def is_whole() -> bool:
        found.append(read())
        return not found[-1].is_partial

    eventually(is_whole)
    return list(found[-1].items)


def test_posts_of_the_same_second_are_each_on_one_page(reader: ItemReader) -> None:
    first = reader.newest("", NOW)
    last = first[-1]
    assert last.created_at is not None

    second = reader.newest("", NOW, (last.created_at, last.site, last.post_id))

    ids = [one.post_id for one in (*first, *second)]
    assert ids == ["7", *(f"n{number:03}" for number in reversed(range(PAGE_ROWS)))]
    assert [one.title for one in reader.newest("bikes", NOW)] == ["new"]
    assert reader.newest("bikes", NOW - 1) == []


def test_a_thread_has_its_comments_in_order_and_former_values(reader: ItemReader) -> None:
    thread = reader.thread("bikes", "7")
    assert thread is not None

    assert (thread.post.title, thread.post.author_key, thread.all_comments) == ("new", "12", 2)
    assert [(depth, one.comment_id, one.author_key, one.title) for depth, one in thread.comments] == [
        (0, "a", "@bob", "new"),
        (1, "b", "12", "new"),
    ]
    assert [(one.field, one.value) for one in thread.former] == [("title", "old")]
    assert reader.thread("boats", "7") is None


def test_an_author_is_found_by_id_and_a_guest_by_name(reader: ItemReader) -> None:
    assert [one.comment_id or one.post_id for one in whole(lambda: reader.by_author("bikes", "12"))] == ["b", "7"]
    assert [one.comment_id for one in whole(lambda: reader.by_author("bikes", "@bob"))] == ["a"]
    assert [one.comment_id for one in whole(lambda: reader.by_author("bikes", "12", NOW + 1))] == [None]
    assert (reader.author_name("bikes", "12"), reader.author_name("boats", "12")) == ("anna", None)
    assert whole(lambda: reader.by_author("boats", "12")) == []


def test_a_row_that_was_given_to_another_author_is_no_longer_the_formers(
    reader: ItemReader, new_url: Callable[[], str]
) -> None:
    assert [one.comment_id for one in whole(lambda: reader.by_author("bikes", "@bob"))] == ["a"]
    with Store(reader._url) as store:
        store.write([page(Comment("7", "a", 3.0, author="rob"), site="bikes")])

    assert whole(lambda: reader.by_author("bikes", "@bob")) == []


def test_the_search_takes_in_what_was_stored_since(reader: ItemReader) -> None:
    assert [one.comment_id for one in whole(lambda: reader.search("骑车", RowSelection()))] == ["b"]
    with Store(reader._url) as store:
        store.write([page(Comment("7", "c", 3.0, body="骑车", created_at=NOW + 9), site="bikes")])

    found = whole(lambda: reader.search("骑车", RowSelection(sites=["bikes"])))

    assert [one.comment_id for one in found] == ["c", "b"]
