"""Numbers and durations as text for people."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 page, 2 pages."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float | None) -> str:
    """Return a duration in the largest fitting unit, a dash for None."""
    if seconds is None:
        return "–"
    for unit, size, limit in (("s", 1, 90), ("min", 60, 5400), ("h", 3600, 172_800)):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"
