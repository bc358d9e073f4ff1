"""Every request the forum was asked, with its times: how tests judge politeness and "fetched exactly once"."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple


class Entry(NamedTuple):
    """A request that has ended, in the order of ends; `number` is its rank by arrival, from 1.

    `at` is its arrival by the wall clock, `start` and `end` are by CLOCK_MONOTONIC, all in seconds. The end is when the
    response was handed to the kernel, or the connection was lost (`is_aborted`; `status` is 0 if none was sent).
    `in_flight` counts the requests not yet ended at arrival, this one included. `fault` is "" or a fault's kind.
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
        """Return the entry as one line without its end of line."""
        return json.dumps({**self._asdict(), "at": round(self.at, 6)}, ensure_ascii=False)


@dataclass(slots=True)
class Visit:
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


class Journal:
    """Keeps entries in memory and, if given a file, appends each as a JSON line (see `flush`)."""

    def __init__(self, file: Path | None = None) -> None:
        self._entries: list[Entry] = []
        self._written = 0
        self._arrived = 0
        self._file: IO[str] | None = file.open("a", encoding="utf-8") if file else None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All requests that have ended so far."""
        return tuple(self._entries)

    @property
    def in_flight(self) -> int:
        """Number of requests that have arrived and not ended."""
        return self._arrived - len(self._entries)

    def arrive(self, connection: int, method: str, path: str) -> Visit:
        """Note a request that has just been read."""
        self._arrived += 1
        return Visit(self._arrived, time.time(), time.monotonic(), connection, method, path, self.in_flight)

    def leave(self, visit: Visit, *, is_aborted: bool = False) -> None:
        """Note that a request has ended."""
        self._entries.append(
            Entry(
                visit.number, visit.at, visit.start, time.monotonic(), visit.connection, visit.method, visit.path,
                visit.status, visit.in_flight, visit.fault, is_aborted,
            )
        )  # fmt: skip

    def flush(self) -> None:
        """Write to the file what is not yet there. The server calls it some 20 times a second, and at its end."""
        if self._file is None or self._written == len(self._entries):
            return
        fresh = self._entries[self._written :]
        self._file.write("".join([f"{entry.to_json()}\n" for entry in fresh]))
        self._file.flush()
        self._written += len(fresh)

    def close(self) -> None:
        """Flush and close the file; further entries stay in memory."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None
