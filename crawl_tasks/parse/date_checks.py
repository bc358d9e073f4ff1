"""Chronology: what the times of a thread's post, of its replies and of their edits say of each other, or lack. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from crawl_tasks.model import Comment, Items, Post

LATE_S: Final = 366 * 86_400
"""The time after which few threads get their first reply."""

_DAY_S: Final = 86_400

UNREAD: Final = "no date is read"


def waited_s(post: Post, comments: Sequence[Comment]) -> int | None:
    """Return the seconds from a post to its first reply, None where either has no time. Negative if it is older."""
    times = [comment.created_at for comment in comments if comment.created_at is not None]
    return min(times) - post.created_at if times and post.created_at is not None else None


def early_edits(items: Iterable[Post | Comment]) -> list[bool]:
    """Return for each item that shows an edit whether it was edited a day or more before it was written."""
    return [
        item.edited_at < item.created_at - _DAY_S
        for item in items
        if item.edited_at is not None and item.created_at is not None
    ]


def unread_dates(items: Items, texts: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return a note where most records of a page lack a time, and as many texts of dates were not read.

    Args:
        items: the records of the page.
        texts: its texts that could not be read.
        names: the fields for times that the site file has rules for.
    """
    rows = [*items.posts, *items.comments]
    if 2 * len(texts) <= len(rows):
        return ()
    for name in names:
        lost = sum(getattr(row, name, 0) is None for row in rows)
        if 2 * lost > len(rows):
            return (f"{lost} of {len(rows)} records have no {name}: {UNREAD} in {texts[0][:40]!r}: set format",)
    return ()
