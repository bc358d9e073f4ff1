"""Sibling records: parts that are side by side (dt and dd, two table rows), put into one box for each record."""

from __future__ import annotations

from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl_tasks.errors import ParseError
from crawl_tasks.parse.document import must

# A box copies HTML: records inside each other would copy the page once for each level.
MOST_CHARS = 16_000_000


def joined(records: Sequence[LexborNode]) -> list[LexborNode]:
    """Return a box for each record, with the record and the elements after it up to the next record.

    Raises:
        ParseError: The records contain each other many times over.
    """
    mem_ids = {record.mem_id for record in records}
    boxes: list[LexborNode] = []
    budget = MOST_CHARS
    for record in records:
        inner = "".join(node.html or "" for node in (record, *followers(record, mem_ids)))
        budget -= len(inner)
        if budget < 0:
            raise ParseError("the records contain each other many times over; mend the rules")
        boxes.append(_box(inner, is_row=record.tag == "tr"))
    return boxes


def followers(record: LexborNode, mem_ids: set[int]) -> list[LexborNode]:
    """Return the elements after a record, up to the next record. `mem_ids` are the memory ids of all records."""
    elements: list[LexborNode] = []
    node = record.next
    while node is not None and node.mem_id not in mem_ids:
        if node.is_element_node:
            elements.append(node)
        node = node.next
    return elements


def _box(inner: str, *, is_row: bool) -> LexborNode:
    # HTML parsers drop a row that is outside of a table.
    box = "table" if is_row else "div"
    return must(LexborHTMLParser(f"<{box}>{inner}</{box}>").css_first(box))
