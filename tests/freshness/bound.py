"""An upper bound for any crawl: the share of items that so many scans can show within so many hours of their posting.

Each scan shows the items that its board got in the hours before. Which scans show most is a choice of intervals on the
boards' time lines. A price for each scan makes the boards independent, and Lagrange's dual bounds them all together.
The bound knows the future, and looks at front pages cost it nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from tests.freshness.world import END_H, MEASURED_H, BoardWorld

STEPS = 20


def most_within(worlds: Sequence[BoardWorld], scans: float, within_h: float) -> float:
    """Return the share of the measured items that any crawl could show within `within_h` hours by so many scans."""
    boards = []
    for world in worlds:
        times, _ = world.between(END_H - MEASURED_H, END_H)
        boards.append([bisect_right(times, time + within_h) for time in times])
    items = sum(map(len, boards))
    low, high = 0.0, float(max(map(len, boards)))
    least = float(items)
    for _ in range(STEPS):
        price = (low + high) / 2
        gains, used = zip(*(_best_scans(ends, price) for ends in boards), strict=True)
        least = min(least, sum(gains) + price * scans)
        low, high = (price, high) if sum(used) > scans else (low, price)
    return least / items


def _best_scans(ends: Sequence[int], price: float) -> tuple[float, int]:
    """Return the most items, less the price of their scans, and the scans. One from item n ends before `ends[n]`."""
    best = [(0.0, 0)] * (len(ends) + 1)
    for first in range(len(ends) - 1, -1, -1):
        gain, scans = best[ends[first]]
        best[first] = max(best[first + 1], (gain + ends[first] - first - price, scans + 1))
    return best[0]
