"""Chronology: what the times of a thread's post, of its replies and of their edits say of each other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from crawl_tasks.model import Comment, Post

LATE_S: Final = 366 * 86_400
"""The time after which few threads get their first reply."""

_DAY_S: Final = 86_400


def waited_s(post: Post, comments: Sequence[Comment]) -> int | None:
    """Return the seconds from a post to its first reply, None where either has no time. Negative if it is older."""
    times = [one.created_at for one in comments if one.created_at is not None]
    return min(times) - post.created_at if times and post.created_at is not None else None


def early_edits(items: Iterable[Post | Comment]) -> list[bool]:
    """Return for each item that shows an edit whether it was edited a day or more before it was written."""
    return [
        one.edited_at < one.created_at - _DAY_S
        for one in items
        if one.edited_at is not None and one.created_at is not None
    ]
