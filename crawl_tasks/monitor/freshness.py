"""The freshness of a site with the priced schedule: the goal, the expectation, and the requests that the goal takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.output_language import gettext

SHARE: Final = 0.95
"""The share of the items that a goal is for."""

HIDDEN_LEAST, HIDDEN_SHARE = 20, 0.05
"""A page of all news hides something from so many items on, and from this share of all news on."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Goal and budget of a site, and the expectation from its boards' rates and intervals.

    `in_time` is the share of new items that a scan is expected to show within `goal_s` seconds. `items_h` is the number
    of new items an hour. `news_found` and `news_missed` count items that the page of all news showed or hid.
    """

    goal_s: float
    requests_s: float
    in_time: float
    items_h: float
    news_found: int = 0
    news_missed: int = 0

    @property
    def is_quiet(self) -> bool:
        """Return whether hardly anything new is expected, or nothing is known of the boards yet."""
        return self.items_h * 24 < 1

    @property
    def is_met(self) -> bool:
        """Return whether the goal is expected to be met. A quiet site misses nothing."""
        return self.is_quiet or self.in_time >= SHARE

    @property
    def requests_needed_s(self) -> float:
        """Return about how many list requests a second the goal takes."""
        # Delays stretch with all intervals together: the 95th percentile is the goal times SHARE / in_time.
        return self.requests_s * SHARE / max(self.in_time, 0.001)

    @property
    def hidden_share(self) -> float:
        """Return the share of the new items that the page of all news hid, 0 while they are few."""
        if self.news_missed < HIDDEN_LEAST:
            return 0.0
        return self.news_missed / (self.news_missed + self.news_found)

    def __str__(self) -> str:
        goal = duration(self.goal_s)
        text = gettext("{share:.0%} of new replies are expected within {goal}", share=self.in_time, goal=goal)
        if self.is_quiet:
            text = gettext("less than one new reply a day is expected; the goal is {goal}", goal=goal)
        if not self.is_met:
            text += gettext(", 95 % need about {count:.2g} list requests a second", count=self.requests_needed_s)
        return text + gettext("; the budget is {count:.2g}", count=self.requests_s)


def read_freshness(fields: Mapping[str, str], stats: Mapping[str, int]) -> Freshness | None:
    """Return the freshness of a site from its fields and statistics in Redis, None where the schedule is another."""
    requests_h, goal_h, *_ = [*fields.get("freshness", "").split(), "", ""]
    if not requests_h:
        return None
    _, _, _, rate, timely = map(float, fields.get("pulse", "0 0 0 0 0").split())
    return Freshness(
        goal_s=float(goal_h) * 3600,
        requests_s=float(requests_h) / 3600,
        in_time=timely / rate if rate else 0.0,
        items_h=rate,
        news_found=stats.get("news:found", 0),
        news_missed=stats.get("news:missed", 0),
    )


def expected_delay_s(rates: Sequence[tuple[float, float]], share: float) -> float | None:
    """Return the seconds within which a share of new items is expected to be shown, None where no board has any.

    Args:
        rates: items an hour and interval in seconds of each board.
        share: the share of the items, between 0 and 1.
    """
    total = sum(rate for rate, _ in rates)
    if not total:
        return None
    low, high = 0.0, max(interval_s for _, interval_s in rates)
    for _ in range(40):
        middle = (low + high) / 2
        timely = sum(rate * min(1.0, middle / interval_s) for rate, interval_s in rates)
        low, high = (middle, high) if timely < share * total else (low, middle)
    return high
