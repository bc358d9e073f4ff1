"""Extras of two rows of a post are joined name by name, also where a text could be taken as it stands."""

from __future__ import annotations

import orjson
import pytest

from crawl_tasks.model import Extra, Post
from crawl_tasks.store.merge import merge
from crawl_tasks.store.rows import POSTS, post_row


@pytest.mark.parametrize(
    ("older", "newer", "joined"),
    [
        ({"tag": "boats"}, {"icon": "star"}, {"tag": "boats", "icon": "star"}),
        ({"tag": "boats"}, {"tag": "ropes"}, {"tag": "ropes"}),
        ({"tag": "boats"}, None, {"tag": "boats"}),
        (None, {"tag": "ropes"}, {"tag": "ropes"}),
        ({"tag": "boats"}, {}, {"tag": "boats"}),
        ({}, None, {}),
    ],
)
def test_extras_are_joined_in_either_order(older: Extra | None, newer: Extra | None, joined: Extra) -> None:
    one, two = (
        post_row("demo", Post("7", at, forum_id="1", title="boats", extra=extra))
        for at, extra in ((100.0, older), (200.0, newer))
    )

    rows = {merge(POSTS, *both)[0] for both in ((one, two), (two, one))}

    [row] = rows
    assert orjson.loads(str(row[POSTS.columns.index("extra")])) == joined


@pytest.mark.parametrize(("board", "left"), [("1", None), ("2", "yes")])
def test_only_the_board_that_showed_a_name_takes_it_back(board: str, left: str | None) -> None:
    shown = post_row("demo", Post("7", 100.0, forum_id="1", title="boats", extra={"pinned": "yes"}))
    lacking = post_row("demo", Post("7", 200.0, forum_id=board, title="boats", extra={"pinned": None}))

    rows = {merge(POSTS, *both)[0] for both in ((shown, lacking), (lacking, shown))}

    [row] = rows
    assert orjson.loads(str(row[POSTS.columns.index("extra")])) == {"pinned": left}
