"""Day orders: whether the dates of a site's pages, as `05-04-2012`, have the day or the month first.

All dates of a page decide together, then those of the pages before, then the language. Where nothing decides, such
dates are left open, with a note. The memory is that of one process: `date_order` in the site file is for good.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.numeric_dates import (
    NumericDate,
    day_behind_year,
    is_open,
    likely_orders,
    order_by_language,
    sure_orders,
)
from crawl_tasks.parse.values.page_language import stated_language
from crawl_tasks.sites.site_terms import DateOrder

_MOST: Final = 500
OPEN: Final = "left open: day or month may stand first"
OTHER_ORDER: Final = "contradicts the order"


class Decision(NamedTuple):
    """The order of a page's dates, None where nothing tells it, with its evidence and what is to be told."""

    order: DateOrder | None
    why: str = ""
    notes: tuple[str, ...] = ()


UNDECIDED: Final = Decision(None)


class DateOrders:
    """The memory of a site's dates. `stated` is the order that the site file says."""

    def __init__(self, stated: DateOrder | None) -> None:
        self._stated = stated
        self._sure = frozenset(DateOrder)
        self._known: dict[NumericDate, str] = {}
        self._guesses: dict[DateOrder, str] = {}
        self._lock = threading.Lock()
        self.last = Decision(stated)
        """The decision on the last page with such dates."""

    def begin(self, document: Document) -> None:
        """Set the order of a page that is known before it is read."""
        document.order = self._stated or self.last.order

    def settle(self, document: Document) -> tuple[bool, tuple[str, ...]]:
        """Decide on the order of a page that was read. Return whether it is to be read again, and notes."""
        if not document.days and not document.years:
            return False, ()
        with self._lock:
            return self._settled(document)

    def _settled(self, document: Document) -> tuple[bool, tuple[str, ...]]:
        dates = {figures: text for text, figures, _ in document.days}
        if any(figures.is_year_first for figures in dates):
            # Those that are read as ISO 8601 decide too.
            dates |= {figures: text for text in document.years if (figures := day_behind_year(text)) is not None}
        elif DateOrder.YMD not in self._guesses and any(map(day_behind_year, document.years)):
            self._guesses[DateOrder.YMD] = "as ISO 8601"
        if not dates:
            return False, ()
        sure = sure_orders(dates, document.page.at_s)
        decision = self._decide(document, dates, sure)
        formats = {stated for _, _, stated in document.days if stated is not None}
        wrong = next(iter(formats - sure), None) if sure else None
        is_again = decision.order is not document.order or (wrong is not None and not document.is_proven)
        document.order, document.is_proven = decision.order, document.is_proven or wrong is not None
        if len(self._known) < _MOST:
            self._known |= dates
        self._sure = self._sure & sure or sure or self._sure
        self.last = decision
        notes = decision.notes
        if wrong is not None:
            notes += (_contradiction(f"format ({wrong})", dates, wrong, document.page.at_s, decision.order),)
        return is_again, (*notes, *self._open(document, decision.order))

    def _decide(self, document: Document, dates: dict[NumericDate, str], sure: frozenset[DateOrder]) -> Decision:
        at_s = document.page.at_s
        if not sure:
            return Decision(None, "", (f"dates of this page contradict each other, as {_pair(dates, at_s)}",))
        if self._stated is not None and self._stated in sure:
            return Decision(self._stated)
        if self._stated is not None:
            order = min(sure) if len(sure) == 1 else None
            text = _contradiction(f"date_order ({self._stated})", dates, self._stated, at_s, order)
            return Decision(order, "", (text,))
        notes: tuple[str, ...] = ()
        both = sure & self._sure
        if not both:
            notes = (
                f"{_said(sure)} here {OTHER_ORDER} of pages before, {_said(self._sure)}: set date_order or format",
            )
        known = {**self._known, **dates} if both else dates
        if len(both or sure) == 1:
            order = min(both or sure)
            return Decision(order, _example(known, order, at_s), (*notes, *self._mistaken(order)))
        likely = likely_orders(known, at_s) & sure
        if len(likely) == 1:
            order = min(likely)
            return Decision(order, "no other order fits all dates: some would be in the future, or months change alone",
                            (*notes, *self._mistaken(order)))  # fmt: skip
        # With years of two figures, the year may stand first in any language.
        marks = {figures.mark for figures in dates} if DateOrder.YMD not in likely else set()
        language = stated_language(document.source)
        guess = order_by_language(language, min(marks)) if marks else None
        if guess not in likely:
            return Decision(None, "", notes)
        self._guesses[guess] = "by their language"
        return Decision(guess, f"the pages are in the language {language}", notes)

    def _mistaken(self, order: DateOrder) -> tuple[str, ...]:
        """Return a note on each guess of pages before that an order refutes. ISO 8601 is beside other orders."""
        is_behind_year = order is DateOrder.YDM
        wrong = [guess for guess in self._guesses if guess is not order and (guess is DateOrder.YMD) == is_behind_year]
        return tuple(
            f"dates of pages before were read {guess} {self._guesses.pop(guess)}, and are {order}:"
            f" set date_order: {order}, and read them again"
            for guess in wrong
        )

    def _open(self, document: Document, order: DateOrder | None) -> tuple[str, ...]:
        if order is not None:
            return ()
        at_s = document.page.at_s
        texts = [text for text, figures, stated in document.days if stated is None and is_open(figures, at_s)]
        if not texts:
            return ()
        many = f"{len(texts)} dates are" if len(texts) > 1 else "a date is"
        return (f"{many} {OPEN} in {texts[0][:40]!r}: set date_order ({_said(self._sure)}), or format",)


def _said(orders: Sequence[DateOrder] | frozenset[DateOrder]) -> str:
    return " or ".join(sorted(orders))


def _example(dates: dict[NumericDate, str], order: DateOrder, at_s: float) -> str:
    text = next((text for figures, text in dates.items() if sure_orders([figures], at_s) == {order}), "")
    return f"no other order fits {text[:40]!r}" if text else "no other order fits all dates"


def _pair(dates: dict[NumericDate, str], at_s: float) -> str:
    each = {min(orders): text for figures, text in dates.items() if len(orders := sure_orders([figures], at_s)) == 1}
    return " and ".join(f"{text[:40]!r} ({order})" for order, text in each.items())


def _contradiction(
    where: str, dates: dict[NumericDate, str], wrong: DateOrder, at_s: float, order: DateOrder | None
) -> str:
    text = next(text for figures, text in dates.items() if wrong not in sure_orders([figures], at_s))
    how = f"all are read {order}, mend it" if order else "they are left open, mend it"
    return f"{text[:40]!r} {OTHER_ORDER} in {where}: {how}"
