"""Within a page of comments: which comment each one answers, and how deep it stands."""

from __future__ import annotations

from collections.abc import Sequence

from crawl_tasks.parse.table import Column, Table
from crawl_tasks.sites.rules import Plain
from crawl_tasks.sites.stages import Nesting


def nested_by(table: Table, nesting: Nesting) -> tuple[Column, Column]:
    """Return parents and depths: as the fields say, else as the records stand in each other."""
    columns, nothing = table.columns, [None] * len(table.records)
    parents: Column = columns.get("parent_id") or list(nothing)
    depths: Column = columns.get("depth") or list(nothing)
    if nesting is Nesting.INDENTED:
        return _by_indent(columns["comment_id"], depths), depths
    if nesting is not Nesting.NESTED:
        return parents, depths
    if None in depths:
        levels = _levels(table.parents)
        depths = [level if one is None else one for one, level in zip(depths, levels, strict=True)]
    ids = columns["comment_id"]
    parents = [
        ids[outer] if one is None and outer is not None else one
        for one, outer in zip(parents, table.parents, strict=True)
    ]
    return parents, depths


def _levels(parents: Sequence[int | None]) -> list[int]:
    """Return how many records stand around each; a parent stands before its children."""
    levels = [0] * len(parents)
    for place, outer in enumerate(parents):
        if outer is not None:
            levels[place] = levels[outer] + 1
    return levels


def _by_indent(ids: Column, depths: Column) -> Column:
    """Return for each record the last one above it that stands less deep."""
    parents: Column = []
    above: list[tuple[int, Plain]] = []
    for one, depth in zip(ids, depths, strict=True):
        level = depth if isinstance(depth, int) else 0
        while above and above[-1][0] >= level:
            above.pop()
        parents.append(above[-1][1] if above else None)
        above.append((level, one))
    return parents
