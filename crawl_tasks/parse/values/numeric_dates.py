"""Days in figures, as `05-04-2012`: which number is the day, by all dates of a page and of a site. Pure.

No program's default decides, as administrators choose another order: numbers above 12, weekdays, dates in the future
and numbers that never change do, then the language of the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final, NamedTuple

from crawl_tasks.parse.values.weekdays import weekdays_beside
from crawl_tasks.sites.site_terms import DateOrder

Day = tuple[int, int, int]
"""Year, month and day."""

# A time of day may be right before or behind: `16:14,11/03/24`. Behind a letter the year of an era comes first.
FIGURES: Final = re.compile(
    r"(?=\d)(?:(?<![\d.,:/-])|(?<=\d:\d\d[,/-])|(?<=[ap]m,))(?!(?<=\b[rhs])\d{1,2}\D\d{1,2}\D\d{1,2}(?!\d))"
    r"(\d{1,2})(\s?[-/.]\s?)(\d{1,2})\2(\d{4}|\d{2})(?!\d|[-/:]\d(?!\d?:\d\d)|\.\d{1,3}\b(?!\.|:))"
)
_YEAR_FIRST_DATE: Final = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)").match
YEAR_FIRST: Final = re.compile(r"(?<!\d)(\d{4})\s*[-/.年년]\s*(\d{1,2})\s*[-/.月월]\s*(\d{1,2})(?!\d)\s*[日号號일]?")
_CENTURY, _FIRST_YEAR, _TWO_FIGURES = 2000, 1990, 99
_AHEAD_DAYS = 2
_FEW: Final = 3
# Languages whose dates in figures are day first, by the mark between the numbers. Programs write `05-04-2012` month
# first by default, and forums in many languages leave that as it is.
_STROKES: Final = """
fr es it pt de nl pl ru uk be tr el ar he vi id ms th ca gl ro bg cs sk da nb nn no fi et lv hr sr bs sl mk sq eu hi bn
"""
_BY_STROKE: Final = frozenset(_STROKES.split())
_BY_HYPHEN: Final = frozenset(("nl", "da"))
_NOT_BY_DOT: Final = frozenset(("en", "zh", "ja", "ko"))
_DAY_FIRST: Final = frozenset(("en-gb", "en-au", "en-nz", "en-ie", "en-in", "en-za"))
# Programs say en-US of themselves, wherever their forum is.


class NumericDate(NamedTuple):
    """The figures of one date, the mark between, the weekdays that the words beside may name, and their place."""

    numbers: tuple[int, int, int]
    mark: str
    is_short: bool
    weekdays: frozenset[int]
    start: int
    end: int

    @property
    def is_year_first(self) -> bool:
        """Whether the first number is a year of four figures."""
        return self.numbers[0] > _TWO_FIGURES

    def days(self, today: date) -> dict[DateOrder, Day]:
        """Return the day by each order that makes one, and fits the weekday. A date to come is one of its own kind."""
        first, second, third = self.numbers
        if self.is_year_first:
            orders = {DateOrder.YMD: (first, second, third), DateOrder.YDM: (first, third, second)}
        else:
            orders = {DateOrder.DMY: (third, second, first), DateOrder.MDY: (third, first, second)}
        if self.is_short:
            orders[DateOrder.YMD] = (first, second, third)
        by_order = {}
        for order, (year, month, day) in orders.items():
            whole = of_century(year, today.year)
            if whole >= _FIRST_YEAR or not self.is_short:
                try:
                    weekday = date(whole, month, day).weekday()
                except ValueError:
                    continue
                if not self.weekdays or weekday in self.weekdays:
                    by_order[order] = (whole, month, day)
        return by_order


def of_century(year: int, now: int) -> int:
    """Return the whole year of one of two figures: the latest that has begun, or begins soon."""
    if year > _TWO_FIGURES:
        return year
    return year + _CENTURY if year + _CENTURY <= now + 1 else year + _CENTURY - 100


@lru_cache(maxsize=4096)
def figures_in(text: str) -> NumericDate | None:
    """Return the date in figures of a text, None where a year of four figures begins a date or none is there."""
    plain = unicodedata.normalize("NFKC", text).lower() if not text.isascii() else text.lower()
    match = FIGURES.search(plain)
    if match is None or YEAR_FIRST.search(plain):
        return None
    numbers = int(match[1]), int(match[3]), int(match[4])
    weekdays = weekdays_beside(plain[: match.start()], plain[match.end() :])
    return NumericDate(numbers, match[2].strip(), len(match[4]) == 2, weekdays, match.start(), match.end())


def day_behind_year(text: str) -> NumericDate | None:
    """Return the date with the year first that begins a text, None without one: some programs offer `2024-25-12`."""
    match = _YEAR_FIRST_DATE(text)
    return (
        NumericDate((int(match[1]), int(match[3]), int(match[4])), match[2], False, frozenset(), 0, 0)
        if match
        else None
    )


def month_before_day(text: str) -> str:
    """Return a text that begins with year, day and month, with these in the usual order."""
    match = _YEAR_FIRST_DATE(text)
    return f"{match[1]}{match[2]}{match[4]}{match[2]}{match[3]}{text[match.end() :]}" if match else text


def today_of(at_s: float) -> date:
    """Return the day of a moment."""
    return datetime.fromtimestamp(at_s, UTC).date()


def day_of(figures: NumericDate, at_s: float, order: DateOrder | None) -> Day | None:
    """Return the day that figures name: by the order if it makes one, else by the only order that does.

    Without an order, dots are day first.
    """
    days = figures.days(today_of(at_s))
    if order in days:
        return days[order]
    past = _past(days, today_of(at_s)) or days
    if len(set(past.values())) == 1:
        return next(iter(past.values()))
    return past.get(DateOrder.DMY) if order is None and figures.mark == "." else None


def is_open(figures: NumericDate, at_s: float) -> bool:
    """Return whether orders make several days of figures."""
    days = figures.days(today_of(at_s))
    return len(set((_past(days, today_of(at_s)) or days).values())) > 1


def _past(days: dict[DateOrder, Day], today: date) -> dict[DateOrder, Day]:
    return {order: day for order, day in days.items() if (date(*day) - today).days < _AHEAD_DAYS}


_NUMBERS: Final = re.compile("%[dmyY]")


def order_of_format(form: str) -> DateOrder | None:
    """Return the order of a strptime format of figures only, None for another format."""
    letters = "".join(_NUMBERS.findall(form)).replace("%", "").lower()
    return DateOrder(letters) if letters in tuple(DateOrder) else None


def mark_of_format(form: str) -> str:
    """Return the mark between the numbers of a strptime format of figures."""
    return _NUMBERS.split(form)[1].strip()


def in_order(form: str, order: DateOrder) -> str:
    """Return a strptime format of figures with its numbers in another order."""
    if order_of_format(form) is None:
        return form
    year = "%Y" if "%Y" in form else "%y"
    numbers = iter([year if letter == "y" else f"%{letter}" for letter in order.value])
    return _NUMBERS.sub(lambda _: next(numbers), form)


def sure_orders(many: Iterable[NumericDate], at_s: float) -> frozenset[DateOrder]:
    """Return the orders by which every date is one, by numbers above 12 and weekdays alone. None of all contradict."""
    today = today_of(at_s)
    each = [frozenset(days) for figures in many if (days := figures.days(today))]
    return frozenset.intersection(*each) if each else frozenset(DateOrder)


def likely_orders(many: Iterable[NumericDate], at_s: float) -> frozenset[DateOrder]:
    """Return the orders that also have no date in the future, and no day that stands still while months change."""
    today = today_of(at_s)
    rows = [days for figures in dict.fromkeys(many) if (days := figures.days(today))]
    orders = frozenset.intersection(*map(frozenset, rows)) if rows else frozenset(DateOrder)
    past = orders.intersection(*(_past(days, today) for days in rows))
    orders = past or orders
    still = set[DateOrder]()
    for order in orders:
        dates = {days[order] for days in rows}
        if _stands_still(dates):
            still.add(order)
    return orders - still or orders


def _stands_still(dates: set[Day]) -> bool:
    """Return whether several dates are all of one day of a month."""
    return len(dates) >= _FEW and len({day for _, _, day in dates}) == 1


def order_by_language(language: str, mark: str) -> DateOrder | None:
    """Return the order that the language of a page gives dates with a mark, None where it has several."""
    name = language.lower().replace("_", "-")
    code = name.partition("-")[0]
    if mark == "-":
        return DateOrder.DMY if code in _BY_HYPHEN else None
    if name in _DAY_FIRST:
        return DateOrder.DMY
    if mark == ".":
        return None if code in _NOT_BY_DOT else DateOrder.DMY
    return DateOrder.DMY if code in _BY_STROKE else None
