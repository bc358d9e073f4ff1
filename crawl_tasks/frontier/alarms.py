"""Beside the flow: which alerts were sent, kept in Redis so that a restart or a second sender repeats none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from crawl_tasks.frontier.scripts import Scripts, Verb


class Change(StrEnum):
    """What is to be said of an alert."""

    BEGINS = "begins"
    LASTS = "lasts"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Notice:
    """One alert to be sent, by its key, and since when (Redis' clock) it fires."""

    change: Change
    key: str
    since_ms: int


class Alarms:
    """The alerts on one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def claim(self, firing: Iterable[str], young: Iterable[str], judged: Iterable[str], repeat_ms: int) -> list[Notice]:
        """Take what must be sent; nobody else is given it.

        Args:
            firing: keys of the alerts that fire.
            young: keys of those that may not begin yet; they only do not end.
            judged: names of the alerts that were looked for; others go on as they are.
            repeat_ms: after how long an alert that lasts is sent again.
        """
        marked = [*(f"+{key}" for key in firing), *(f"?{key}" for key in young)]
        reply = self._scripts.call(Verb.ALARM, "claim", repeat_ms, ",".join(judged), *marked)
        flat = cast("list[bytes]", reply[1])
        return [
            Notice(Change(change.decode()), key.decode(), int(since))
            for change, key, since in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        ]

    def undo(self, notice: Notice) -> None:
        """Give back what could not be sent."""
        self._scripts.call(Verb.ALARM, "undo", notice.change.value, notice.key, notice.since_ms)
