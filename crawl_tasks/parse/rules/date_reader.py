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
    zone, languages, forms = clock.zone, clock.languages, _FormatOrders(formats)
    orders = [order for form in formats if (order := order_of_format(form)) is not None]
    is_behind_year = DateOrder.YDM in orders
    with_year_first = DateOrder.YMD if DateOrder.YMD in orders else next(iter(orders), None)
    parse = datetime.fromisoformat

    def read(raw: str, document: Document) -> int | None:
        # Nearly every attribute of a time element has this form. The shortcut spares the way through read_date.
        if raw[10:11] == "T" and not formats and raw[11:13] != "24":
            try:
                moment = parse(raw)
            except ValueError:
                pass
            else:
                if moment.tzinfo is not None and 1970 < moment.year < 2100:
                    return int(moment.timestamp())
        at_s = document.page.at_s
        # `1614 11/03/24` begins with a time of day.
        if raw[:4].isdigit() and raw[4:5] not in (" ", ",") and not is_behind_year:
            document.years.append(raw)
            if document.order is None and (at := read_date(raw, at_s, zone, formats=formats, languages=languages)):
                return at
            return year_first(raw, document)
        # So rare an order is weighed as the others are.
        is_year_first = is_behind_year and raw[:4].isdigit()
        figures = day_behind_year(raw) if is_year_first else figures_in(raw) if len(raw) <= _LONGEST else None
        if figures is None:
            return _noted(read_date(raw, at_s, zone, formats=formats, languages=languages), raw, document)
        marked = forms.orders(figures)
        if len(marked) > 1:
            # Formats of several orders with one mark say which one is tried first.
            at = read_date(raw, at_s, zone, formats=formats, languages=languages, order=marked[0])
            return _noted(at, raw, document)
        stated = marked[0] if marked else None
        document.days.append((raw, figures, stated))
        order = stated if stated is not None and not document.is_proven else document.order
        if order is None:
            if is_open(figures, at_s):
                return None
            return _noted(read_date(raw, at_s, zone, languages=languages), raw, document)
        written = forms.in_order(order, figures)
        at = read_date(raw, at_s, zone, formats=written, languages=languages, order=order)
        return _noted(at, raw, document)

    def year_first(raw: str, document: Document) -> int | None:
        at_s = document.page.at_s
        if document.order is DateOrder.YDM:
            at = read_date(month_before_day(raw), at_s, zone, formats=formats, languages=languages)
            if at is not None:
                return at
        at = read_date(raw, at_s, zone, formats=formats, languages=languages)
        if (at is None or document.order is DateOrder.YDM) and (figures := day_behind_year(raw)) is not None:
            document.days.append((raw, figures, with_year_first))
        return _noted(at, raw, document)

    return read


def _noted(at: int | None, raw: str, document: Document) -> int | None:
    if at is None and _FIGURE.search(raw):
        document.unread.append(raw)
    return at
