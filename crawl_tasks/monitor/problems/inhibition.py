"""Inhibition: a problem that follows from another one is not told beside that one.

The remedies of a cause and of its consequences would contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from crawl_tasks.monitor.problems.kinds import Problem

WORKER: Final = "CrawlNoWorker"
BEAT: Final = "CrawlBeatSilent"

_SLOW: Final = frozenset(("CrawlSiteLate", "CrawlNoProgress", "CrawlFewItems", "CrawlGoalMissed"))
# A site that fails or refuses rests by itself, and slots that it was given pass meanwhile.
_FAILS: Final = _SLOW | {"CrawlErrorRatio", "CrawlRetrying", "CrawlSlowedDown", "CrawlSlotsLate", "CrawlResting"}
_UNREAD: Final = _FAILS | {"CrawlNoPages", "CrawlBoardsUnwatched"}

OF_SITE: Final[Mapping[str, frozenset[str]]] = {
    "CrawlLoginRefused": _UNREAD | {"CrawlSiteRefuses"},
    "CrawlDenied": _UNREAD | {"CrawlParked"},
    "CrawlArchiveFails": _UNREAD,
    "CrawlQuarantined": _UNREAD | {"CrawlParked", "CrawlParserBroken"},
    "CrawlHung": _FAILS | {"CrawlNoPages"},
    "CrawlParserBroken": _UNREAD | {"CrawlParked"},
    "CrawlSiteRefuses": _FAILS | {"CrawlNoPages"},
    "CrawlNoPages": _FAILS | {"CrawlBoardsUnwatched"},
    "CrawlBacklogFull": frozenset(("CrawlSiteLate",)),
    "CrawlGoalMissed": frozenset(("CrawlSiteLate",)),
    "CrawlPausedLong": frozenset(("CrawlPaused", "CrawlDraining")),
    "CrawlSiteWithoutFile": frozenset(("CrawlDraining",)),
}
"""The kinds that follow from a kind of the same site."""

_STORE: Final = frozenset(("CrawlOutboxGrows", "CrawlOutboxFull", "CrawlStoreFails", "CrawlItemsRejected"))
_STILL: Final = _SLOW | {"CrawlBacklogFull"}
OF_INSTALLATION: Final[Mapping[str, frozenset[str]]] = {
    "CrawlHalted": _STILL | {"CrawlNoSite"},
    "CrawlRedisRefuses": _STILL
    | _UNREAD
    | _STORE
    | {WORKER, BEAT, "CrawlRedisMemory", "CrawlAlertsSilent", "CrawlWorkersDie"},
    WORKER: _STILL,
    f"{WORKER} store": _STORE - {"CrawlItemsRejected"},
    BEAT: frozenset(("CrawlSiteLate", "CrawlFewItems")),
    "CrawlStoreFails": _STILL | {"CrawlOutboxGrows", "CrawlOutboxFull"},
    "CrawlOutboxFull": _STILL | {"CrawlOutboxGrows"},
}
"""The kinds that follow from a kind of the whole installation, or from that of one queue, of it or of any site."""


class Finding(NamedTuple):
    """A problem that holds, the cell in which it was found, and whether it follows from another one."""

    problem: Problem
    cell: str
    is_implied: bool = False


def with_inhibited(problems: Sequence[tuple[str, Problem]]) -> list[Finding]:
    """Return problems, each behind its cell, with those marked that follow from another one of the cell."""
    of_site = {(problem.subject, name) for _, problem in problems for name in OF_SITE.get(problem.name, ())}
    of_cell = {
        (cell, name)
        for cell, problem in problems
        for cause in (problem.name, f"{problem.name} {problem.subject}")
        for name in OF_INSTALLATION.get(cause, ())
    }
    return [
        Finding(problem, cell, (problem.subject, problem.name) in of_site or (cell, problem.name) in of_cell)
        for cell, problem in problems
    ]
