"""The reference model of the revisit policy: when a board is scanned again.

frontier/lua/schedule/revisit.lua does the same where a scan ends. `make freshness` measures this model in virtual time.

A board has a price for waiting, which grows with its rate of new items, and faster while a thread is hot. All boards
of a site wait until that price is the same. The site's price follows its budget: it rises while scans come late, and
falls while they come early.

The square root of the rate gives the least mean delay. Equal intervals of all boards but the quietest give the least
95th percentile. EXPONENT stands between the two, and QUIET makes the quietest boards wait. `make freshness` measures.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from crawl_tasks.frontier.admin.restore import HALF_LIFE_H, HOT_H, Scan

PRIOR_H, PRIOR_ITEMS, PRIOR_PART, PRIOR_SHARE = 3.0, 1.5, 1 / 16, 0.3
"""A board counts as watched before, at this share of its site's mean rate. The time is a part of the longest gap, and
at least so many hours, or on a busy site the hours in which a mean board has so many items."""

HOT_WEIGHT: Final = 1.5
"""The weight of hot threads in the price, against 1 for the steady rate."""

HOT_SHARE: Final = 0.2
"""The share of a board's items that follow hot threads. With it the expected 95th percentile is within 10 % of the
true one in the worlds of `make freshness`, but 18 % late on equal boards at a small budget."""

LEAST_RATE: Final = 1e-4
"""The least mean rate of a site's boards, in items an hour."""

EXPONENT: Final = 3.5
"""The power of the wait in the price: a board's interval is its rate to the power of -1 / EXPONENT."""

QUIET: Final = 0.2
"""Below this share of the site's mean rate, the intervals of boards grow twice as fast, as little is lost there."""

EARLY: Final = 0.8
"""The part of its interval by which a board may be scanned early, while the budget allows and the goal is not met."""

MOST_GAP: Final = 24.0
"""The longest gap between two scans of a board, in the intervals of an equal share of the budget."""

HIDDEN_GAP: Final = 4.0
"""The same of a board that a page of all news hides: between its scans pass as many hours as without that page."""

HIDDEN_ITEMS: Final = 0.5
"""Items that the scans of a board found beside that page, decayed, from which on it counts as hidden."""

STEPS: Final = 12
"""Steps of bisection for an interval: the last one is below a percent."""

UNCHANGED_COST: Final = 0.5
"""The price of a scan whose page had not changed (304), where a whole page is 1. By default lists have half of the
gate's rate: at half the price they cannot take more than all of it."""

RECENT: Final = 0.25
"""The weight of the last scan in a board's lag and cost, and in the wait for scans by a front page."""

LEAST_LAG, MOST_LAG = -0.9, 3.0
"""The bounds of a lag, in intervals. A scan after a longer stop tells nothing of the next one."""

HOURS: Final = 24

ALIKE: Final = tuple(map(float, range(HOURS + 1)))
"""The sums of `SiteTerms.busy` where all hours of day are alike."""


class BoardHistory(NamedTuple):
    """The history of a board: decayed items and busy hours watched, heat of the newest items, and the last scan.

    `at_h` is in hours since the epoch. 0 means never scanned.
    """

    items: float = 0.0
    hours: float = 0.0
    heat: float = 0.0
    at_h: float = 0.0


class Pace(NamedTuple):
    """The scans of a board as they were: hours behind the plan in the mean, and the cost of one.

    Scans ahead of time have a negative lag. That of a page of all news includes its reading.
    """

    lag_h: float = 0.0
    cost: float = 1.0


class SiteTerms(NamedTuple):
    """The part of a site in the policy: price, mean rate of a board, bounds in hours, share of each hour of day.

    `busy` holds 25 sums of the hours' shares from midnight UTC on, where 1 is the mean hour.
    """

    price: float
    mean_rate: float
    least_h: float
    most_h: float
    busy: tuple[float, ...] = ALIKE


def busy_sums(counts: list[int]) -> tuple[float, ...]:
    """Return `SiteTerms.busy` from the items of each hour of day. Few items leave the hours nearly alike."""
    floor = max(5.0, sum(counts) / HOURS * 0.05)
    total = (sum(counts) + HOURS * floor) / HOURS
    sums = [0.0]
    for count in counts:
        sums.append(sums[-1] + (count + floor) / total)
    return tuple(sums)


def busy_hours(busy: tuple[float, ...], start_h: float, hours: float) -> float:
    """Return the busy hours in a span: its length in hours, each weighted by its hour of day."""
    days = math.floor(hours / HOURS)
    begin = start_h % HOURS
    end = begin + hours - days * HOURS
    return days * HOURS + _until(busy, end) - _until(busy, begin)


def _until(busy: tuple[float, ...], hour: float) -> float:
    extra = 0.0
    if hour >= HOURS:
        extra, hour = busy[HOURS], hour - HOURS
    whole = math.floor(hour)
    return extra + busy[whole] + (hour - whole) * (busy[whole + 1] - busy[whole])


def observe(board: BoardHistory, scan: Scan, terms: SiteTerms, now_h: float) -> BoardHistory:
    """Return the history after a scan."""
    if board.at_h == 0.0:
        # The first scan shows what was posted before: a history as long as the oldest item on the page.
        oldest_h = max(1e-6, scan.oldest_h)
        watched = HALF_LIFE_H / math.log(2) * (1 - 2 ** (-oldest_h / HALF_LIFE_H))
        busy = busy_hours(terms.busy, now_h - oldest_h, oldest_h) / oldest_h
        return BoardHistory(scan.past, watched * busy, scan.heat, now_h)
    passed = max(0.0, now_h - board.at_h)
    decay = 2 ** (-passed / HALF_LIFE_H)
    return BoardHistory(
        board.items * decay + scan.items,
        board.hours * decay + busy_hours(terms.busy, board.at_h, passed),
        board.heat * math.exp(-passed / HOT_H) + scan.heat,
        now_h,
    )


def rate_of(board: BoardHistory, terms: SiteTerms) -> float:
    """Return the items an hour of a board, drawn towards a share of its site's mean while little is known."""
    prior_h = min(PRIOR_H, PRIOR_ITEMS / max(LEAST_RATE, terms.mean_rate))
    return _drawn_rate(board, terms, max(prior_h, PRIOR_PART * terms.most_h))


def _drawn_rate(board: BoardHistory, terms: SiteTerms, prior_h: float) -> float:
    prior = PRIOR_SHARE * max(LEAST_RATE, terms.mean_rate) * prior_h
    return (board.items + prior) / (board.hours + prior_h)


def price_of(board: BoardHistory, rate: float, busy: tuple[float, ...], wait_h: float) -> float:
    """Return the price of leaving a board alone for `wait_h` from its last scan on."""
    steady = rate * busy_hours(busy, board.at_h, wait_h) * math.pow(wait_h, EXPONENT - 2)
    hot = board.heat * (wait_h - HOT_H * (1 - math.exp(-wait_h / HOT_H)))
    return (steady + HOT_WEIGHT * hot) * wait_h


def paced(pace: Pace, planned_h: float, passed_h: float, reading_h: float, *, is_unchanged: bool) -> Pace:
    """Return the pace after a scan that ended `passed_h` after the one before, in place of `planned_h`."""
    lag = max(LEAST_LAG * planned_h, min(MOST_LAG * planned_h, passed_h - planned_h + reading_h))
    cost = UNCHANGED_COST if is_unchanged else 1.0
    return Pace(pace.lag_h + (lag - pace.lag_h) * RECENT, pace.cost + (cost - pace.cost) * RECENT)


def interval(board: BoardHistory, terms: SiteTerms, cost: float = 1.0) -> float:
    """Return the hours until the next scan: the least wait that is worth the scan's cost, within the bounds."""
    rate = rate_of(board, terms)
    rate *= rate / (rate + QUIET * max(LEAST_RATE, terms.mean_rate))
    low, high = math.log(terms.least_h), math.log(max(terms.least_h, terms.most_h))
    for _ in range(STEPS):
        middle = (low + high) / 2
        if price_of(board, rate, terms.busy, math.exp(middle)) < terms.price * cost:
            low = middle
        else:
            high = middle
    return math.exp(high)


def most_gap(board: BoardHistory, *, has_news: bool, is_shown: bool) -> float:
    """Return the longest gap between two scans of a board, in the intervals of an equal share of the budget.

    Beside a page of all news a board that this page has never shown, or lately hid items of, has a share of its own.
    """
    return HIDDEN_GAP if has_news and (not is_shown or board.items >= HIDDEN_ITEMS) else MOST_GAP


def moved_price(price: float, boards: int, late_h: float, interval_h: float) -> float:
    """Return the site's price after a scan that began `late_h` after its due time, or before it if negative."""
    # One round of all boards moves the price by a factor of e at most. A quicker step would swing with day and night.
    step = max(-1.0, min(1.0, 4 * late_h / interval_h))
    return price * math.exp(step / boards)


def expected_rate(board: BoardHistory, terms: SiteTerms, wait_h: float) -> float:
    """Return the items an hour that are expected until the next scan, in `wait_h` hours.

    They are more than the mean rate in busy hours, and while a thread is hot.
    """
    # A hot board is scanned often. Its mean rate alone would give its quiet hours too much weight.
    hot = board.heat * (1 - math.exp(-wait_h / HOT_H)) / wait_h
    # The prior of an interval would give quiet boards too much weight in the sum over all boards.
    rate = _drawn_rate(board, terms, PRIOR_PART * terms.most_h)
    steady = rate * busy_hours(terms.busy, board.at_h, wait_h) / wait_h
    return steady * (1 - HOT_SHARE) + hot * HOT_SHARE
