"""The simulation: one site's scans in virtual time, under a budget of list requests, by a policy."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from tests.freshness.policies import Policy, Priced
from tests.freshness.revisit import EARLY
from tests.freshness.world import BEGIN_H, END_H, BoardWorld, is_measured

ROWS, NEWS_ROWS = 20, 50
BOARD_SHARE = 0.15  # of the requests, beside a page of all news
FRONT_SHARE = 0.4  # of the requests for a front page, as the schedule has it


@dataclass(frozen=True)
class Outcome:
    """The result: hours from posting to the scan that shows an item, sorted, the list requests, and the longest gap.

    `of_boards` holds the hours by board, sorted as well.
    """

    of_boards: tuple[tuple[float, ...], ...]
    requests: int
    longest_gap_h: float

    @cached_property
    def delays(self) -> tuple[float, ...]:
        """The hours of all items, sorted."""
        return tuple(sorted(chain.from_iterable(self.of_boards)))

    def quantile(self, share: float) -> float:
        """Return a quantile of the delays in hours."""
        return self.delays[min(len(self.delays) - 1, int(share * len(self.delays)))]

    @property
    def mean(self) -> float:
        """Return the mean delay in hours."""
        return sum(self.delays) / len(self.delays)


class Crawl:
    """One crawl of a forum at `requests_h` list requests an hour."""

    def __init__(
        self,
        worlds: Sequence[BoardWorld],
        policy: Policy,
        requests_h: float,
        *,
        has_news_page: bool = False,
        has_front_page: bool = False,
        hidden: frozenset[int] = frozenset(),
    ) -> None:
        self._worlds, self._policy = worlds, policy
        self._each_h = 1 / requests_h
        self._found_h = [0.0] * len(worlds)
        self._looked_h = [BEGIN_H] * len(worlds)
        self._interval_h = [0.0] * len(worlds)
        self._due: list[tuple[float, int]] = [
            (BEGIN_H + number * self._each_h, number) for number in range(len(worlds))
        ]
        self._delays: list[list[float]] = [[] for _ in worlds]
        self._requests, self._longest = 0, 0.0
        self._seen_h, self._hidden = 0.0, hidden  # the news page: its last scan, and the boards that it hides
        self._has_news_page, self._credit = has_news_page, 0.0
        self._told = set[int]()  # boards of which the news page has told since their own last scan
        if isinstance(policy, Priced):
            policy.has_news = has_news_page or has_front_page
        self._has_front_page, self._front_credit = has_front_page, 0.0
        self._pinged: list[int] = []  # boards that the front page shows with news, the first first
        self._all = sorted((time, board) for board, world in enumerate(worlds) for time in world.times)
        self._news_at = 0

    def run(self) -> Outcome:
        """Crawl to the end."""
        now = BEGIN_H
        while now < END_H:
            if self._has_front_page and all(self._found_h):  # first scans go before
                pages = self._follow_front(now) or self._scan_next(now)
            else:
                pages = 0 if self._is_turn_of_news() else self._scan_next(now)
            if not pages and self._has_news_page:
                pages = self._scan_news(now)
            if not pages:  # nothing is due
                now = max(now + self._each_h, self._next_h())
                continue
            if is_measured(now):
                self._requests += pages
            now += pages * self._each_h
        return Outcome(tuple(tuple(sorted(one)) for one in self._delays), self._requests, self._longest)

    def _is_turn_of_news(self) -> bool:
        self._credit += BOARD_SHARE
        if not self._has_news_page or self._credit >= 1:
            self._credit -= 1
            return False
        return True

    def _next_h(self) -> float:
        due, board = self._due[0]
        return due - EARLY * self._interval_h[board] if self._policy.is_early else due

    def _scan_next(self, now: float) -> int:
        due, board = self._due[0]
        if now < self._next_h():
            return 0
        heapq.heappop(self._due)
        rows = self._find(board, now)
        if board in self._told and isinstance(self._policy, Priced):
            self._told.discard(board)
            self._policy.shown.add(board)
        if is_measured(now):
            seen_h = 0.0 if board in self._hidden or board in self._pinged else self._seen_h
            self._longest = max(self._longest, now - max(self._looked_h[board], seen_h))
        self._looked_h[board] = now
        self._interval_h[board] = self._policy.after(board, now, now - due, rows)
        heapq.heappush(self._due, (now + self._interval_h[board], board))
        return 1 + len(rows) // ROWS if self._found_h[board] else 1

    def _scan_news(self, now: float) -> int:
        self._seen_h = now
        first, self._news_at = self._news_at, bisect_right(self._all, now, key=lambda item: item[0])
        boards = {board for _, board in self._all[first : self._news_at] if board not in self._hidden}
        self._told |= boards
        return 1 + sum(len(self._find(board, now)) for board in boards) // NEWS_ROWS

    def _follow_front(self, now: float) -> int:
        """Scan a board that the front page showed with news, or look anew. Return the pages, 0 where none is due."""
        self._front_credit = min(1.0, self._front_credit + FRONT_SHARE)
        if self._pinged:
            board = self._pinged.pop(0)
            rows = self._find(board, now)
            if isinstance(self._policy, Priced):
                self._policy.shown.add(board)
            if is_measured(now):
                self._longest = max(self._longest, now - self._looked_h[board])
            self._looked_h[board] = now
            return 1 + len(rows) // ROWS
        if self._front_credit < 1:
            return 0
        self._front_credit, self._seen_h = self._front_credit - 1, now
        first, self._news_at = self._news_at, bisect_right(self._all, now, key=lambda item: item[0])
        news = self._all[first : self._news_at]
        self._pinged = list(dict.fromkeys(board for time, board in news if time > self._found_h[board]))
        for board in {*range(len(self._worlds))} - {*self._pinged}:
            self._looked_h[board] = now  # an unchanged row says that nothing is new
        return 1

    def _find(self, board: int, now: float) -> list[float]:
        """Take a board's new items, and return the last reply of each thread among them."""
        times, threads = self._worlds[board].between(self._found_h[board], now)
        if not self._found_h[board]:
            times, threads = times[-ROWS:], threads[-ROWS:]  # history on the first page
        elif is_measured(now):
            self._delays[board] += [now - time for time in times]
        self._found_h[board] = now
        return list(dict(zip(threads, times, strict=True)).values())
