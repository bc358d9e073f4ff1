"""Quiet hours: a site's time zone and hours as the numbers that lua/lib/quiet_hours.lua reads. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

AHEAD_DAYS = 800
"""Days ahead for which clock changes are written. Publishing the site again writes the next ones."""


def minutes(hours: str) -> str:
    """Return `23:00-07:00` as minutes of the day: `1380-420`."""
    return "-".join(str(int(clock[:2]) * 60 + int(clock[3:])) for clock in hours.split("-"))


# A thousand sites lie in a few zones.
@lru_cache(maxsize=100)
def offsets(zone: tzinfo, now: float) -> str:
    """Return a zone's offset and its coming changes as `<seconds east of UTC>@<since, ms>`, in order.

    Args:
        zone: the time zone.
        now: our clock, in seconds since the epoch.
    """
    begin = datetime.fromtimestamp(now, UTC).replace(second=0, microsecond=0)
    steps = [f"{_east(zone, begin)}@0"]
    # zoneinfo offers no list of transitions, so the offset is compared from day to day.
    for day in range(AHEAD_DAYS):
        first, last = begin + timedelta(days=day), begin + timedelta(days=day + 1)
        if _east(zone, first) != _east(zone, last):
            change = _change(zone, first, last)
            steps.append(f"{_east(zone, change)}@{round(change.timestamp() * 1000)}")
    return " ".join(steps)


def _change(zone: tzinfo, first: datetime, last: datetime) -> datetime:
    """Return the minute between two moments at which the offset changes, by bisection."""
    while last - first > timedelta(minutes=1):
        middle = first + timedelta(minutes=(last - first) // timedelta(minutes=2))
        if _east(zone, middle) == _east(zone, first):
            first = middle
        else:
            last = middle
    return last


def _east(zone: tzinfo, at: datetime) -> int:
    offset = at.astimezone(zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())
