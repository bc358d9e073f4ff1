"""Statuses and failures as the scripts know them, each by the rules of errors.py and model/status_rules.py."""

from __future__ import annotations

from typing import Final, NamedTuple

from crawl_tasks import errors
from crawl_tasks.errors import AccessDenied, Fate, PageError, Scope
from crawl_tasks.model.status_rules import PAGE_STATUSES, STATUS_RULES, statuses_of


class ErrorRow(NamedTuple):
    """A failure: its class, the reason that is sent, the fate of its request, and what it says of the site.

    A failure that `refuses` is one of the whole site, which opens the circuit breaker of a stage. One that `strains`
    may slow the site down. One that refuses and does not strain says nothing of its page, nor of the pace.
    """

    name: str
    reason: str
    fate: Fate
    refuses: bool
    strains: bool


def _row(kind: type[PageError]) -> ErrorRow:
    return ErrorRow(kind.__name__, kind.reason, kind.fate, kind.scope is Scope.SITE, kind.slows_site)


FAILURES: Final = tuple(
    _row(kind)
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, PageError) and "reason" in vars(kind)
)
"""Every class of failure in errors.py that has a reason of its own."""

REFUSALS: Final = frozenset(row.reason for row in FAILURES if row.refuses)
"""The reasons for which a site as a whole refuses requests for now."""

STRAINS: Final = frozenset(row.reason for row in FAILURES if row.strains)
"""The reasons that count as a sign of strain."""

GONE_STATUSES: Final = frozenset().union(*(statuses_of(kind) for kind in STATUS_RULES if kind.fate is Fate.GONE))
"""The statuses of a page that does not exist."""

DENIED_STATUSES: Final = statuses_of(AccessDenied)
"""The statuses by which a thread that is hidden is as good as gone."""

if len({row.reason for row in FAILURES}) != len(FAILURES):
    raise TypeError("two failures of errors.py have one reason")

__all__ = ["DENIED_STATUSES", "FAILURES", "GONE_STATUSES", "PAGE_STATUSES", "REFUSALS", "STRAINS", "ErrorRow"]
