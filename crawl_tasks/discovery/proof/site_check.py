"""Site checks: comparisons of two statements of a forum, which right rules read alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from crawl_tasks.parse.values.text import letters

FEW: Final = 3
"""Rows from which on a likeness is no chance."""

FUTURE_S: Final = 86_400 + 3600
"""A page's dates may be a day ahead: its zone may be wrong by that much."""

_LONGEST_AUTHOR: Final = 80


class SiteCheck(NamedTuple):
    """One comparison. `name` is the statement that holds or is refuted, `evidence` the figures and an example."""

    name: str
    holds: bool
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence}" if self.evidence else self.name


def names_check(name: str, pairs: Sequence[tuple[str | None, str | None]]) -> SiteCheck | None:
    """Return a check of authors, each with the text beside: a name is no date, not long, and not the text itself."""
    named = [(author, text) for author, text in pairs if author]
    same = [author for author, text in named if letters(author) == letters(text or "")]
    odd = [author for author, _ in named if len(author) > _LONGEST_AUTHOR or _is_no_name(author)]
    bad = same + [author for author in odd if author not in same]
    # One name alone may look odd. One that is the text itself is none.
    if len(named) < (1 if same else FEW):
        return None
    return SiteCheck(name, 2 * len(bad) < len(named), f"{len(bad)} are not, as {bad[0][:60]!r}" if bad else "")


def _is_no_name(author: str) -> bool:
    # An initial, a date or a clock: a user may well be called 1984.
    return (len(author) == 1 and author.isupper()) or bool(re.fullmatch(r"[\d\s.,:/-]*\d[.:/-]\d[\d\s.,:/-]*", author))


def mostly(name: str, verdicts: Sequence[bool], example: str = "", most: float = 0.5) -> SiteCheck | None:
    """Return a check of many comparisons, which is refuted where the share `most` of them or more fails."""
    if not verdicts:
        return None
    failed = verdicts.count(False)
    return SiteCheck(
        name, failed < most * len(verdicts), f"{failed} of {len(verdicts)} fail{example}" if failed else ""
    )
