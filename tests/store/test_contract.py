"""What every dialect keeps: exactly once, newest value wins, nothing is wiped, edits are kept."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from crawl_tasks.model import Comment, Forum, Items, Post
from crawl_tasks.store.upsert import Store
from crawl_tasks.store.written import Written
from tests.store.conftest import MakeStore
from tests.store.rows import dump, page, post, row, versions


def test_a_replayed_batch_changes_nothing(store: Store) -> None:
    batch = [page(Post("1", 10.0, title="t", body="b"), Comment("1", "7", 10.0, body="c"))]

    first = store.write(batch)
    before = dump(store)
    second = store.write(batch)

    assert first == Written(new_posts=1, new_comments=1)
    assert second == Written(unchanged_posts=1, unchanged_comments=1)
    assert dump(store) == before


def test_all_fields_come_back_as_they_went_in(store: Store) -> None:
    whole_post = Post(
        "1", 10.5, "f", "http://f/1", "t", "a", 1, "b", "<b>", 2, 3, 4, 5, "normal", "r", {"k": "v"}, author_id="12"
    )
    whole_comment = Comment("1", "7", 11.5, "6", "a", 1, "c", "<c>", 2, 3, 4, 5, "masked", {"k": "v"}, "12")

    store.write([Items("site", (Forum("f", "Board", "http://f/"),), (whole_post,), (whole_comment,))])
    found_post, found_comment, found_forum = row(store, "posts"), row(store, "comments"), row(store, "forums")

    assert [found_post[name] for name in Post._fields[:-2]] == [*whole_post[:-3], '{"k": "v"}']
    assert found_post["author_id"] == "12"
    assert (found_post["first_seen_at"], found_post["fetched_at"], found_post["fetched_revision"]) == (10.5, 10.5, "r")
    assert [found_comment[name] for name in Comment._fields] == [*whole_comment[:-2], '{"k": "v"}', "12"]
    assert [found_forum[name] for name in Forum._fields] == ["f", "Board", "http://f/"]
    assert row(store, "memberships") == {"site": "site", "post_id": "1", "forum_id": "f"}


def test_list_metadata_never_wipes_a_body(store: Store) -> None:
    store.write([post(10.0, body="the text", author="ann")])

    written = store.write([post(20.0, reply_count=5)])
    found = row(store, "posts")

    assert written == Written(changed_posts=1)
    assert (found["body"], found["author"], found["reply_count"]) == ("the text", "ann", 5)
    assert (found["first_seen_at"], found["seen_at"], found["fetched_at"]) == (10.0, 20.0, 10.0)


def test_a_page_seen_earlier_fills_gaps_but_overwrites_nothing_newer(store: Store) -> None:
    store.write([post(20.0, title="new", reply_count=9)])

    store.write([post(10.0, title="old", reply_count=1, view_count=3)])
    found = row(store, "posts")

    assert (found["title"], found["reply_count"], found["view_count"]) == ("new", 9, 3)
    assert (found["first_seen_at"], found["seen_at"]) == (10.0, 20.0)
    assert versions(store) == {("title", "old"): 10.0}


def test_each_field_has_its_own_age(store: Store) -> None:
    store.write([post(10.0, title="first")])
    store.write([post(30.0, body="b")])

    store.write([post(20.0, title="second")])

    assert row(store, "posts")["title"] == "second"


def test_a_post_known_from_lists_only_is_not_fetched(store: Store) -> None:
    store.write([post(10.0, title="t", revision="r1")])

    assert row(store, "posts")["fetched_at"] is None


@pytest.mark.parametrize("state", ["deleted", "masked"])
def test_a_post_that_shows_no_body_any_more_counts_as_fetched(store: Store, state: str) -> None:
    store.write([post(10.0, state=state, is_page=True), post(11.0, state=state, revision="5")])  # a list's word is none

    assert row(store, "posts")["fetched_at"] == 10.0


def test_an_edit_keeps_the_old_title_body_and_state_once(store: Store) -> None:
    before = post(10.0, title="t1", body="b1", state="normal")
    after = post(20.0, title="t2", body="b2", state="masked")

    for batch in ([before], [after], [before], [after], [before, after]):
        store.write(batch)

    assert versions(store) == {("title", "t1"): 10.0, ("body", "b1"): 10.0, ("state", "normal"): 10.0}


def test_a_value_that_comes_back_is_current_and_no_version(store: Store) -> None:
    for seen_at, title in ((10.0, "a"), (20.0, "b"), (30.0, "a")):
        store.write([post(seen_at, title=title)])

    assert row(store, "posts")["title"] == "a"
    assert versions(store) == {("title", "b"): 20.0}


def test_a_version_says_when_it_was_seen_last(store: Store) -> None:
    for seen_at, body in ((10.0, "a"), (20.0, "a"), (30.0, "b")):
        store.write([post(seen_at, body=body)])

    assert versions(store) == {("body", "a"): 20.0}


def test_a_value_seen_again_holds_against_what_was_between(store: Store) -> None:
    for seen_at, body in ((10.0, "a"), (30.0, "a"), (20.0, "b")):
        store.write([page(Comment("1", "7", seen_at, body=body))])

    assert row(store, "comments")["body"] == "a"
    assert versions(store) == {("body", "b"): 20.0}


def test_an_edited_comment_keeps_its_old_body(store: Store) -> None:
    store.write([page(Comment("1", "7", 10.0, body="old"))])

    written = store.write([page(Comment("1", "7", 20.0, body="new"))])

    assert written == Written(changed_comments=1)
    assert row(store, "comments")["body"] == "new"
    assert versions(store) == {("body", "old"): 10.0}


def test_a_post_on_two_lists_is_one_post_with_two_memberships(store: Store) -> None:
    store.write([post(10.0, forum_id="news"), post(20.0, forum_id="hot"), post(15.0, forum_id="hot")])
    tables = dump(store)

    assert [found[1:] for found in tables["memberships"]] == [("1", "hot"), ("1", "news")]
    assert row(store, "posts")["forum_id"] == "hot"


def test_a_post_twice_in_one_batch_is_merged_before_it_is_written(store: Store) -> None:
    written = store.write([post(20.0, reply_count=3), post(10.0, body="b"), post(20.0, reply_count=3)])
    found = row(store, "posts")

    assert written == Written(new_posts=1)
    assert (found["body"], found["reply_count"], found["fetched_at"]) == ("b", 3, 10.0)


def test_the_same_ids_on_two_sites_are_two_posts(store: Store) -> None:
    one, two = (page(Post("1", 1.0), Comment("1", "7", 1.0), site=site) for site in ("one", "two"))

    assert store.write([one, two]) == Written(new_posts=2, new_comments=2)


def test_a_forum_takes_the_time_of_what_stood_beside_it(store: Store) -> None:
    store.write([Items("site", (Forum("f", "New"),), (Post("1", 20.0),))])

    store.write([Items("site", (Forum("f", "Old", "http://f/"),), (Post("1", 10.0),))])
    found = row(store, "forums")

    assert (found["title"], found["url"], found["seen_at"]) == ("New", "http://f/", 20.0)


def test_a_large_batch_that_is_half_known_is_counted_right(store: Store) -> None:
    comments = [Comment(str(number % 7), f"{number:04}", 1.0, body="b", page=number % 5) for number in range(1000)]
    store.write([page(*comments[::2])])

    written = store.write([page(*comments)])

    assert written == Written(new_comments=500, unchanged_comments=500)
    assert len(dump(store)["comments"]) == 1000


def test_an_empty_batch_writes_nothing(store: Store) -> None:
    assert store.write([]) == store.write([Items("site")]) == Written()


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("a\0b", "a\ufffdb"),
        ("half \ud800 pair", "half \ufffd pair"),
        ("two halves \ud83d\ude00", "two halves 😀"),
        ("four bytes 😀", "four bytes 😀"),
    ],
)
def test_text_no_database_takes_is_mended_and_the_item_kept(store: Store, dirty: str, clean: str) -> None:
    store.write([page(Post("1", 1.0, title=dirty, extra={"k": dirty}), Comment("1", "7", 1.0, author=dirty))])

    assert row(store, "posts")["title"] == clean
    assert row(store, "posts")["extra"] == f'{{"k": "{clean}"}}'
    assert row(store, "comments")["author"] == clean


def test_a_number_of_more_than_64_bits_is_dropped_and_the_item_kept(store: Store) -> None:
    store.write([page(Post("1", 1.0, title="t", view_count=10**30), Comment("1", "7", 1.0, created_at=-(10**30)))])

    assert (row(store, "posts")["title"], row(store, "posts")["view_count"]) == ("t", None)
    assert row(store, "comments")["created_at"] is None


def test_a_number_where_text_was_promised_is_stored_as_text(store: Store) -> None:
    store.write([page(Comment(1, 7, 1.0, author=5))])  # type: ignore[arg-type]  # as a careless hook gives them

    assert [row(store, "comments")[name] for name in ("post_id", "comment_id", "author")] == ["1", "7", "5"]


def test_a_time_that_is_no_number_is_the_epoch(store: Store) -> None:
    store.write([page(Comment("1", "7", float("nan"), body="b"))])

    assert row(store, "comments")["seen_at"] == 0.0


def test_overlong_ids_are_cut_and_stay_apart(store: Store) -> None:
    store.write([page(*(Comment("p" * 5000, "c" * 5000 + end, 1.0, parent_id="x" * 3000) for end in "ab"))])
    found = dump(store)["comments"]

    assert len(found) == 2
    assert {len(str(comment[2])) for comment in found} == {200}


def test_writers_that_overlap_lose_nothing_and_wait_for_each_other(new_store: MakeStore) -> None:
    store = new_store()
    url = store.database.url.render_as_string(hide_password=False)
    spawned = multiprocessing.get_context("spawn")  # connections do not survive a fork

    with ProcessPoolExecutor(3, mp_context=spawned) as pool:
        written = list(pool.map(_write_all, [url] * 3, [1, -1, 1], [10.0, 20.0, 30.0]))

    assert sum(result.new_comments for result in written) == 300
    assert {found[3] for found in dump(store)["comments"]} == {30.0}
    assert set(versions(store)) == {("body", "at 10.0"), ("body", "at 20.0")}


def _write_all(url: str, step: int, seen_at: float) -> Written:
    comments = [Comment("1", f"{number:03}", seen_at, body=f"at {seen_at}") for number in range(300)]
    total = Written()
    with Store(url) as store:
        for start in range(0, 300, 30)[::step]:
            done = store.write([page(*comments[start : start + 60][::step])])
            total = Written(new_comments=total.new_comments + done.new_comments)
    return total


def test_a_list_that_shows_the_day_only_does_not_replace_the_moment_of_the_post_page(store: Store) -> None:
    page_says, list_says = post(10.0, created_at=1_729_012_858, is_page=True), post(20.0, created_at=1_729_008_000)

    for batch in ([list_says], [page_says], [list_says], [page_says, list_says]):
        store.write(batch)

    assert row(store, "posts")["created_at"] == 1_729_012_858


def test_a_list_in_extra_is_stored_as_json(store: Store) -> None:
    given: dict[str, Any] = {"tags": ["a", 'the "b"'], "likes": 3, "by": {"ann": 1}, "none": None}

    store.write([page(Post("1", 1.0, title="t", extra=given))])

    with store.database.reading() as connection:
        extra = json.loads(connection.execute(text("SELECT extra FROM posts")).scalar_one())
    assert extra == {
        "tags": '["a", "the \\"b\\""]',
        "likes": "3",
        "by": '{"ann": 1}',
        "none": None,
    }
