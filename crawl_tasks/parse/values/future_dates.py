"""Dates from the future: what they say of the time zone by which a page's dates were read. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

_FAST_CLOCK_S = 600
_EASTERNMOST_S = 14 * 3600 + _FAST_CLOCK_S


def ahead_s(times: Iterable[int | None], at_s: float) -> float | None:
    """Return the seconds by which the newest of some times is ahead of a moment, None where none is of the hour before.

    Nobody posts in the future: such dates are read by a zone west of the forum's. Up to ten minutes, which are 0, may
    be the forum's clock. A time that is further ahead than the easternmost zone is no post's.
    """
    newest = max((at for at in times if at is not None and at <= at_s + _EASTERNMOST_S), default=0)
    if newest <= at_s - 3600:
        return None
    return newest - at_s if newest > at_s + _FAST_CLOCK_S else 0.0


def zone_hint(early_s: float) -> str:
    """Return what times so many seconds ahead say of the zone by which they were read."""
    return f"the forum's zone lies {ceil(early_s / 1800) / 2:g} h east of timezone, or more"
