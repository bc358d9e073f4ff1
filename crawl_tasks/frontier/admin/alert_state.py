"""The alert state: alerts that were sent, kept in Redis so that a restart or a second sender repeats none."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.frontier.scripts import Scripts, Verb


class Change(StrEnum):
    """A change of an alert that is to be sent."""

    BEGINS = "begins"
    LASTS = "lasts"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Notice:
    """One alert to be sent, by key, and the time since which the alert fires (Redis' clock)."""

    change: Change
    key: str
    since_ms: int


class AlertState:
    """The sent alerts, on the first cell that answers. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, *cells: Scripts) -> None:
        self._cells = cells

    def _call(self, *args: str | int) -> list[object]:
        for scripts in self._cells[:-1]:
            with suppress(RedisUnreachable):
                return scripts.call(Verb.NOTE_ALERTS, *args)
        return self._cells[-1].call(Verb.NOTE_ALERTS, *args)

    def claim(
        self, firing: Iterable[str], young: Iterable[str], judged: Iterable[str], repeat_ms: int, every_ms: int = 0
    ) -> list[Notice]:
        """Take the notices that must be sent, and return them. No other sender gets the same ones.

        Args:
            firing: keys of the alerts that fire.
            young: keys of alerts that fire for too short a time to begin. A begun one does not end.
            judged: names of the alerts that were looked for. Others stay as they are.
            repeat_ms: the time after which a lasting alert is sent again.
            every_ms: the time until the sender's next look, by which others know that it lives.
        """
        marked = [
            *(f"+{key}" for key in firing),
            *(f"?{key}" for key in young),
            *([f"@{every_ms}"] if every_ms else ()),
        ]
        reply = self._call("claim", repeat_ms, ",".join(judged), *marked)
        flat = cast("list[bytes]", reply[1])
        return [
            Notice(Change(change.decode()), key.decode(), int(since))
            for change, key, since in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        ]

    def leave(self) -> None:
        """Note that the sender ends in order."""
        for scripts in self._cells:
            with suppress(RedisUnreachable):
                scripts.call(Verb.NOTE_ALERTS, "leave", 0, "")

    def undo(self, notice: Notice) -> None:
        """Put a notice back that could not be sent."""
        self._call("undo", notice.change.value, notice.key, notice.since_ms)
