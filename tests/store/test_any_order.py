"""However a list of items is cut, shuffled and repeated, the same rows stand in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl_tasks.model import Comment, Forum, Items, Post
from crawl_tasks.store.upsert import Store
from tests.store.conftest import empty_schema
from tests.store.rows import dump

TIMES = st.sampled_from([1.0, 2.0, 2.5, 3.0])
IDS = st.sampled_from(["1", "2"])
TEXTS = st.sampled_from([None, "", "a", "b", "中", "z\0", "half \ud800"])
NUMBERS = st.sampled_from([None, 0, 1, 10**30])
STATES = st.sampled_from([None, "normal", "deleted", "masked"])
EXTRAS = st.sampled_from([None, {}, {"k": "v"}])

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
)
COMMENTS = st.builds(
    Comment, IDS, IDS, TIMES, body=TEXTS, author=TEXTS, page=NUMBERS, state=STATES, edited_at=NUMBERS, extra=EXTRAS
)
FORUMS = st.builds(Forum, IDS, TEXTS, TEXTS)
ITEMS = st.builds(
    Items,
    st.sampled_from(["one", "two"]),
    st.lists(FORUMS, max_size=1).map(tuple),
    st.lists(POSTS, max_size=3).map(tuple),
    st.lists(COMMENTS, max_size=3).map(tuple),
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


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(replays())
def test_any_batching_order_and_repetition_gives_the_same_tables(drawn: tuple[list[Items], list[list[Items]]]) -> None:
    items, batches = drawn

    with in_memory() as one, in_memory() as two:
        one.write(items)
        for batch in batches:
            two.write(batch)

        assert dump(two) == dump(one)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=replays())
def test_every_dialect_gives_the_same_tables_as_sqlite(
    postgres_urls: Callable[[], str], drawn: tuple[list[Items], list[list[Items]]]
) -> None:
    items, batches = drawn

    with in_memory() as one, Store(postgres_urls()) as two:
        one.write(items)
        for batch in batches:
            two.write(batch)

        assert dump(two) == dump(one)


@contextmanager
def in_memory() -> Iterator[Store]:
    with Store("sqlite://") as store:
        yield store


@pytest.fixture(scope="session")
def postgres_urls(postgres_server: str) -> Callable[[], str]:
    return lambda: empty_schema(postgres_server)
