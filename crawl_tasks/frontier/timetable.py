"""Step 1, at an operator's word: boards' intervals and next scans, changed while the crawl goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.scripts import Scripts, Verb

_AT_ONCE = 1000


class Act(StrEnum):
    """What reschedule.lua does to boards."""

    FIX = "fix"
    FREE = "free"
    NOW = "now"
    WALK = "walk"
    HOLD = "hold"
    GO = "go"


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """How many boards were changed, and how many are held and were therefore left as they are."""

    changed: int
    held: int


class Timetable:
    """The boards' schedule on one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def change(self, site: str, boards: Sequence[str], act: Act, interval_ms: int = 0) -> Rescheduled:
        """Change boards' schedule; boards that the site does not have are left out.

        Raises:
            ConfigError: no such site is published.
        """
        changed = held = 0
        for start in range(0, len(boards), _AT_ONCE):
            reply = self._scripts.call(Verb.RESCHEDULE, site, act.value, interval_ms, *boards[start : start + _AT_ONCE])
            code, more, kept = cast("list[int]", reply)
            if code != 0:
                raise ConfigError(f"site {site!r} is not published; publish it: crawl-tasks sites check")
            changed, held = changed + more, held + kept
        return Rescheduled(changed, held)
