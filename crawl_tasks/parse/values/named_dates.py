"""Days that a text names, with the month in words or in figures, with and without a year. Pure."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta

from crawl_tasks.parse.values.dates_by_language import month_of
from crawl_tasks.parse.values.numeric_dates import YEAR_FIRST, day_of, figures_in, of_century
from crawl_tasks.parse.values.relative import around
from crawl_tasks.parse.values.weekdays import weekdays_beside
from crawl_tasks.sites.site_terms import DateOrder

_OLDEST_YEARS = 12  # a weekday on a day of the year comes back within 11 years
# A year of two figures or of an emperor's reign is before 年, and is none that could be left out.
_MD = re.compile(r"(?<![\d/.年-])(?<!年\s)(\d{1,2})(?:-|月)(\d{1,2})(?![\d-])日?(?=\s*\D{0,4}\d{1,2}:\d{2}|\s*$)")
# Figures behind a month are its year, unless they begin a time of day.
_SHORT_YEAR = r"'?\d{2}(?!\d|[:h時时点點시]|\.\d|\s?[ap]\.?\s?m\b|\s?h\s?\d)"
_DMY_WORDS = re.compile(
    r"(?<![a-z\d])(\d{1,2})(?:st|nd|rd|th|er|\.|º|ª|-ші)?[\s/-]+(?:de |d['’]|ב)?([^\W\d_]{2,12})[.׳]?,?[\s/-]+"
    rf"(?:de |del )?(\d{{4}}(?!\d)|{_SHORT_YEAR})"
)
_MDY_WORDS = re.compile(
    rf"\b([^\W\d_]{{2,12}})[.׳]?[\s-]+(\d{{1,2}})(?:st|nd|rd|th)?,?[\s-]+(\d{{4}}(?!\d)|{_SHORT_YEAR})"
)
# `2025. december 12.`, `2025 m. gruodžio 12 d.`, `2025-Dec-12`
_YMD_WORDS = re.compile(r"(?<!\d)(\d{4})[.,]?(?: m\.)?[\s/-]+([^\W\d_]{2,12})\.?[\s/-]+(\d{1,2})\b")
# `2025. gada 12. decembris`
_YDM_WORDS = re.compile(r"(?<!\d)(\d{4})\. gada (\d{1,2})\. ([^\W\d_]{2,12})")
# With the places of year, month and day.
_IN_WORDS = ((_DMY_WORDS, 3, 2, 1), (_MDY_WORDS, 3, 1, 2), (_YMD_WORDS, 1, 2, 3), (_YDM_WORDS, 1, 3, 2))
# Without a year: `17 Mai - 14:05`, `May 17, 2:05 pm`.
_DM_WORDS = re.compile(
    r"(?<![\d:.])(\d{1,2})(?:st|nd|rd|th|er|\.|º)?[\s-]+(?:de |d['’]|ב)?([^\W\d_]{2,12})(?![^\W\d_])"
)
_MD_WORDS = re.compile(r"(?<![^\W\d_])([^\W\d_]{2,12})[.׳]?\s+(\d{1,2})(?:st|nd|rd|th)?(?!\d|[:.h]\d|\s?[ap]\.?\s?m\b)")

# What follows is a part of the date too.
_OTHER_PART = re.compile(r"^[./-]\w|(?<!\d)(?:19|20)\d\d(?!\d)")


def day_in(
    plain: str, now: datetime, languages: tuple[str, ...], order: DateOrder | None
) -> tuple[tuple[int, int, int], str] | None:
    """Return year, month and date of a text, and its rest, where the time is looked for.

    Raises:
        ValueError: a day without a year is of the weekday beside in none of the last years.
    """
    match = YEAR_FIRST.search(plain)
    if match:
        return (int(match[1]), int(match[2]), int(match[3])), around(match)
    for pattern, year, word, date in _IN_WORDS:
        match = pattern.search(plain)
        month = month_of(match[word], languages) if match else None
        if match and month is not None:
            written = match[year].lstrip("'")
            whole = int(written) if len(written) > 2 else of_century(int(written), now.year)
            return (whole, month, int(match[date])), around(match)
    figures = figures_in(plain)
    if figures is not None:
        day = day_of(figures, now.timestamp(), order)
        return (day, f"{plain[figures.end :]} | {plain[: figures.start]}") if day is not None else None
    return _day_without_year(plain, now, languages)


def _day_without_year(plain: str, now: datetime, languages: tuple[str, ...]) -> tuple[tuple[int, int, int], str] | None:
    match = _MD.search(plain)
    if match:
        number, day = int(match[1]), int(match[2])
        return (_latest_year(number, day, now, frozenset()), number, day), around(match)
    for pattern, word, date in ((_DM_WORDS, 2, 1), (_MD_WORDS, 1, 2)):
        for match in pattern.finditer(plain):
            month = month_of(match[word], languages)
            rest = plain[: match.start()] + plain[match.end() :]
            if month is not None and ":" in rest.replace("h", ":") and not _OTHER_PART.search(plain[match.end() :]):
                weekdays = weekdays_beside(plain[: match.start()], plain[match.end() :])
                year = _latest_year(month, int(match[date]), now, weekdays)
                return (year, month, int(match[date])), around(match)
    return None


def _latest_year(month: int, date: int, now: datetime, weekdays: frozenset[int]) -> int:
    """Return the year of a day that names none: the latest one before now, in which the day is of the weekday.

    A forum leaves the year out while it is the current one; just after New Year that is the last one. The clock of a
    forum may be a day ahead, which on 31 December is the next year.

    Raises:
        ValueError: it is of the weekday in none.
    """
    soon = now + timedelta(days=1)
    latest = soon.year - ((month, date) > (soon.month, soon.day))
    if not weekdays:
        return latest
    for year in range(latest, latest - _OLDEST_YEARS, -1):
        with suppress(ValueError):
            if datetime(year, month, date).weekday() in weekdays:
                return year
    raise ValueError("the weekday is that of another day")
