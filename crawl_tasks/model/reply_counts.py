"""Reply counts: the replies that a list counts for a thread, beside those that its pages show."""

from __future__ import annotations

from typing import Final, NamedTuple

SHORT_READ: Final = "short"
"""The name of the walk that reads a thread once more, because it lacks replies. It marks nothing as deleted."""

FEW: Final = 2
FEW_SHARE: Final = 20
"""A thread may lack two replies that its list counts, or one of twenty: some forums count deleted replies on."""


class CountRules(NamedTuple):
    """What a site file says of reply counts: the pages at which a thread is cut, and if lists count hidden replies."""

    most_pages: int | None = None
    counts_hidden: bool = False


ALL_ARE_READ: Final = CountRules()


def is_short(listed: int, read: int, *, counts_hidden: bool = False) -> bool:
    """Return whether a thread lacks more than a few of the replies that its list counts.

    Where lists count hidden replies too, these are three quarters at most.
    """
    few = 3 * listed // 4 if counts_hidden else listed // FEW_SHARE
    return listed - read > max(FEW, few)
