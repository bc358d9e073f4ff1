"""Ids for comments that show none, made of what does not change about them: whose they are, where and when."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import blake2b

from crawl_tasks.parse.table import Column, Table


def with_made_ids(table: Table, key: str, names: tuple[str, ...]) -> Table:
    """Return the table with an id in every record that has none and holds at least one of the named fields.

    Two comments of one parent that are equal in all these fields get one id: nothing on the page tells them apart.

    Args:
        table: the comments of a page.
        key: of the thread.
        names: of the fields that make the id, with the parent.
    """
    count = len(table.records)
    ids: Column = list(table.columns.get("comment_id") or [None] * count)
    parents = table.columns.get("parent_id") or [None] * count
    for place, one in enumerate(ids):
        parts = [table.columns[name][place] for name in names]
        if one is not None or not any(part is not None for part in parts):
            continue
        outer = table.parents[place]
        parent = parents[place] if outer is None else ids[outer]  # a parent stands before its children
        text = json.dumps([key, parent, *parts], ensure_ascii=True)
        ids[place] = blake2b(text.encode(), digest_size=8).hexdigest()
    return replace(table, columns=table.columns | {"comment_id": ids})
