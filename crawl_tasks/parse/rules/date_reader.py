"""The reader of a rule's dates: by its formats, and by the order of the page's dates in figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.dates import read_date
from crawl_tasks.parse.values.numeric_dates import (
    NumericDate,
    day_behind_year,
    figures_in,
    in_order,
    is_open,
    mark_of_format,
    month_before_day,
    order_of_format,
)
from crawl_tasks.sites.site_terms import DateOrder

_LONGEST = 120
# Zeros stand for no date.
_FIGURE = re.compile(r"[^\D0]")


@dataclass(frozen=True, slots=True)
class PageClock:
    """The time zone and the languages in which dates of a site are read."""

    zone: ZoneInfo
    languages: tuple[str, ...] = ()


class _FormatOrders:
    """The strptime formats of a rule, and the orders that those of figures say."""

    def __init__(self, formats: tuple[str, ...]) -> None:
        self.written = formats
        orders = {form: order for form in formats if (order := order_of_format(form)) is not None}
        self._orders = dict.fromkeys(orders.values())
        self._by_mark: dict[str, dict[DateOrder, None]] = {}
        for form, order in orders.items():
            self._by_mark.setdefault(mark_of_format(form), {})[order] = None

    def orders(self, figures: NumericDate) -> tuple[DateOrder, ...]:
        """Return the orders that the formats say for a date: those with its mark, where several orders are said."""
        return tuple(self._orders if len(self._orders) < 2 else self._by_mark.get(figures.mark, ()))

    def in_order(self, order: DateOrder, figures: NumericDate) -> tuple[str, ...]:
        """Return the formats with those for a date in another order."""
        is_alone = len(self._orders) < 2
        return tuple(
            in_order(form, order) if is_alone or mark_of_format(form) == figures.mark else form for form in self.written
        )


def date_reader(formats: tuple[str, ...], clock: PageClock) -> Callable[[str, Document], int | None]:
    """Return a function that reads a date of a page, and notes on the page which dates have an order to be told."""
    read_text, parse = _DatesOfRule(formats, clock).read, datetime.fromisoformat
    if formats:
        return read_text

    def read(raw: str, document: Document) -> int | None:
        # Nearly every attribute of a time element has this form. The shortcut spares the way through read_date.
        if raw[10:11] == "T" and raw[11:13] != "24":
            try:
                moment = parse(raw)
            except ValueError:
                return read_text(raw, document)
            if moment.tzinfo is not None and 1970 < moment.year < 2100:
                return int(moment.timestamp())
        return read_text(raw, document)

    return read


class _DatesOfRule:
    """The reader of the dates of one rule."""

    def __init__(self, formats: tuple[str, ...], clock: PageClock) -> None:
        orders = [order for form in formats if (order := order_of_format(form)) is not None]
        self._formats = _FormatOrders(formats)
        self._clock = clock
        self._is_behind_year = DateOrder.YDM in orders
        self._with_year_first = DateOrder.YMD if DateOrder.YMD in orders else next(iter(orders), None)

    def read(self, raw: str, document: Document) -> int | None:
        """Return the moment of a date, None for one that is open or cannot be read."""
        begins_with_year = raw[:4].isdigit()
        # `1614 11/03/24` begins with a time of day.
        if begins_with_year and not self._is_behind_year and raw[4:5] not in (" ", ","):
            return self._year_first(raw, document)
        # So rare an order is weighed as the others are.
        if begins_with_year and self._is_behind_year:
            figures = day_behind_year(raw)
        else:
            figures = figures_in(raw) if len(raw) <= _LONGEST else None
        if figures is None:
            return self._moment(raw, document, self._formats.written)
        return self._in_figures(raw, figures, document)

    def _year_first(self, raw: str, document: Document) -> int | None:
        document.years.append(raw)
        formats, clock, is_behind_year = self._formats.written, self._clock, document.order is DateOrder.YDM
        if is_behind_year:
            usual, at_s = month_before_day(raw), document.page.at_s
            at = read_date(usual, at_s, clock.zone, formats=formats, languages=clock.languages)
            if at is not None:
                return at
        at = self._moment(raw, document, formats)
        if (at is None or is_behind_year) and (figures := day_behind_year(raw)) is not None:
            document.days.append((raw, figures, self._with_year_first))
        return at

    def _in_figures(self, raw: str, figures: NumericDate, document: Document) -> int | None:
        marked = self._formats.orders(figures)
        if len(marked) > 1:
            # Formats of several orders with one mark say which one is tried first.
            return self._moment(raw, document, self._formats.written, marked[0])
        stated = marked[0] if marked else None
        document.days.append((raw, figures, stated))
        order = stated if stated is not None and not document.is_proven else document.order
        if order is not None:
            return self._moment(raw, document, self._formats.in_order(order, figures), order)
        return None if is_open(figures, document.page.at_s) else self._moment(raw, document, ())

    def _moment(
        self, raw: str, document: Document, formats: tuple[str, ...], order: DateOrder | None = None
    ) -> int | None:
        """Return the moment of a date. One that cannot be read is noted on the page."""
        clock = self._clock
        at = read_date(raw, document.page.at_s, clock.zone, formats=formats, languages=clock.languages, order=order)
        if at is None and _FIGURE.search(raw):
            document.unread.append(raw)
        return at
