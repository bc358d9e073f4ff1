"""Histograms that the scripts fill: the bounds of the buckets, counts and quantiles."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

TIMES_MS: Final = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000)
"""Upper bounds of the buckets for fetch, parse and queue times, in ms."""

AGES_S: Final = (10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800)
"""Upper bounds of the buckets for freshness and lateness, in seconds."""

SUM = "sum"


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram: observations by bucket. The last count, one more than there are bounds, is beyond all bounds."""

    bounds: Sequence[int]
    counts: Sequence[int]
    total: int

    @property
    def count(self) -> int:
        """Return the number of observations."""
        return sum(self.counts)

    @property
    def cumulative(self) -> list[int]:
        """Return the number of observations up to each bound, as in the exposition format of Prometheus."""
        return list(accumulate(self.counts))

    def quantile(self, share: float) -> float | None:
        """Return an estimate of a quantile, None without observations.

        Linear within a bucket, and the last bound for all beyond, as `histogram_quantile` of Prometheus does.
        """
        wanted = self.count * share
        below, lower = 0, 0
        # The last count has no bound, and so no width to interpolate in.
        for bound, count in zip(self.bounds, self.counts, strict=False):
            if count and below + count >= wanted:
                return lower + (bound - lower) * max(wanted - below, 0) / count
            below, lower = below + count, bound
        return float(self.bounds[-1]) if self.count else None

    def since(self, earlier: Histogram) -> Histogram:
        """Return the observations after an earlier reading, or all of them when the counts began again."""
        counts = [now - before for now, before in zip(self.counts, earlier.counts, strict=True)]
        # A count that went down means that Redis was emptied or the site wiped since.
        return self if min(counts) < 0 else Histogram(self.bounds, counts, self.total - earlier.total)


def read_histogram(counters: Mapping[str, int], name: str, bounds: Sequence[int]) -> Histogram:
    """Return a histogram that measure() of site.lua wrote: fields NAME:1 to NAME:n+1, and NAME:sum."""
    counts = [counters.get(f"{name}:{number}", 0) for number in range(1, len(bounds) + 2)]
    return Histogram(bounds, counts, counters.get(f"{name}:{SUM}", 0))


def observed(name: str, bounds: Sequence[int], values: Iterable[float]) -> dict[str, int]:
    """Return observations as the fields that measure() of site.lua would raise."""
    fields: Counter[str] = Counter()
    for value in values:
        fields[f"{name}:{bisect_left(bounds, value) + 1}"] += 1
        fields[f"{name}:{SUM}"] += round(value)
    return dict(fields)


def packed(bounds: Sequence[int], values: Iterable[float]) -> list[int]:
    """Return observations as counts by bucket and their sum. ack_outbox.lua adds these numbers to a board's."""
    counts = [0] * (len(bounds) + 2)
    for value in values:
        counts[bisect_left(bounds, value)] += 1
        counts[-1] += round(value)
    return counts


def unpacked(bounds: Sequence[int], text: str) -> Histogram:
    """Return a board's histogram that ack_outbox.lua wrote. Another number of buckets means no observations."""
    numbers = [int(word) for word in text.split()]
    # A board without posts has no text, and another version had other bounds.
    if len(numbers) != len(bounds) + 2:
        numbers = [0] * (len(bounds) + 2)
    return Histogram(bounds, numbers[:-1], numbers[-1])


def merged(histograms: Sequence[Histogram]) -> Histogram:
    """Return the sum of histograms with the same bounds."""
    columns = zip(*(histogram.counts for histogram in histograms), strict=True)
    return Histogram(histograms[0].bounds, [sum(column) for column in columns], sum(h.total for h in histograms))
