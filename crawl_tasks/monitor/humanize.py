"""Numbers and durations as text for people."""

from __future__ import annotations

from math import inf

from crawl_tasks.monitor.output_language import gettext

UNITS = (("{count} s", 1, 90), ("{count} min", 60, 5400), ("{count} h", 3600, 172_800), ("{count} d", 86_400, inf))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 page, 2 pages."""
    return gettext(f"{{count}} {noun}{'' if number == 1 else 's'}", count=number)


def duration(seconds: float | None) -> str:
    """Return a duration in the largest fitting unit, a dash for None."""
    if seconds is None:
        return "–"
    unit, size, _ = next((row for row in UNITS if seconds < row[2]), UNITS[-1])
    return gettext(unit, count=f"{seconds / size:.0f}")
