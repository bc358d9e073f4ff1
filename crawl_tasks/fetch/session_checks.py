"""Doubts about a session: servers that answer in turn, and pages that stay a guest's."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final

from crawl_tasks.model import Request
from crawl_tasks.model.own_counters import count

FLAPS_FOR_S: Final = 3600.0
"""Seconds for which a session that showed guests' pages to a member is not believed that a page is gone."""
MOST_LOOKED_AT: Final = 1_000
"""Pages that stayed a guest's which a process remembers until their next attempt."""


class SessionChecks:
    """The doubts of a process. Thread-safe."""

    def __init__(self) -> None:
        self._flapped_at: dict[str, float] = {}
        self._doubted: set[str] = set()
        self._looked_at: OrderedDict[Request, None] = OrderedDict()
        self._lock = threading.Lock()

    def note_flap(self, site: str) -> None:
        """Note that one request got a guest's page, and the next one a member's, in one session."""
        self._flapped_at[site] = time.monotonic()
        count(site, "flapping_sessions")

    def is_flapping(self, site: str) -> bool:
        """Return whether that happened lately."""
        return time.monotonic() - self._flapped_at.get(site, -FLAPS_FOR_S) < FLAPS_FOR_S

    def note_doubt(self, site: str) -> None:
        """Note that a page may be a guest's by what it holds, so that the next page has the check page asked for."""
        with self._lock:
            self._doubted.add(site)

    def take_doubt(self, site: str) -> bool:
        """Return whether that was noted, once."""
        with self._lock:
            is_doubted = site in self._doubted
            self._doubted.discard(site)
            return is_doubted

    def note_looks(self, request: Request) -> None:
        """Note that a page stayed a guest's when it was asked for again."""
        with self._lock:
            self._looked_at[request] = None
            if len(self._looked_at) > MOST_LOOKED_AT:
                self._looked_at.popitem(last=False)

    def take_looks(self, request: Request) -> bool:
        """Return whether that was noted of an earlier attempt, once."""
        with self._lock:
            return self._looked_at.pop(request, self) is None
