"""Timestamps in a record of an unknown program, and the attributes that hold them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import find_all
from crawl_tasks.parse.values.clock_words import with_clock
from crawl_tasks.parse.values.dates import clean, of_epoch, read_date
from crawl_tasks.parse.values.dates_by_language import DAY
from crawl_tasks.parse.values.numeric_dates import figures_in, likely_orders, month_before_day, sure_orders
from crawl_tasks.parse.values.relative import is_relative
from crawl_tasks.sites.site_terms import DateOrder

_MARKED = "time, [datetime], [itemprop=dateCreated], [property*='dc:created']"
_NAMED = "[class*=time], [class*=date], [class*=created], [class*=posted]"
_ABSOLUTE = re.compile(r"\d{1,2}:\d{2}|(?<!\d)(?:19|20)\d{2}(?!\d)")
_BARE_DAYS = frozenset(("today", "yesterday", "今天", "昨天"))
# A name may be before a moment. A longer text is a sentence that speaks of days.
_LONGEST, _LONGEST_RELATIVE = 70, 30
# phpBB 2 writes the subject behind the moment.
_LONGEST_LINE = 150
UNTIL_TIME = r"(?i)^.{0,50}?\d{1,2}(?::|h|時)\d\d"
"""What a moment ends with. The reader of dates takes the half of the day and the zone behind to it."""
_UTC = ZoneInfo("UTC")
# Attributes of other values.
_NO_STAMPS = frozenset(("id", "class", "href", "src", "name", "for", "style", "datetime", "content", "title", "width"))
_SAME_DAY_S, _PART_OF_AGE = 1.6 * 86_400, 0.6
_FIRST_POST_S, _DAY_S = 946_684_800, 86_400
"""Ids that look like earlier moments are more than those."""


def times_in(record: LexborNode) -> list[LexborNode]:
    """Return the innermost elements that are moments: by their markup, else by their text, else by their class."""
    marked = find_all(record, _MARKED)
    if marked:
        return [node for node in marked if node.tag == "time" or node.css_first(_MARKED) in (None, node)]
    stamped = [
        node for node in record.css("*") if node.tag not in ("script", "style") and attribute_of(node) is not None
    ]
    ids = {node.mem_id for node in stamped}
    inner = [node for node in stamped if not ids & {inside.mem_id for inside in node.css("*")} - {node.mem_id}]
    return inner or [node for node in find_all(record, _NAMED) if node.css_first(_NAMED) in (None, node)]


def attribute_of(node: LexborNode) -> str | None:
    """Return the attribute with a moment, "" for a moment in the text, None without one."""
    if is_moment(node.attributes.get("title") or ""):
        return "title"
    own = node.text(deep=False, separator=" ") if len(node.text()) > _LONGEST else node.text(separator=" ")
    is_long = _LONGEST < len(own) <= _LONGEST_LINE and node.css_first("span, a, b") is not None
    return "" if is_moment(until_time(own) if is_long else own) else None


def until_time(text: str) -> str:
    """Return the text up to the first time of day, the whole text without one: `Posted: May 5, 2008 3:14 pm`."""
    match = re.match(UNTIL_TIME, " ".join(text.split()))
    return with_clock(match.string, *match.span()) if match else text


def is_moment(text: str) -> bool:
    """Return whether a text is a moment, whatever the order of its day and month."""
    plain = " ".join(text.split())
    is_absolute = len(plain) <= _LONGEST and _ABSOLUTE.search(plain)
    if not is_absolute and (len(plain) > _LONGEST_RELATIVE or not _is_relative(clean(plain))):
        return False
    return names_moment(plain)


def _is_relative(plain: str) -> bool:
    # In some language a word for a day is a name.
    is_name = DAY.fullmatch(plain) is not None and plain not in _BARE_DAYS
    return is_relative(plain) and not is_name


def names_moment(plain: str) -> bool:
    """Return whether a text on one line holds a moment, perhaps among other words."""
    return figures_in(plain) is not None or moment_of(plain) is not None


def is_epoch(text: str) -> bool:
    """Return whether a text may be an epoch of a forum's post, by only its value: in seconds or a part of them."""
    at = of_epoch(text) if text.isascii() and text.isdecimal() else None
    return at is not None and _FIRST_POST_S < at < time.time() + _DAY_S


def stamps_of(nodes: Sequence[LexborNode]) -> list[str]:
    """Return the attributes with epochs, by only their values: those of the moments that the texts tell, if any do."""
    names = {name for node in nodes for name in node.attributes} - _NO_STAMPS
    return sorted(name for name in names if all(_is_stamp(node, node.attributes.get(name) or "") for node in nodes))


def _is_stamp(node: LexborNode, value: str) -> bool:
    stamp = of_epoch(value)
    if stamp is None or not is_epoch(value):
        return False
    text = " ".join(node.text().split())
    shown = moment_of(text, DateOrder.DMY) if len(text) <= _LONGEST else None
    return shown is None or abs(stamp - shown) <= max(_SAME_DAY_S, _PART_OF_AGE * (time.time() - stamp))


def order_of(texts: Sequence[str]) -> DateOrder | None:
    """Return the order of dates in figures that only several of them tell, None for other texts."""
    many = [figures for text in texts if (figures := figures_in(text)) is not None]
    if not many or len(many) * 10 < len(texts) * 9:
        return None
    orders = sure_orders(many, time.time())
    orders = orders if len(orders) == 1 else orders & likely_orders(many, time.time())
    return min(orders) if len(orders) == 1 else None


def order_by_age(ages: Mapping[int, str], texts: Mapping[int, str]) -> DateOrder | None:
    """Return the order of dates without a day above 12, where texts beside tell their age, as `3 months ago`."""
    shown = {at: moment for at in ages if (moment := moment_of(texts[at])) is not None}
    if not shown or not any(map(figures_in, ages.values())):
        return None
    return min(
        DateOrder, key=lambda order: sum(abs((moment_of(ages[at], order) or 0) - age) for at, age in shown.items())
    )


def moment_of(text: str, order: DateOrder | None = None) -> int | None:
    """Return the moment that a short text names, None for another text."""
    if (len(text) > 20 and not any(char.isdigit() for char in text)) or (text.isdigit() and not is_epoch(text)):
        return None
    at = read_date(text, time.time(), _UTC, order=order)
    return at if at is not None else read_date(month_before_day(text), time.time(), _UTC)
