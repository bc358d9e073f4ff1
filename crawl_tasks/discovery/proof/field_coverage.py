"""Field coverage: how many records have each field, with a sample value. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crawl_tasks.model import Comment, Post, Stage

NEEDED = {Stage.LIST: ("title",), Stage.POST: ("title", "body"), Stage.COMMENT: ("body",)}
_WANTED = {
    Stage.LIST: ("post_id", "title", "author", "created_at", "reply_count", "last_reply_at", "revision"),
    Stage.POST: ("post_id", "title", "author", "created_at", "body", "body_html"),
    Stage.COMMENT: ("comment_id", "author", "created_at", "body", "body_html", "parent_id"),
}
OPTIONAL = frozenset(("edited_at", "last_reply_at", "parent_id", "body_html", "revision", "state"))
_OURS = frozenset(("seen_at", "position", "page"))


class Coverage(NamedTuple):
    """The coverage of one field: a sample value, and the number of records with a value."""

    field: str
    sample: str
    filled: int
    records: int


def coverage_of(stage: Stage, rows: Sequence[Post | Comment]) -> list[Coverage]:
    """Return the coverage of every field that was read or is usually there."""
    names = [name for name in (rows[0]._fields if rows else ()) if name not in _OURS and name != "extra"]
    coverage: list[Coverage] = []
    for name in names:
        values = [getattr(row, name) for row in rows]
        if name in _WANTED[stage] or any(value is not None for value in values):
            coverage.append(Coverage(name, *_sample(values)))
    for name in sorted({name for row in rows for name in row.extra or {}}):
        coverage.append(Coverage(name, *_sample([(row.extra or {}).get(name) for row in rows])))
    return coverage


def _sample(values: list[object]) -> tuple[str, int, int]:
    """Return the longest of the first values, the number of values, and the number of records."""
    texts = [str(value) for value in values if value is not None]
    return max(texts[:10], key=len, default=""), len(texts), len(values)
