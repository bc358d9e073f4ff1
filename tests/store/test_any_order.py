"""However a list of items is cut, shuffled and repeated, the same rows stand in the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_tasks.model import FULL_REACH, Comment, Forum, Items, Post, Visit
from crawl_tasks.store.upsert import Store
from tests.store.conftest import empty_schema
from tests.store.rows import dump, empty

TIMES = st.sampled_from([1.0, 2.0, 2.5, 3.0])
IDS = st.sampled_from(["1", "2"])
TEXTS = st.sampled_from([None, "", "a", "b", "中", "z\0", "half \ud800"])
AUTHOR_IDS = st.sampled_from([None, "12", "13", "x" * 201])
NUMBERS = st.sampled_from([None, 0, 1, 10**30])
STATES = st.sampled_from([None, "normal", "deleted", "masked"])
EXTRAS = st.sampled_from([None, {}, {"k": "v"}, {"k": "w", "a b;c": "x"}])

POSTS = st.builds(
    Post,
    IDS,
    TIMES,
    forum_id=st.sampled_from([None, "f", "g"]),
    title=TEXTS,
    body=TEXTS,
    author=TEXTS,
    reply_count=NUMBERS,
    state=STATES,
    revision=TEXTS,
    extra=EXTRAS,
    is_page=st.booleans(),
    author_id=AUTHOR_IDS,
)
COMMENTS = st.builds(
    Comment, IDS, IDS, TIMES, body=TEXTS, author=TEXTS, page=NUMBERS, state=STATES, edited_at=NUMBERS, extra=EXTRAS,
    author_id=AUTHOR_IDS,
)  # fmt: skip
FORUMS = st.builds(Forum, IDS, TEXTS, TEXTS)
VISITS = st.builds(
    # One instant admits one revision of a page.
    lambda key, at, is_done: Visit("one", "comment", key, 2, "http://f/", 5, FULL_REACH, f"r{at}", at, is_done),
    IDS,
    st.integers(1, 3),
    st.booleans(),
)
ITEMS = st.builds(
    Items,
    st.sampled_from(["one", "two"]),
    st.lists(FORUMS, max_size=1).map(tuple),
    st.lists(POSTS, max_size=3).map(tuple),
    st.lists(COMMENTS, max_size=3).map(tuple),
    st.just(()),  # the word of a full pass holds for what was stored before it only
    st.lists(VISITS, max_size=2).map(tuple),
)


@st.composite
def replays(draw: st.DrawFn) -> tuple[list[Items], list[list[Items]]]:
    """Draw a list of items, and batches that hold each of them at least once, in any order."""
    items = draw(st.lists(ITEMS, max_size=6))
    repeated = items + draw(st.lists(st.sampled_from(items), max_size=3)) if items else []
    shuffled = draw(st.permutations(repeated))
    cuts = sorted(draw(st.lists(st.integers(0, len(shuffled)), max_size=4)))
    batches = [shuffled[start:end] for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]
    return items, batches


@pytest.fixture(scope="module")
def stores() -> Iterator[tuple[Store, Store]]:
    """Two SQLite databases; each example empties them, for making tables costs more than filling them."""
    with Store("sqlite://") as one, Store("sqlite://") as two:
        yield one, two


@pytest.fixture(scope="module")
def postgres(postgres_server: str) -> Iterator[Store]:
    with Store(empty_schema(postgres_server)) as store:
        yield store


@settings(max_examples=80, deadline=None)
@given(drawn=replays())
def test_any_batching_order_and_repetition_gives_the_same_tables(
    stores: tuple[Store, Store], drawn: tuple[list[Items], list[list[Items]]]
) -> None:
    items, batches = drawn
    one, two = stores

    fill(one, [items])
    fill(two, batches)

    assert dump(two) == dump(one)


@settings(max_examples=50, deadline=None)
@given(drawn=replays())
def test_every_dialect_gives_the_same_tables_as_sqlite(
    stores: tuple[Store, Store], postgres: Store, drawn: tuple[list[Items], list[list[Items]]]
) -> None:
    items, batches = drawn

    fill(stores[0], [items])
    fill(postgres, batches)

    assert dump(postgres) == dump(stores[0])


def fill(store: Store, batches: list[list[Items]]) -> None:
    empty(store)
    for batch in batches:
        store.write(batch)
