"""Doubts about the pages of a session: pages that do not say who asked for them, and servers that answer in turn."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Final

from crawl_tasks.model import Request
from crawl_tasks.model.own_counters import count

MOST_UNCHECKED: Final = 100
"""Pages between two looks at the check page, where pages say nothing of who asked for them."""
FLAPS_FOR_S: Final = 3600.0
"""Seconds for which a session that showed guests' pages to a member is not believed that a page is gone."""


@dataclass(slots=True)
class _Pending:
    """The requests of a session whose pages say nothing, since the last check page that was a member's."""

    token: str = ""
    next_after: int = 1
    requests: list[Request] = field(default_factory=list)
    doubtful: list[Request] = field(default_factory=list)


class SessionChecks:
    """The doubts of a process. Thread-safe."""

    def __init__(self) -> None:
        self._unchecked: dict[str, _Pending] = {}
        self._flapped_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_check_due(self, request: Request, token: str) -> bool:
        """Note a page that says nothing of who asked for it, and return whether the check page is due.

        It is after 1, 2, 4, 8 such pages of a session and so on, at last after each 100.
        """
        with self._lock:
            unchecked = self._unchecked.setdefault(request.site, _Pending())
            if unchecked.token != token:
                unchecked.token, unchecked.next_after = token, 1
            unchecked.requests.append(request)
            return len(unchecked.requests) >= unchecked.next_after

    def note_member(self, site: str) -> None:
        """Note that the check page is a member's: so are the pages before it."""
        with self._lock:
            unchecked = self._unchecked[site]
            unchecked.requests.clear()
            unchecked.next_after = min(unchecked.next_after * 2, MOST_UNCHECKED)

    def note_end(self, site: str, token: str) -> None:
        """Note that a session has ended, nobody knows when: the pages since the last check are doubtful."""
        with self._lock:
            unchecked = self._unchecked.get(site)
            if unchecked is not None and unchecked.token == token:
                unchecked.doubtful += unchecked.requests
                unchecked.requests = []

    def take_doubtful(self, site: str) -> tuple[Request, ...]:
        """Return the requests whose pages are doubtful, once."""
        with self._lock:
            unchecked = self._unchecked.get(site)
            if unchecked is None or not unchecked.doubtful:
                return ()
            taken, unchecked.doubtful = tuple(unchecked.doubtful), []
            return taken

    def note_flap(self, site: str) -> None:
        """Note that one request got a guest's page, and the next one a member's, in one session."""
        self._flapped_at[site] = time.monotonic()
        count(site, "flapping_sessions")

    def is_flapping(self, site: str) -> bool:
        """Return whether that happened lately."""
        return time.monotonic() - self._flapped_at.get(site, -FLAPS_FOR_S) < FLAPS_FOR_S
