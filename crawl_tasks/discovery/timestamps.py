"""Timestamps in a record of an unknown program, and the attributes that hold them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import find_all
from crawl_tasks.parse.values.dates import clean, read_date
from crawl_tasks.parse.values.dates_by_language import DAY
from crawl_tasks.parse.values.relative import is_relative

_MARKED = "time, [datetime], [itemprop=dateCreated], [property*='dc:created']"
_NAMED = "[class*=time], [class*=date], [class*=created], [class*=posted]"
_ABSOLUTE = re.compile(r"\d{1,2}:\d{2}|(?<!\d)(?:19|20)\d{2}(?!\d)")
_BARE_DAYS = frozenset(("today", "yesterday", "今天", "昨天"))
# Whether the day comes first only several dates tell.
_STROKES = re.compile(r"(?<!\d)(\d{1,2})(?:/(\d{1,2})/(\d{4}|\d\d)|-(\d{1,2})-(\d{4}))(?!\d)")
# Korean programs leave the century out: 24-07-01 12:00.
_SHORT_YEAR = re.compile(r"(\d\d)-(\d\d)-(\d\d)(?: \d\d:\d\d(:\d\d)?)?")
# A name may stand before a moment. A longer text is a sentence that speaks of days.
_LONGEST, _LONGEST_RELATIVE = 70, 30
# phpBB 2 writes the subject behind the moment.
_LONGEST_LINE = 150
UNTIL_TIME = r"(?i)^.{0,50}?\d{1,2}(?::|h|時)\d\d(?::\d\d|分)?(?: ?[ap]m\b)?"
_UTC = ZoneInfo("UTC")


def times_in(record: LexborNode) -> list[LexborNode]:
    """Return the innermost elements that are moments: by their markup, else by their text, else by their class."""
    marked = find_all(record, _MARKED)
    if marked:
        return [node for node in marked if node.tag == "time" or node.css_first(_MARKED) in (None, node)]
    said = [node for node in record.css("*") if node.tag not in ("script", "style") and attribute_of(node) is not None]
    mine = {node.mem_id for node in said}
    inner = [node for node in said if not mine & {one.mem_id for one in node.css("*")} - {node.mem_id}]
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
    found = re.match(UNTIL_TIME, " ".join(text.split()))
    return found[0] if found else text


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
    return (
        bool(_STROKES.search(plain) or _SHORT_YEAR.fullmatch(plain)) or read_date(plain, time.time(), _UTC) is not None
    )


def form_of(texts: Sequence[str]) -> str:
    """Return the strptime format of dates with strokes, whose order only several dates tell, else an empty text."""
    short = [one for text in texts if (one := _SHORT_YEAR.fullmatch(text))]
    if texts and len(short) == len(texts):
        # The years of a few dates differ less than their days.
        is_year_first = len({one[1] for one in short}) <= len({one[3] for one in short})
        day = "%y-%m-%d" if is_year_first else "%d-%m-%y"
        return f"{day} %H:%M{':%S' * bool(short[0][4])}" if ":" in texts[0] else day
    found = [_STROKES.search(text) for text in texts]
    days = [one for one in found if one]
    if not days or len(days) * 10 < len(texts) * 9:
        return ""
    is_day_first = any(int(one[1]) > 12 for one in days)
    if is_day_first == any(int(one[2] or one[4]) > 12 for one in days):
        return ""
    return _stroke_form(texts[found.index(days[0])], days[0], is_day_first=is_day_first)


def form_by_age(said: Mapping[int, str], texts: Mapping[int, str]) -> str:
    """Return the format of dates without a day above 12, where texts beside tell their age, as `3 months ago`."""
    shown = {at: one for at in said if (one := moment_of(texts[at])) is not None}
    day = next(filter(None, map(_STROKES.search, said.values())), None)
    if day is None or not shown:
        return ""
    forms = [_stroke_form(day.string, day, is_day_first=is_first) for is_first in (True, False)]
    return min(forms, key=lambda form: sum(abs((moment_of(said[at], form) or 0) - age) for at, age in shown.items()))


def _stroke_form(text: str, day: re.Match[str], *, is_day_first: bool) -> str:
    year = "%y" if day[3] and len(day[3]) == 2 else "%Y"
    stroke = day[0][len(day[1])]
    # Weekdays before it differ.
    form = text[0 if re.search(r"\d", text[: day.start()]) else day.start() :].lower()
    form = form.replace(day[0], stroke.join(("%d", "%m", year) if is_day_first else ("%m", "%d", year)))
    form = re.sub(r"\d{1,2}h\d\d", "%Hh%M", form)
    has_half = re.search(r"\d\s?[ap]m\b", form)
    form = re.sub(r"\d{1,2}:\d\d:\d\d", "%I:%M:%S" if has_half else "%H:%M:%S", form)
    form = re.sub(r"\d{1,2}:\d\d", "%I:%M" if has_half else "%H:%M", form)
    return re.sub(r"(?<=[MS])(\s?)[ap]m\b", r"\1%p", form)


def moment_of(text: str, form: str = "") -> int | None:
    """Return the moment that a short text names, None for another text."""
    if (len(text) > 20 and not any(char.isdigit() for char in text)) or (text.isdigit() and len(text) not in (10, 13)):
        return None
    return read_date(text, time.time(), _UTC, formats=(form,) if form else ())
