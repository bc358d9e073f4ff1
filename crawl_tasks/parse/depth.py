"""Pages that would hold a worker up: nested so deep that building their tree takes quadratic time."""

from __future__ import annotations

import re

from crawl_tasks.errors import ParseError

# Building the tree costs about 2 ns for each tag and each element open around it (30,000 unclosed <div>: 1.7 s).
WORTH_A_LOOK = 10_000
# Counting tags takes 25 us for a page of 48 KB; up to here the worst, nothing but <ul>, builds in 0.4 s.
SMALL_BYTES = 64_000
MOST_TAGS = 1_000_000
DEEPEST = 1_000
_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Elements without an end tag, or whose end tag people leave out and the parser puts in.
_SHALLOW = frozenset(
    name.encode()
    for names in ("area base br col embed hr img input link meta param source track wbr", "p li dt dd option tr td th")
    for name in (*names.split(), "tbody", "thead", "tfoot", "colgroup", "optgroup", "html", "head", "body")
)


def check_depth(raw: bytes, url: str) -> None:
    """Raise ParseError if the page is nested deeper than any forum's; free for small pages."""
    if len(raw) <= SMALL_BYTES:
        return
    tags = raw.count(b"<")
    if tags <= WORTH_A_LOOK:
        return
    if tags > MOST_TAGS:
        raise ParseError(f"{url}: has {tags} tags, more than {MOST_TAGS}; that is no forum page")
    depth = 0
    for found in _TAG.finditer(raw):
        if found[2].lower() in _SHALLOW:
            continue
        depth = max(0, depth - 1) if found[1] else depth + 1
        if depth > DEEPEST:
            raise ParseError(f"{url}: is nested deeper than {DEEPEST} elements; that is no forum page")
