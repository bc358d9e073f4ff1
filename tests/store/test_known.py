"""What recovery and summaries read."""

from __future__ import annotations

from crawl_tasks.model import Comment, Forum, Items, Post
from crawl_tasks.store.known import Discovered, Revision, SiteCounts, counts, discovered_not_fetched, revisions, tails
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


def test_discovered_posts_are_those_without_a_page_oldest_first(store: Store) -> None:
    store.write(
        [
            page(Post("new", 3.0, url="http://f/new", forum_id="f", revision="r")),
            page(Post("old", 1.0)),
            page(Post("fetched", 1.0), Post("gone", 2.0)),
            page(Post("fetched", 5.0, body="b"), Post("gone", 5.0, state="deleted")),
            page(Post("other", 1.0), site="two"),
        ]
    )

    assert list(discovered_not_fetched(store, "site")) == [
        Discovered("old", None, None, None),
        Discovered("new", "http://f/new", "f", "r"),
    ]


def test_the_tail_is_the_highest_comment_page(store: Store) -> None:
    places = [("1", 1), ("1", 12), ("1", 3), ("2", 1), ("3", None)]
    store.write([page(*(Comment(post_id, str(n), 1.0, page=at) for n, (post_id, at) in enumerate(places)))])

    assert dict(tails(store, "site")) == {"1": 12, "2": 1}
    assert dict(tails(store, "two")) == {}


def test_a_revision_is_fetched_when_its_page_is_stored(store: Store) -> None:
    store.write(
        [
            page(Post("listed", 1.0, revision="r1")),
            page(Post("fetched", 1.0, revision="r1"), Post("moved", 1.0, revision="r1"), Post("unsaid", 1.0)),
            page(Post("fetched", 2.0, revision="r1", body="b"), Post("moved", 2.0, revision="r1", body="b")),
            page(Post("unsaid", 2.0, body="b"), Post("late", 2.0, body="b")),
            page(
                Post("fetched", 3.0, revision="r1"), Post("moved", 3.0, revision="r2"), Post("late", 3.0, revision="r")
            ),
        ]
    )

    assert sorted(revisions(store, "site"), key=lambda found: found.post_id) == [
        Revision("fetched", "r1", is_fetched=True),
        Revision("late", "r", is_fetched=True),
        Revision("listed", "r1", is_fetched=False),
        Revision("moved", "r2", is_fetched=False),
        Revision("unsaid", None, is_fetched=True),
    ]


def test_streams_can_be_left_early(store: Store) -> None:
    store.write([page(*(Post(str(number), 1.0) for number in range(3000)))])

    stream = revisions(store, "site")
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # an iterator that is a generator

    assert store.write([page(Post("0", 2.0))]).unchanged_posts == 1
