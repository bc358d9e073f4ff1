"""Readings of all sites that processes share: those behind the charts of an hour, and the marks behind the rates."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.scripts import Verb

if TYPE_CHECKING:
    from crawl_tasks.frontier.frontier import Frontier

MOST_READINGS: Final = 60
_LEAST_MS: Final = 60_000
_JITTER_MS: Final = 5_000
"""A timer may be early by this much, in ms, and still be a minute after the last time."""


class HistoryStore:
    """The readings of the last hour, on the first cell that answers. A cell that fails costs a reading, no error."""

    def __init__(self, *cells: Frontier) -> None:
        self._cells = cells

    def keep(self, reading: bytes) -> None:
        """Keep a packed reading of all sites, unless another exporter has kept one within the last minute."""
        for cell in self._cells:
            with suppress(BackendError):
                cell.scripts.call(Verb.NOTE_READING, reading, _LEAST_MS - _JITTER_MS, MOST_READINGS, "charts")
                return

    def kept(self) -> list[bytes]:
        """Return the packed readings of the last hour, oldest first."""
        for cell in self._cells:
            with suppress(BackendError):
                [rows] = cell.scripts.read_all("charts", [("LRANGE", cell.keys.charts, 0, -1)])
                since = cell.clock_ms() - MOST_READINGS * _LEAST_MS
                split = (row.split(b" ", 1) for row in cast("list[bytes]", rows))
                return [text for at, text in split if int(at) >= since]
        return []


class MarksStore:
    """The counters of some moments of the last minutes, of one cell. Every call may raise BackendError."""

    def __init__(self, frontier: Frontier) -> None:
        self._scripts, self._key = frontier.scripts, frontier.keys.marks

    def keep(self, marks: bytes, step_ms: int, most: int) -> None:
        """Keep packed marks, unless another process has kept some within a step."""
        self._scripts.call(Verb.NOTE_READING, marks, step_ms, most, "marks")

    def oldest(self) -> bytes:
        """Return the oldest packed marks, empty without any."""
        [row] = self._scripts.read_all("marks", [("LINDEX", self._key, 0)])
        return row.partition(b" ")[2] if isinstance(row, bytes) else b""
