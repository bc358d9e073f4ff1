"""A field of a post's own page keeps the time of that page, whatever lists repeat the value later."""

from __future__ import annotations

from functools import reduce
from itertools import permutations

from crawl_tasks.model import Post
from crawl_tasks.store.merge import merge
from crawl_tasks.store.rows import POSTS, post_row


def test_a_list_that_repeats_a_value_makes_it_no_newer() -> None:
    seen = [
        post_row("demo", Post("1", 3.0, created_at=100, is_page=True)),
        post_row("demo", Post("1", 5.0, created_at=100)),
        post_row("demo", Post("1", 4.0, created_at=200, is_page=True)),
    ]

    merged = {reduce(lambda one, two: merge(POSTS, one, two)[0], order) for order in permutations(seen)}

    assert [row[POSTS.key_size + 1 + POSTS.place_of["created_at"]] for row in merged] == [200]
