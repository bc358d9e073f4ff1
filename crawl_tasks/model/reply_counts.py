"""Reply counts: the replies that a list counts for a thread, beside those that its pages show."""

from __future__ import annotations

from typing import Final

FEW: Final = 2
FEW_SHARE: Final = 20
"""A thread may lack two replies that its list counts, or one of twenty: some forums count deleted replies on."""


def is_short(listed: int, read: int) -> bool:
    """Return whether a thread lacks more than a few of the replies that its list counts."""
    return listed - read > max(FEW, listed // FEW_SHARE)
