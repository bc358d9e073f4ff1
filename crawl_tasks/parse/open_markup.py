"""Markup that a post leaves open: it hides all behind it, as in browsers, or takes it in (`<select>`).

Only markup that is open to the end of the page is looked for. A further `-->` or `</textarea>` would close it.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document

_SWALLOWS = frozenset(
    ("-comment", "textarea", "plaintext", "xmp", "title", "style", "script", "iframe", "noembed", "noframes")
)
_MARKS = ("id", "class")


def hidden_records(document: Document, record: str) -> str:
    """Return a note on records behind or within markup that no end tag closes, empty without any.

    Such markup goes on to the end of the page, so that it is the last thing in the tree, or around that.
    """
    last = document.root
    while last.tag not in _SWALLOWS and (below := last.last_child) is not None:
        if last.tag == "select" and (taken := last.css(record)):
            return f"an open <select> takes in all behind it: {len(taken)} more records stand within what is before"
        last = below
    if last.tag not in _SWALLOWS:
        return ""
    opening, closing = ("<!--", "-->") if last.tag == "-comment" else (f"<{last.tag}", f"</{last.tag}")
    closed = [0, *(end.end() for end in re.finditer(closing, document.source, re.IGNORECASE))][-1]
    begun = re.compile(opening, re.IGNORECASE).search(document.source, closed)
    first = document.root.css_first(record)
    number = _like(first, document.source[begun.start() :]) if begun and first is not None else 0
    if not number:
        return ""
    return f"an open {opening.rstrip('>')} hides all behind it: {number} more records stand in the source"


def _like(record: LexborNode, source: str) -> int:
    """Return how many elements in a source have the id or else the classes of a record, but for its numbers."""
    for name in _MARKS:
        value = record.attributes.get(name) or ""
        if name == "id" and not re.search(r"\d", value):
            continue
        if value:
            shape = re.sub(r"\d+", r"\\d+", re.escape(value))
            return len(re.findall(rf"""<{record.tag}\s[^<>]*\b{name}=["']?{shape}["'\s>]""", source, re.IGNORECASE))
    return 0
