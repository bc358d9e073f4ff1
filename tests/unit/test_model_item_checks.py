"""Items of a site's own functions: what is clear is taken, and what is not is named by field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from bs4 import BeautifulSoup

from crawl_tasks.model import Comment, Forum, Post
from crawl_tasks.model.item_checks import checked_item

TAG = BeautifulSoup("<b>x</b>", "html.parser").b
NOON = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=8)))
OTHERS_DAY = datetime(2026, 1, 2, 12)
TIMES = "give seconds since 1970 (int), a datetime with a time zone, or None"


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (Post("1", title="x", created_at=1_700_000_000, state="masked"), None),
        (Post("1", created_at=NOON), Post("1", created_at=1_767_326_400)),  # type: ignore[arg-type]
        (Post("1", created_at=NOON.astimezone(UTC)), Post("1", created_at=1_767_326_400)),  # type: ignore[arg-type]
        (Post("1", created_at=1_700_000_000.9), Post("1", created_at=1_700_000_000)),  # type: ignore[arg-type]
        (Post(1, forum_id=7, author_id=9), Post("1", forum_id="7", author_id="9")),  # type: ignore[arg-type]
        (Comment("1", 2, parent_id=3), Comment("1", "2", parent_id="3")),  # type: ignore[arg-type]
        (Forum(4, title="News"), Forum("4", title="News")),  # type: ignore[arg-type]
        (Post("1", extra={"tags": ["a", 1, None, {"b": 2.5}]}), None),  # type: ignore[dict-item]
    ],
)
def test_what_is_clear_is_taken(given: Any, taken: Any) -> None:  # noqa: ANN401 (of three types)
    assert checked_item(given) == (taken or given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Post("1", created_at=OTHERS_DAY), f"created_at of Post 1 is a datetime without a time zone: {TIMES}"),  # type: ignore[arg-type]
        (Post("1", created_at="2026-01-02"), f"created_at of Post 1 is '2026-01-02': {TIMES}"),  # type: ignore[arg-type]
        (Post("1", edited_at=True), f"edited_at of Post 1 is True: {TIMES}"),
        (Post("1", last_reply_at=float("nan")), f"last_reply_at of Post 1 is nan: {TIMES}"),  # type: ignore[arg-type]
        (Post("1", title=TAG), "title of Post 1 is of type Tag: give a text (str), or None"),  # type: ignore[arg-type]
        (Post("1", reply_count="3"), "reply_count of Post 1 is '3': give a whole number (int), or None"),  # type: ignore[arg-type]
        (Post(None), "post_id of Post None is of type NoneType: give the forum's own id as a text (str)"),  # type: ignore[arg-type]
        (Post(""), "post_id of Post  is '': give the forum's own id as a text (str)"),
        (Post("1", state="closed"), "state of Post 1 is 'closed': give normal, deleted, masked or None"),
        (Comment("1", "2", extra=["a"]), "extra of Comment 2 is of type list: give a dict of texts, or None"),  # type: ignore[arg-type]
        (Comment("1", "2", extra={"a": TAG}), "extra of Comment 2 is of type dict: give texts, numbers, lists"),  # type: ignore[dict-item]
        (Comment("1", "2", body=b"x"), "body of Comment 2 is of type bytes: give a text (str), or None"),  # type: ignore[arg-type]
        (Forum("7", title=8), "title of Forum 7 is 8: give a text (str), or None"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_is_named_by_its_field(given: Any, said: str) -> None:  # noqa: ANN401 (of three types)
    with pytest.raises(TypeError) as caught:
        checked_item(given)

    assert str(caught.value).startswith(said)
