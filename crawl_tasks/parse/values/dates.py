"""Dates as forums write them, absolute or relative, into seconds since the epoch.

An unreadable text is None, never a guess. Relative texts count from the moment of the response. Order: the site's own
formats, ISO and epoch, dates in figures or words, relative words, at last `dateparser`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import product
from typing import NamedTuple
from zoneinfo import ZoneInfo

from crawl_tasks.parse.values.calendars import in_usual_words, is_of_other_calendar
from crawl_tasks.parse.values.dates_by_language import DAYS
from crawl_tasks.parse.values.named_dates import day_in
from crawl_tasks.parse.values.numeric_dates import figures_in
from crawl_tasks.parse.values.relative import UNIT_S, clock_in, is_relative, read_relative
from crawl_tasks.sites.site_terms import DateOrder

_WEEKDAY = re.compile(r"^\D+")
EARLIEST, LATEST = 0, 4_102_444_800  # 1970 and 2100
_LONGEST = 120
_DAY_S = 86_400
_ANYWHERE = ZoneInfo("UTC")
# Any two days do. Of these two, `03-03` without a year falls into two different years, and so counts as unstable.
_TWO_DAYS = (1_709_300_000, 1_709_300_000 + _DAY_S)
_NOON_S = 1_709_294_400
# Direction marks and zero-width characters, which no reader sees and no pattern expects.
_MARKS = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_FIGURE = re.compile(r"\d")
_OTHER_DIGITS = re.compile(r"[^\D0-9]")
_EPOCH = re.compile(r"(\d{9,19})(?:\.\d+)?|/[Dd][Aa][Tt][Ee]\((\d{9,14})(?:[+-]\d{4})?\)/").fullmatch
_EPOCH_OF_1990 = 631_152_000
_BUDDHIST_YEAR = 2400
# Figures of a date that is left open are no part of a day by its weekday, and nothing that `dateparser` may read.
_FIGURES_ALONE = re.compile(r"\d[^\w:]{1,3}\d{1,2}[^\w:]{1,3}\d|(?<!\d)\d{1,2}[-/]\d{1,2}(?!\d)")
_USUAL_LENGTH = 32
_USUAL_DAY = re.compile(r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?").fullmatch
_USUAL_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?").fullmatch
_USUAL_WORDS = re.compile(
    r"(\d{1,5})\s?(秒|分|小时|小時|天|日|周|週|minute|hour|day|week)(?:钟|鐘)?(?:前|s? ago)"
    r"|(今天|昨天|前天|[Tt]oday|[Yy]esterday),?(?: at)?\s*(\d{1,2}):(\d{2})"
).fullmatch
_PREFIX = re.compile(
    r"^\s*(?:posted|created|joined|edited|last|on|at|by|发表于|發表於|发布于|编辑于|于|[:：,，\s]+)+\s*", re.I
)
_dateparser_lock = threading.Lock()


def read_date(
    text: str, at_s: float, zone: ZoneInfo, *, formats: tuple[str, ...] = (), languages: tuple[str, ...] = (),
    order: DateOrder | None = None,
) -> int | None:  # fmt: skip
    """Return the moment that a text names, in seconds since the epoch, or None.

    Args:
        text: the text on the page, perhaps with words around the date.
        at_s: the moment of the response in seconds since the epoch, from which relative texts and missing years count.
        zone: the time zone of the forum's clock. A zone in the text outranks it.
        formats: strptime formats, tried first.
        languages: for `dateparser`, the slow last resort. Without languages it is not used. `hr` also names months.
        order: the order of a day in figures. Without it a day that two orders make is left open, except with dots.
    """
    moment = None
    if not formats:
        if len(text) <= _USUAL_LENGTH:
            day, _, time = text.rpartition(" ")
            begin = _midnight(day, zone)
            if begin is not None and (since_s := _since_midnight(time)) is not None:
                return begin + since_s
        moment = _quick(text, at_s, zone)
    if moment is None:
        plain = clean(text)
        if not plain:
            return None
        moment = _by_format(plain, formats, zone)
        if moment is None:
            moment = _read(_Text(text, plain, at_s, zone), languages, order)
    return moment if moment is not None and EARLIEST < moment < LATEST else None


@lru_cache(maxsize=4096)
def is_stable(text: str, languages: tuple[str, ...] = ()) -> bool:
    """Return whether a text names the same moment tomorrow, so that a change of the text is a change of the thread.

    The words for today are known here in a few languages only. With `languages` the text is read as of two days, and
    the two moments are compared.
    """
    plain = clean(text)
    if not plain or is_relative(plain):
        return False
    return not languages or len({read_date(text, day_s, _ANYWHERE, languages=languages) for day_s in _TWO_DAYS}) == 1


@lru_cache(maxsize=4096)
def is_fixed(text: str) -> bool:
    """Return whether a text names the same moment a minute later: `today at 10:12` does, `2 hours ago` does not."""
    return len({read_date(text, at_s, _ANYWHERE) for at_s in (_NOON_S, _NOON_S + 61)}) == 1


def clean(text: str) -> str:
    """Return the text in NFKC and lower case, without direction marks, in European digits and the Gregorian calendar.

    A text too long for a date becomes empty.
    """
    plain = text.strip()
    if len(plain) > _LONGEST:
        return ""
    if not plain.isascii():
        plain = _MARKS.sub("", unicodedata.normalize("NFKC", plain))
        plain = _OTHER_DIGITS.sub(lambda match: f"{unicodedata.digit(match[0])}", plain)
    plain = plain.lower()
    return in_usual_words(plain) if is_of_other_calendar(plain) else plain


@lru_cache(maxsize=4096)
def _midnight(day: str, zone: ZoneInfo) -> int | None:
    """Return the start of a day in figures, None for a day of a clock change or at the ends of the range.

    Cached, as the times of a day are. A page shows few days, and reading one takes ten times as long as a lookup.
    """
    match = _USUAL_DAY(day)
    if match is None:
        return None
    year, month, date = map(int, match.groups())
    try:
        begin = datetime(year, month, date, tzinfo=zone)
        # On a day of 23 or 25 hours, midnight plus a number of hours is not that hour of the clock.
        is_whole = begin.utcoffset() == (begin + timedelta(days=1)).utcoffset()
    except (ValueError, OverflowError):
        return None
    begin_s = _epoch(begin, zone) if is_whole else None
    return begin_s if begin_s is not None and EARLIEST < begin_s < LATEST - _DAY_S else None


@lru_cache(maxsize=4096)
def _since_midnight(time: str) -> int | None:
    match = _USUAL_TIME(time)
    if match is None:
        return None
    hour, minute, second = map(int, match.groups("0"))
    return hour * 3600 + minute * 60 + second if hour < 24 and minute < 60 and second < 60 else None


def _quick(text: str, at_s: float, zone: ZoneInfo) -> int | None:
    """Return the moment of other frequent spellings, without the general way through `clean` and many patterns."""
    match = _USUAL_WORDS(text)
    if match is None:
        return _machine(text, zone)
    number, unit, word, hour, minute = match.groups()
    if number is not None:
        return int(at_s) - int(number) * UNIT_S[unit]
    try:
        that = datetime.fromtimestamp(at_s, zone) - timedelta(days=DAYS[word.lower()])
        moment = that.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
    except ValueError:
        return None
    return _epoch(moment, zone)


def _machine(text: str, zone: ZoneInfo) -> int | None:
    """Return the moment of ISO 8601 with at least minutes, or of an epoch in a unit from seconds to nanoseconds."""
    if text[:1].isdigit() or text[:1] == "/":
        match = _EPOCH(text)
        if match:
            return of_epoch(match[1] or match[2])
    # Python 3.14 reads 24:00, those before do not.
    if len(text) < 16 or text[4] != "-" or text[13] == "." or text[11:13] == "24":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return _epoch(moment, zone) if moment.year < _BUDDHIST_YEAR else None


def of_epoch(figures: str) -> int | None:
    """Return the seconds of an epoch, None for a number of another length, or no number: the length tells the unit.

    With one figure less it is of the years from 1990 to 2001.
    """
    places = len(figures) - 10
    if not (figures.isascii() and figures.isdigit()):
        return None
    if places in (0, 3, 6, 9):
        return int(figures[:10])
    return int(figures) if places == -1 and int(figures) >= _EPOCH_OF_1990 else None


def _by_format(plain: str, formats: tuple[str, ...], zone: ZoneInfo) -> int | None:
    # A weekday may be before a day in figures. An hour alone needs the words before it.
    for form, words in product(formats, (plain, _WEEKDAY.sub("", plain))):
        if words == plain or form.lower().startswith(("%d", "%m", "%y")):
            with suppress(ValueError):
                moment = datetime.strptime(words, form)
                figures = figures_in(plain)
                # strptime asks for a weekday, and does not hold it against the day.
                if figures is None or not figures.weekdays or moment.weekday() in figures.weekdays:
                    return _epoch(moment, zone)
    return None


class _Text(NamedTuple):
    """A text to read: as the page has it, cleaned, with the moment of the response and the forum's zone."""

    page_text: str
    plain: str
    at_s: float
    zone: ZoneInfo


def _read(text: _Text, languages: tuple[str, ...], order: DateOrder | None) -> int | None:
    plain, zone = text.plain, text.zone
    now, has_figures = datetime.fromtimestamp(text.at_s, zone), _FIGURE.search(plain) is not None
    quick = _machine(plain.upper(), zone) if has_figures else None
    if quick is not None:
        return quick
    try:
        day = day_in(plain, now, languages, order) if has_figures else None
        if day is not None:
            (year, month, date), rest = day
            return _epoch(clock_in(rest, text.page_text, datetime(year, month, date), zone), zone)
        if figures_in(plain) or _FIGURES_ALONE.search(plain):
            return None
        relative = read_relative(plain, text.page_text, now)
    except (ValueError, OverflowError):
        return None
    if relative is not None:
        return _epoch(relative, zone)
    return _by_dateparser(plain, now, zone, languages) if languages else None


def _epoch(moment: datetime, zone: ZoneInfo) -> int | None:
    try:
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
        return int(aware.timestamp())
    except (OverflowError, ValueError, OSError):
        return None


def _by_dateparser(plain: str, now: datetime, zone: ZoneInfo, languages: tuple[str, ...]) -> int | None:
    text = _PREFIX.sub("", plain)
    if not any(sign.isdigit() for sign in text) or text.replace(".", "").isdigit():
        return None
    # The import costs 0.13 s and 20 MB. Hardly any forum shows such texts: only a process that meets one pays.
    import dateparser  # type: ignore[import-untyped]  # noqa: PLC0415  # it ships no types

    # Nobody posts in the future, so a date without a year is a past one. Day and month are required, or dateparser
    # would fill in those of today.
    settings = {
        "TIMEZONE": zone.key, "RETURN_AS_TIMEZONE_AWARE": True, "RELATIVE_BASE": now.replace(tzinfo=None),
        "PREFER_DATES_FROM": "past", "REQUIRE_PARTS": ["day", "month"],
    }  # fmt: skip
    try:
        with _dateparser_lock:
            moment = dateparser.parse(text, languages=list(languages), settings=settings)
    except (ValueError, OverflowError, TypeError):
        return None
    return None if moment is None else _epoch(moment, zone)
