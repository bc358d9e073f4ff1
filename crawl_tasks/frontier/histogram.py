"""The bounds of the histograms that the scripts fill, and how a histogram is read: counts, mean, quantiles."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

TIMES_MS: Final = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000)
"""Upper bounds of fetch, parse and queue times."""

AGES_S: Final = (10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800)
"""Upper bounds of freshness and lateness."""

SUM = "sum"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Observations by bucket: one more count than there are bounds, the last for what is over all of them."""

    bounds: Sequence[int]
    counts: Sequence[int]
    total: int

    @property
    def count(self) -> int:
        """Count the observations."""
        return sum(self.counts)

    @property
    def cumulative(self) -> list[int]:
        """Count the observations up to each bound, as Prometheus wants them."""
        return list(accumulate(self.counts))

    def quantile(self, share: float) -> float | None:
        """Estimate a quantile, linear within its bucket as Prometheus does; None without observations.

        Over the last bound, the last bound is given.
        """
        wanted = self.count * share
        below, lower = 0, 0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            if count and below + count >= wanted:
                return lower + (bound - lower) * max(wanted - below, 0) / count
            below, lower = below + count, bound
        return float(self.bounds[-1]) if self.count else None

    def since(self, earlier: Histogram) -> Histogram:
        """Give what was observed after an earlier reading; all of it when the counts began again."""
        counts = [now - before for now, before in zip(self.counts, earlier.counts, strict=True)]
        return self if min(counts) < 0 else Histogram(self.bounds, counts, self.total - earlier.total)


def read_histogram(counters: Mapping[str, int], name: str, bounds: Sequence[int]) -> Histogram:
    """Read what `measure` of the scripts wrote: fields NAME:1 to NAME:n+1, and NAME:sum."""
    counts = [counters.get(f"{name}:{number}", 0) for number in range(1, len(bounds) + 2)]
    return Histogram(bounds, counts, counters.get(f"{name}:{SUM}", 0))


def observed(name: str, bounds: Sequence[int], values: Iterable[float]) -> dict[str, int]:
    """Write observations as the fields that `measure` of the scripts would raise."""
    fields: Counter[str] = Counter()
    for value in values:
        fields[f"{name}:{bisect_left(bounds, value) + 1}"] += 1
        fields[f"{name}:{SUM}"] += round(value)
    return dict(fields)


def packed(bounds: Sequence[int], values: Iterable[float]) -> list[int]:
    """Write observations as counts by bucket and their sum, which stored.lua adds to what a board has."""
    counts = [0] * (len(bounds) + 2)
    for value in values:
        counts[bisect_left(bounds, value)] += 1
        counts[-1] += round(value)
    return counts


def unpacked(bounds: Sequence[int], text: str) -> Histogram:
    """Read what stored.lua wrote of a board; nothing, or what another version wrote, is no observation."""
    numbers = [int(word) for word in text.split()]
    if len(numbers) != len(bounds) + 2:
        numbers = [0] * (len(bounds) + 2)
    return Histogram(bounds, numbers[:-1], numbers[-1])


def merged(histograms: Sequence[Histogram]) -> Histogram:
    """Add histograms of the same bounds."""
    columns = zip(*(histogram.counts for histogram in histograms), strict=True)
    return Histogram(histograms[0].bounds, [sum(column) for column in columns], sum(h.total for h in histograms))
