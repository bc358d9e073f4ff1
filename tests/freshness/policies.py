"""Revisit policies for the simulation: ours as it is shipped, and those of other crawlers, at one interface."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Protocol

from crawl_tasks.frontier.admin.restore import scan_of
from crawl_tasks.monitor.freshness import expected_delay_s
from tests.freshness.revisit import (
    EXPONENT,
    MOST_GAP,
    BoardHistory,
    Pace,
    SiteTerms,
    busy_sums,
    expected_rate,
    interval,
    most_gap,
    moved_price,
    observe,
    paced,
)
from tests.freshness.world import MEAN_BUSY, BoardWorld, busy_at, is_measured

LEAST_H = 1 / 60


class Policy(Protocol):
    """A policy: told of each scan of a board, it says when the next one is due."""

    is_early: bool  # boards may be scanned before they are due, while the budget allows

    def after(self, board: int, now_h: float, late_h: float, last_replies: Sequence[float]) -> float:
        """Return the hours until the board's next scan. `last_replies` are those of the threads with news."""
        ...


class Fixed:
    """All boards alike."""

    is_early = False

    def __init__(self, worlds: Sequence[BoardWorld], uniform_h: float) -> None:
        self._uniform = uniform_h

    def after(self, board: int, now_h: float, late_h: float, last_replies: Sequence[float]) -> float:
        return self._uniform


class Adaptive:
    """The simple form: half of the interval after news, half as much again without, between a minute and a day."""

    is_early = False
    faster, slower, least, most = 0.5, 1.5, 1 / 60, 24.0

    def __init__(self, worlds: Sequence[BoardWorld], uniform_h: float) -> None:
        self._interval = [1 / 6] * len(worlds)

    def after(self, board: int, now_h: float, late_h: float, last_replies: Sequence[float]) -> float:
        moved = self._interval[board] * (self.faster if last_replies else self.slower)
        self._interval[board] = max(self.least, min(self.most, moved))
        return self._interval[board]


class Nutch(Adaptive):
    """Nutch's AdaptiveFetchSchedule with its own rates."""

    faster, slower, most = 0.8, 1.4, 8760.0


class StormCrawler(Adaptive):
    """StormCrawler's AdaptiveScheduler: half as fast or as slow again, around the uniform interval."""

    faster, slower = 0.5, 1.5

    def __init__(self, worlds: Sequence[BoardWorld], uniform_h: float) -> None:
        super().__init__(worlds, uniform_h)
        self.least, self.most = uniform_h / 8, uniform_h * MOST_GAP


class LambdaCrawl:
    """LambdaCrawl (Kolobov et al., NeurIPS 2019) with learned rates: harmonic staleness, weighted by the rate."""

    is_early = True

    def __init__(self, worlds: Sequence[BoardWorld], uniform_h: float) -> None:
        self._boards = [BoardHistory() for _ in worlds]
        self._budget = len(worlds) / uniform_h
        self._uniform = uniform_h
        self._multiplier, self._again_h = 1.0, 0.0

    def after(self, board: int, now_h: float, late_h: float, last_replies: Sequence[float]) -> float:
        terms = SiteTerms(1.0, 0.5, LEAST_H, self._uniform * MOST_GAP)
        scan = scan_of([now_h - time for time in last_replies])
        self._boards[board] = observe(self._boards[board], scan, terms, now_h)
        if now_h >= self._again_h:
            self._multiplier, self._again_h = self._solve(), now_h + 6
        return min(1 / max(self._crawl_rate(self._boards[board], self._multiplier), 1e-9), terms.most_h)

    @staticmethod
    def _crawl_rate(board: BoardHistory, multiplier: float) -> float:
        rate = (board.items + 0.6) / (board.hours + 6)
        return (-rate + math.sqrt(rate * rate + 4 * rate * rate / multiplier)) / 2

    def _solve(self) -> float:
        low, high = 1e-9, 1e9
        for _ in range(60):
            middle = math.sqrt(low * high)
            if sum(self._crawl_rate(board, middle) for board in self._boards) > self._budget:
                low = middle
            else:
                high = middle
        return high


class Priced:
    """The policy of this project, by its own functions."""

    is_early = True
    has_news = False
    """Whether the site has a page of all news."""

    def __init__(self, worlds: Sequence[BoardWorld], uniform_h: float) -> None:
        self.shown = set[int]()
        """The boards whose own scans met news that the page of all news had told before."""
        self._boards = [BoardHistory() for _ in worlds]
        self._counts = [0] * 24
        self._uniform = uniform_h
        self._price = 0.5 * uniform_h**EXPONENT
        self._items = self._hours = 0.0
        self._busy = busy_sums(self._counts)
        self._intervals = [uniform_h] * len(worlds)
        self._paces = [Pace()] * len(worlds)
        # Items and hours until the next scan, of each measured scan of a board.
        self._expected: list[list[tuple[float, float]]] = [[] for _ in worlds]

    def expected_h(self, share: float) -> float | None:
        """Return the hours within which a share of the items was expected to be shown, over all measured scans."""
        return expected_delay_s([*chain.from_iterable(self._expected)], share)

    def expected_of_h(self, board: int, share: float) -> float:
        """Return the hours within which a share of a board's items was expected, as a look at any moment tells them."""
        items = sum(count for count, _ in self._expected[board])
        return share * sum(count * gap_h for count, gap_h in self._expected[board]) / items if items else 0.0

    def after(self, board: int, now_h: float, late_h: float, last_replies: Sequence[float]) -> float:
        for time in last_replies:
            self._counts[int(time % 24)] += 1
        if last_replies:
            self._busy = busy_sums(self._counts)
        old = self._boards[board]
        if old.at_h:
            planned_h = self._intervals[board]
            self._price = moved_price(self._price, len(self._boards), late_h, planned_h)
            self._paces[board] = paced(self._paces[board], planned_h, now_h - old.at_h, 0.0, is_unchanged=False)
        terms = SiteTerms(self._price, self._mean(), LEAST_H, 0.0, self._busy)
        new = self._boards[board] = observe(old, scan_of([now_h - time for time in last_replies]), terms, now_h)
        gap = most_gap(new, has_news=self.has_news, is_shown=board in self.shown)
        terms = terms._replace(most_h=self._uniform * gap)
        self._items, self._hours = self._items + new.items - old.items, self._hours + new.hours - old.hours
        self._intervals[board] = self._interval(board, new, terms)
        if is_measured(now_h):
            gap_h = max(1e-6, self._intervals[board] + self._paces[board].lag_h)
            self._expected[board].append((expected_rate(new, terms, gap_h) * gap_h, gap_h))
        return self._intervals[board]

    def _interval(self, board: int, history: BoardHistory, terms: SiteTerms) -> float:
        return interval(history, terms)

    def _mean(self) -> float:
        return self._items / self._hours if self._hours > 0 else 0.5


class Oracle(Priced):
    """Our price with the true rate and the true hours of day."""

    def __init__(self, worlds: Sequence[BoardWorld], uniform_h: float) -> None:
        super().__init__(worlds, uniform_h)
        self._worlds = worlds
        sums = [0.0]
        for hour in range(24):
            sums.append(sums[-1] + busy_at(hour + 0.5) / MEAN_BUSY)
        self._true_busy = tuple(sums)

    def _interval(self, board: int, history: BoardHistory, terms: SiteTerms) -> float:
        rate = self._worlds[board].true_rate(history.at_h + self._uniform)
        known = history._replace(items=rate * 1e6, hours=1e6)
        return interval(known, terms._replace(busy=self._true_busy))


POLICIES: dict[str, type] = {
    "fixed": Fixed,
    "adaptive": Adaptive,
    "Nutch": Nutch,
    "StormCrawler": StormCrawler,
    "LambdaCrawl": LambdaCrawl,
    "priced": Priced,
    "oracle": Oracle,
}
