"""What recovery and summaries read."""

from __future__ import annotations

from crawl_tasks.model import FULL_REACH, Comment, Forum, Items, Post, Visit
from crawl_tasks.store.known import SiteCounts, counts, remembered
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


def test_streams_can_be_left_early(store: Store) -> None:
    visits = [
        Visit("site", "post", str(n), 1, f"http://f/{n}", 5, FULL_REACH, "", 1, is_done=True) for n in range(3000)
    ]
    store.write([page(Post("0", 1.0))._replace(visits=tuple(visits))])

    stream = remembered(store, "site")
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # an iterator that is a generator

    assert store.write([page(Post("0", 2.0))]).unchanged_posts == 1
