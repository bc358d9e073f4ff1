"""A reread leaves the database as if its rules had always read the archived pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from crawl_tasks.model import Comment, Forum, Items, Post, Sweep
from crawl_tasks.store import tables
from crawl_tasks.store.corrections import Corrections, MergeCounts
from crawl_tasks.store.upsert import Store
from tests.store.conftest import MakeStore, empty_schema
from tests.store.rows import authors_of, dump, empty, page, row, versions

IDS = st.sampled_from(["1", "2"])
TEXTS = st.sampled_from([None, "", "a", "b", "中"])
NUMBERS = st.sampled_from([None, 0, 1])
EXTRAS = st.sampled_from([None, {"k": "v"}, {"k": None, "a b;c": "x"}])
POSTS = st.builds(
    Post,
    IDS,
    forum_id=st.sampled_from([None, "f", "g"]),
    title=TEXTS,
    body=TEXTS,
    author=TEXTS,
    created_at=NUMBERS,
    state=st.sampled_from([None, "normal", "deleted", "masked"]),
    extra=EXTRAS,
    is_page=st.booleans(),
)
# That a comment is deleted is mostly said by a full pass, and such marks stay.
COMMENTS = st.builds(
    Comment, IDS, IDS, body=TEXTS, author=TEXTS, state=st.sampled_from([None, "normal", "masked"]), extra=EXTRAS
)
READINGS = st.tuples(st.lists(POSTS, min_size=1, max_size=2), st.lists(COMMENTS, max_size=3), TEXTS)


class Observed(NamedTuple):
    """A page at its time, as the rules read it then, and as those of today do."""

    at: float
    then: Items
    today: Items


def at(time: float, reading: tuple[Sequence[Post], Sequence[Comment], str | None], by: str) -> Items:
    posts, comments, title = reading
    return Items(
        "site",
        (Forum("f", title),),
        tuple(one._replace(seen_at=time) for one in posts),
        tuple(one._replace(seen_at=time) for one in comments),
        read_by=by,
    )


OBSERVED = st.lists(st.tuples(READINGS, READINGS), max_size=5).map(
    lambda pages: [
        Observed(float(time), at(time, then, "v1"), at(time, today, "v2"))
        for time, (then, today) in enumerate(pages, 1)
    ]
)


# A post's own page hides what lists say of board, time and extra fields. So where the own page, read anew, has no such
# value, that of a list that is not in the archive is lost.
CASES = st.tuples(OBSERVED, st.just(0)) | st.tuples(OBSERVED.map(lambda pages: listed(pages)), st.just(1))


def listed(pages: list[Observed]) -> list[Observed]:
    """Return pages without what hides the values of others."""
    return [Observed(one.at, *map(without_own, one[1:])) for one in pages]


def without_own(items: Items) -> Items:
    return items._replace(posts=tuple(post._replace(is_page=False, extra=None) for post in items.posts))


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store, Store]]:
    directory = tmp_path_factory.mktemp("stores")
    with (
        Store(f"sqlite:///{directory}/one.db") as one,
        Store(f"sqlite:///{directory}/two.db") as two,
        Store(f"sqlite:///{directory}/scratch.db") as scratch,
    ):
        yield one, two, scratch


@pytest.fixture(scope="module")
def postgres(postgres_server: str) -> Iterator[Store]:
    with Store(empty_schema(postgres_server)) as store:
        yield store


def corrected(store: Store, scratch: Store, archived: Sequence[Observed]) -> MergeCounts:
    empty(scratch)
    corrections = Corrections(store, scratch, "site")
    for one in archived:
        corrections.add(one.at, one.today)
    return corrections.apply()


def rows_of(store: Store, *, has_memberships: bool) -> dict[str, list[tuple[object, ...]]]:
    # Of authors the archive may lack a former name, which has no row any more.
    left_out = {"authors"} | (set() if has_memberships else {"memberships"})
    return {name: rows for name, rows in dump(store).items() if name not in left_out}


@settings(max_examples=40, deadline=None)
@given(case=CASES)
def test_the_database_is_as_if_the_rules_had_always_been_right(
    sqlite: tuple[Store, Store, Store], case: tuple[list[Observed], int]
) -> None:
    check(*sqlite, *case)


@settings(max_examples=10, deadline=None)
@given(case=CASES)
def test_postgresql_is_corrected_as_sqlite_is(
    sqlite: tuple[Store, Store, Store], postgres: Store, case: tuple[list[Observed], int]
) -> None:
    check(sqlite[0], postgres, sqlite[2], *case)


def check(one: Store, two: Store, scratch: Store, pages: list[Observed], later: int) -> None:
    """Hold a corrected database against one that was right from the beginning. The `later` pages are not archived."""
    archived = pages[: max(0, len(pages) - later)]
    empty(one)
    empty(two)
    one.write([seen.today for seen in archived] + [seen.then for seen in pages[len(archived) :]])
    two.write([seen.then for seen in pages])

    corrected(two, scratch, archived)

    is_whole = later == 0
    assert rows_of(two, has_memberships=is_whole) == rows_of(one, has_memberships=is_whole)
    # Begun again, after it was cut off behind the last row: nothing is left to do.
    assert corrected(two, scratch, archived) == MergeCounts()


def test_a_mended_rule_is_no_edit_and_an_edit_stays_one(new_store: MakeStore) -> None:
    store, scratch = new_store(), new_store()
    for time, text in ((1.0, "Share first"), (2.0, "Share edited")):
        store.write([page(Comment("1", "7", time, body=text))])
    change = store.last_change()

    rows = corrected(
        store,
        scratch,
        [Observed(t, page(), page(Comment("1", "7", t, body=b))) for t, b in ((1.0, "first"), (2.0, "edited"))],
    )

    assert rows == MergeCounts(changed=1)
    assert (row(store, "comments")["body"], versions(store)) == ("edited", {("body", "first"): 1.0})
    assert row(store, "comments")["change_id"] > change  # type: ignore[operator]


def test_authors_are_those_that_todays_rules_find_and_those_of_rows_beside(new_store: MakeStore) -> None:
    store, scratch = new_store(), new_store()
    store.write([page(Comment("1", "6", 0.5, author="old", author_id="5"))])
    store.write([page(Comment("1", "7", 1.0, author="Guest: ann"))])

    corrected(store, scratch, [Observed(1.0, page(), page(Comment("1", "7", 1.0, author="ann", author_id="12")))])

    assert authors_of(store) == {"5": "old", "12": "ann"}


def test_rows_whose_text_stays_are_no_change(new_store: MakeStore) -> None:
    store, scratch = new_store(), new_store()
    store.write([page(Comment("1", "7", 1.0, body="one"))])
    change = row(store, "comments")["change_id"]

    corrected(store, scratch, [Observed(1.0, page(), page(Comment("1", "7", 1.0, body="one"))._replace(read_by="v2"))])

    assert (row(store, "comments")["change_id"], row(store, "comments")["read_by"]) == (change, "v2")


def test_what_was_seen_before_the_archive_began_is_never_removed(new_store: MakeStore) -> None:
    store, scratch = new_store(), new_store()
    store.write([page(Comment("1", "7", 1.0, body="one"))])
    store.write([page(Comment("1", "7", 2.0, body="one"))])

    rows = corrected(store, scratch, [Observed(2.0, page(), page(Comment("1", "8", 2.0, body="other")))])

    assert rows == MergeCounts(added=1)
    assert ids(store) == ["7", "8"]


def test_the_mark_of_a_full_pass_stays_and_goes_with_its_comment(new_store: MakeStore) -> None:
    store, scratch = new_store(), new_store()
    for time, seen in ((1.0, "789"), (2.0, "9"), (3.0, "9")):
        store.write([page(*(Comment("1", one, time, body="t", state="normal") for one in seen))])
    store.write([page()._replace(swept=(Sweep("1", 2.0, "w", look=2, read_from=3.0, looked_from=2.0),))])
    assert states(store) == {"7": "deleted", "8": "deleted", "9": "normal"}
    today = [
        Observed(time, page(), page(*(Comment("1", one, time, body="t", state="normal") for one in seen)))
        for time, seen in ((1.0, "79"), (2.0, "9"), (3.0, "9"))
    ]

    rows = corrected(store, scratch, today)

    # Comment 8 was never one, and readers of the change feed hear of it.
    assert rows == MergeCounts(removed=1)
    key = select(*list(tables.removals.primary_key))
    assert list(map(tuple, store.database.stream(key))) == [("site", "1", "8")]
    assert states(store) == {"7": "deleted", "9": "normal"}
    assert versions(store) == {("state", "normal"): 1.0}


def test_a_post_page_finds_the_id_that_lists_give_its_address_today(new_store: MakeStore) -> None:
    store, scratch = new_store(), new_store()
    corrections = Corrections(store, scratch, "site")
    corrections.add(
        1.0, page(Post("5", 1.0, url="http://f/t/5"), Post("6", 1.0, url="http://f/"), Post("7", 1.0, url="http://f/"))
    )

    assert (corrections.post_at("http://f/t/5"), corrections.post_at("http://f/"), corrections.post_at("x")) == (
        "5",
        None,
        None,
    )


def ids(store: Store) -> list[str]:
    return sorted(states(store))


def states(store: Store) -> dict[str, str]:
    with store.database.reading() as connection:
        table = tables.comments
        return dict(list(connection.execute(select(table.c.comment_id, table.c.state))))
