"""The access log: every request to the forum, with times, for tests of politeness and of "fetched exactly once"."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from io import FileIO
from pathlib import Path


@dataclass(slots=True)
class LogEntry:
    """A request, in the log in the order of ends. `number` is the rank by arrival, from 1.

    `at` is the arrival by the wall clock, `start` and `end` are by CLOCK_MONOTONIC, all in seconds. The end is just
    before the response is sent as a whole, or after a response that takes its time, or when the connection was lost
    (`is_aborted`, with `status` 0 if none was sent). `in_flight` counts the requests not yet ended at arrival, this one
    included. `fault` is "" or the kind of a fault that a test injects.
    """

    number: int
    at: float
    start: float
    connection: int
    method: str
    path: str
    in_flight: int
    end: float = 0.0
    status: int = 0
    fault: str = ""
    is_aborted: bool = False

    def to_json(self) -> str:
        """Return the entry as one line without the line end."""
        return json.dumps(
            {name: getattr(self, name) for name in self.__slots__} | {"at": round(self.at, 6)}, ensure_ascii=False
        )


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

    def arrive(self, connection: int, method: str, path: str) -> LogEntry:
        """Note a request that has just been read."""
        self._arrived += 1
        return LogEntry(self._arrived, time.time(), time.monotonic(), connection, method, path, self.in_flight)

    def leave(self, entry: LogEntry, *, is_aborted: bool = False) -> None:
        """Note the end of a request, before the response is sent: a client with the response finds the entry."""
        entry.end, entry.is_aborted = time.monotonic(), is_aborted
        self._entries.append(entry)
        if self._file is not None:
            self._file.write(f"{entry.to_json()}\n".encode())

    def close(self) -> None:
        """Close the file. Further entries stay in memory."""
        if self._file is not None:
            self._file.close()
            self._file = None
