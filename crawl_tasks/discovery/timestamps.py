"""Timestamps in a record of an unknown program, and the attributes that hold them."""

from __future__ import annotations

import re
import time
from zoneinfo import ZoneInfo

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import find_all
from crawl_tasks.parse.values.dates import read_date

_MARKED = "time, [datetime], [itemprop=dateCreated]"
_NAMED = "[class*=time], [class*=date], [class*=created], [class*=posted]"
_ABSOLUTE = re.compile(r"\d{1,2}:\d{2}|(?<!\d)(?:19|20)\d{2}(?!\d)")
_RELATIVE = re.compile(
    r"\d.*(?:\bago\b|前|\bназад)|\b(?:yesterday|today|just now|(?:il y a|vor) \w+)\b|[昨今]天|刚刚|剛剛", re.IGNORECASE
)
# Whether the day comes first only several dates tell.
_STROKES = re.compile(r"(?<!\d)\d{1,2}/\d{1,2}/(?:19|20)\d{2}(?!\d)")
# A name may stand before a moment. A longer text is a sentence that speaks of days.
_LONGEST, _LONGEST_RELATIVE = 70, 30
_UTC = ZoneInfo("UTC")


def times_in(record: LexborNode) -> list[LexborNode]:
    """Return the innermost elements that are moments: by their markup, else by their text, else by their class."""
    marked = find_all(record, _MARKED)
    if marked:
        return [node for node in marked if node.tag == "time" or node.css_first(_MARKED) in (None, node)]
    said = [node for node in record.css("*") if node.tag not in ("script", "style") and attribute_of(node) is not None]
    inner = [node for node in said if not any(node.mem_id != one.mem_id and _holds(node, one) for one in said)]
    return inner or [node for node in find_all(record, _NAMED) if node.css_first(_NAMED) in (None, node)]


def attribute_of(node: LexborNode) -> str | None:
    """Return the attribute with a moment, "" for a moment in the text, None without one."""
    if _is_moment(node.attributes.get("title") or ""):
        return "title"
    own = node.text(deep=False) if len(node.text()) > _LONGEST else node.text()
    return "" if _is_moment(own) else None


def _is_moment(text: str) -> bool:
    plain = " ".join(text.split())
    is_short = len(plain) <= _LONGEST_RELATIVE and _RELATIVE.search(plain)
    if not (is_short or (len(plain) <= _LONGEST and _ABSOLUTE.search(plain))):
        return False
    return bool(_STROKES.search(plain)) or read_date(plain, time.time(), _UTC) is not None


def _holds(node: LexborNode, other: LexborNode) -> bool:
    above = other.parent
    while above is not None and above.tag != "html":
        if above.mem_id == node.mem_id:
            return True
        above = above.parent
    return False
