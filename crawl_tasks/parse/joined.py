"""Records whose parts stand side by side, as dt and dd or two rows of a table: each in a box with what follows it."""

from __future__ import annotations

from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl_tasks.errors import ParseError
from crawl_tasks.parse.document import must

MOST_CHARS = 16_000_000


def joined(records: Sequence[LexborNode]) -> list[LexborNode]:
    """Return for each record a box with it and the elements after it, up to the next record.

    Raises:
        ParseError: the records hold each other many times over.
    """
    others = {record.mem_id for record in records}
    boxes: list[LexborNode] = []
    budget = MOST_CHARS
    for record in records:
        inner = "".join(node.html or "" for node in (record, *followers(record, others)))
        budget -= len(inner)
        if budget < 0:
            raise ParseError("the records contain each other many times over; mend the rules")
        boxes.append(_box(inner, is_row=record.tag == "tr"))
    return boxes


def followers(record: LexborNode, others: set[int]) -> list[LexborNode]:
    """Return the elements after a record, up to one of the others."""
    found: list[LexborNode] = []
    node = record.next
    while node is not None and node.mem_id not in others:
        if node.is_element_node:
            found.append(node)
        node = node.next
    return found


def _box(inner: str, *, is_row: bool) -> LexborNode:
    box = "table" if is_row else "div"  # a row outside of a table is dropped
    return must(LexborHTMLParser(f"<{box}>{inner}</{box}>").css_first(box))
