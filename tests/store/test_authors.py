"""Authors as rows, and the time of our own clock beside those of the forum."""

from __future__ import annotations

import time

import pytest

from crawl_tasks.model import Comment, Post
from crawl_tasks.store.author_rows import AuthorCache
from crawl_tasks.store.upsert import Store
from tests.store.rows import authors_of, page, post, row


def test_an_author_with_an_id_keeps_the_row_under_a_new_name(store: Store) -> None:
    store.write([page(Comment("1", "7", 1.0, author="ann", author_id="12"))])
    store.write([page(Comment("1", "8", 3.0, author="anna", author_id="12"))])
    # A page that another worker held back.
    store.write([page(Comment("1", "9", 2.0, author="ann", author_id="12"))])

    assert authors_of(store) == {"12": "anna"}


def test_a_former_name_that_comes_back_is_the_name_again(store: Store) -> None:
    for at, name in ((1.0, "ann"), (2.0, "anna"), (3.0, "ann")):
        store.write([page(Comment("1", "7", at, author=name, author_id="12"))])

    assert authors_of(store) == {"12": "ann"}


def test_of_two_names_in_one_batch_the_later_one_stands(store: Store) -> None:
    store.write([
        page(Comment("1", "7", 2.0, author="anna", author_id="12")),
        page(Comment("1", "8", 1.0, author="ann", author_id="12")),
    ])  # fmt: skip

    assert authors_of(store) == {"12": "anna"}


def test_a_name_that_was_seen_again_before_another_one_is_the_newest(store: Store) -> None:
    for at, name in ((10.0, "ann"), (12.0, "ann"), (11.0, "anna")):
        store.write([page(Comment("1", "7", at, author=name, author_id="12"))])

    assert authors_of(store) == {"12": "ann"}


def test_of_two_store_workers_the_newest_name_comes_through_whoever_wrote_it_before(store: Store) -> None:
    with Store(str(store.database.engine.url.render_as_string(hide_password=False))) as second:
        for at, name, worker in ((1.0, "ann", store), (2.0, "anna", second), (3.0, "ann", store)):
            worker.write([page(Comment("1", str(at), at, author=name, author_id="12"))])

        assert authors_of(store) == {"12": "ann"}


def test_an_observation_without_a_name_takes_none_away(store: Store) -> None:
    for at, name in ((1.0, "ann"), (2.0, None)):
        store.write([page(Comment("1", "7", at, author=name, author_id="12"))])

    assert authors_of(store) == {"12": "ann"}


def test_a_name_that_looks_like_an_id_is_another_author(store: Store) -> None:
    store.write([page(Comment("1", "7", 1.0, author="ann", author_id="12"), Comment("1", "8", 1.0, author="12"))])

    assert authors_of(store) == {"12": "ann", "@12": "12"}


def test_a_list_makes_no_author_of_its_own_as_it_may_leave_out_the_id(store: Store) -> None:
    store.write([page(Post("1", 1.0, author="ann"))])
    assert authors_of(store) == {}

    store.write([page(Post("1", 2.0, author="ann", author_id="12", is_page=True))])

    assert authors_of(store) == {"12": "ann"}
    assert row(store, "posts")["author_id"] == "12"


def test_nobody_and_a_name_longer_than_any_key_have_no_row(store: Store) -> None:
    store.write([page(Comment("1", "7", 1.0), Comment("1", "8", 1.0, author="x" * 200))])

    assert authors_of(store) == {}


def test_an_empty_id_is_none_of_an_author(store: Store) -> None:
    store.write([page(Comment("1", "7", 1.0, author="ann", author_id=""))])

    assert authors_of(store) == {}


def test_authors_of_an_erased_site_come_again_with_their_rows(store: Store) -> None:
    store.write([page(Comment("1", "7", 1.0, author="ann"))])

    store.erase("site")
    assert authors_of(store) == {}
    store.write([page(Comment("1", "7", 2.0, author="ann"))])

    assert authors_of(store) == {"@ann": "ann"}


def test_authors_that_another_process_deleted_come_again_after_a_while() -> None:
    now = 0.0
    known = AuthorCache(lambda: now)
    pages = [page(Comment("1", "7", 1.0, author="ann"))]
    known.note(known.unknown(pages))
    assert known.unknown(pages) == []

    now = 700.0
    known.note([])

    assert [key for _, key, _, _ in known.unknown(pages)] == ["@ann"]


def test_a_batch_that_was_not_stored_leaves_its_authors_unknown(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = [page(Comment("1", "7", 1.0, author="ann"))]
    with monkeypatch.context() as patched:
        patched.setattr(store._statements, "keep_authors", _failing)
        with pytest.raises(OSError, match="cut off"):
            store.write(batch)

    store.write(batch)

    assert authors_of(store) == {"@ann": "ann"}


def _failing(*_: object) -> None:
    raise OSError("cut off")


def crawled_at(store: Store, table: str) -> float | None:
    found = row(store, table)["crawled_at"]
    assert found is None or isinstance(found, float)
    return found


def test_a_row_has_the_time_of_our_clock_when_its_text_was_stored(store: Store) -> None:
    before = time.time()
    store.write([post(1.0, body="first")])
    first = crawled_at(store, "posts")
    assert first is not None
    assert before <= first <= time.time()

    store.write([post(2.0, body="first")])
    assert crawled_at(store, "posts") == first

    store.write([post(3.0, body="second")])
    second, version = crawled_at(store, "posts"), crawled_at(store, "versions")
    assert second is not None
    assert version is not None
    assert first < second <= time.time()
    assert first < version <= time.time()
