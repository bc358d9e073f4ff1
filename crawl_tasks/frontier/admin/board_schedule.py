"""The board schedule: scan intervals and next scans, which an operator changes while the crawl goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.model import NOBODY, Operator

_AT_ONCE = 75


class Act(StrEnum):
    """An action on boards: reschedule.lua's words."""

    FIX = "fix"
    FREE = "free"
    NOW = "now"
    WALK = "walk"
    HOLD = "hold"
    GO = "go"


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """The number of changed boards, and of held boards, which stay as they are."""

    changed: int
    held: int


class BoardSchedule:
    """The schedule of all boards on one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def change(
        self, site: str, boards: Sequence[str], act: Act, interval_ms: int = 0, by: Operator = NOBODY
    ) -> Rescheduled:
        """Change the schedule of boards. Boards that the site does not have are left out.

        Raises:
            ConfigError: no such site is published.
        """
        changed = held = 0
        # One call must not hold Redis up for long.
        for start in range(0, len(boards), _AT_ONCE):
            reply = self._scripts.call(
                Verb.RESCHEDULE, site, act.value, interval_ms, *by, *boards[start : start + _AT_ONCE]
            )
            code, more, kept = cast("list[int]", reply)
            if code != 0:
                raise ConfigError(f"site {site!r} is not published; publish it: crawl-tasks sites check")
            changed, held = changed + more, held + kept
        return Rescheduled(changed, held)
