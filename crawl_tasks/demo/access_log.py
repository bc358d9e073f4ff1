"""The access log: every request to the forum, with times, for tests of politeness and of "fetched exactly once"."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import NamedTuple


class LogEntry(NamedTuple):
    """A request that has ended, in the order of ends. `number` is the rank by arrival, from 1.

    `at` is the arrival by the wall clock, `start` and `end` are by CLOCK_MONOTONIC, all in seconds. The end is just
    before the response is sent as a whole, or after the response of a played fault, or when the connection was lost
    (`is_aborted`, with `status` 0 if none was sent). `in_flight` counts the requests not yet ended at arrival, this one
    included. `fault` is "" or a fault's kind.
    """

    number: int
    at: float
    start: float
    end: float
    connection: int
    method: str
    path: str
    status: int
    in_flight: int
    fault: str
    is_aborted: bool

    def to_json(self) -> str:
        """Return the entry as one line without the line end."""
        return json.dumps({**self._asdict(), "at": round(self.at, 6)}, ensure_ascii=False)


@dataclass(slots=True)
class LoggedRequest:
    """A request under way."""

    number: int
    at: float
    start: float
    connection: int
    method: str
    path: str
    in_flight: int
    status: int = 0
    fault: str = ""


class AccessLog:
    """Keeps entries in memory and, if given a file, appends each as a JSON line at once."""

    def __init__(self, file: Path | None = None) -> None:
        self._entries: list[LogEntry] = []
        self._arrived = 0
        # Without a buffer, so that no line is lost when the process is killed.
        self._file: FileIO | None = FileIO(file, "a") if file else None

    @property
    def entries(self) -> tuple[LogEntry, ...]:
        """All requests that have ended so far."""
        return tuple(self._entries)

    @property
    def in_flight(self) -> int:
        """Number of requests that have arrived and not ended."""
        return self._arrived - len(self._entries)

    def arrive(self, connection: int, method: str, path: str) -> LoggedRequest:
        """Note a request that has just been read."""
        self._arrived += 1
        return LoggedRequest(self._arrived, time.time(), time.monotonic(), connection, method, path, self.in_flight)

    def leave(self, visit: LoggedRequest, *, is_aborted: bool = False) -> None:
        """Note the end of a request, before the response is sent: a client with the response finds the entry."""
        entry = LogEntry(
            visit.number, visit.at, visit.start, time.monotonic(), visit.connection, visit.method, visit.path,
            visit.status, visit.in_flight, visit.fault, is_aborted,
        )  # fmt: skip
        self._entries.append(entry)
        if self._file is not None:
            self._file.write(f"{entry.to_json()}\n".encode())

    def close(self) -> None:
        """Close the file. Further entries stay in memory."""
        if self._file is not None:
            self._file.close()
            self._file = None
