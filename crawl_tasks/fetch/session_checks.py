"""Doubts about the pages of a session: pages that do not say who asked for them, and servers that answer in turn."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from crawl_tasks.model import Request
from crawl_tasks.model.own_counters import count

MOST_UNCHECKED: Final = 100
"""Pages between two looks at the check page, where pages say nothing of who asked for them."""
FLAPS_FOR_S: Final = 3600.0
"""Seconds for which a session that showed guests' pages to a member is not believed that a page is gone."""
MOST_LOOKED_AT: Final = 1_000
"""Pages that stayed a guest's which a process remembers until their next attempt."""


@dataclass(slots=True)
class _Unchecked:
    """The requests whose pages of one session say nothing, since the last check page of it that was a member's."""

    token: str
    next_after: int = 1
    requests: dict[Request, None] = field(default_factory=dict)


class SessionChecks:
    """The doubts of a process. Thread-safe. A page is proven by a later check of the session that fetched it."""

    def __init__(self) -> None:
        self._unchecked: dict[str, _Unchecked] = {}
        self._doubtful: dict[str, dict[Request, None]] = {}
        self._flapped_at: dict[str, float] = {}
        self._looked_at: OrderedDict[Request, None] = OrderedDict()
        self._lock = threading.Lock()

    def is_check_due(self, request: Request, session: str) -> bool:
        """Note a page that says nothing of who asked for it, and return whether the check page is due.

        It is after 1, 2, 4, 8 such pages of a session and so on, at last after each 100. Pages of another session are
        doubtful now: nobody checks that one any more.
        """
        with self._lock:
            unchecked = self._unchecked.get(request.site)
            if unchecked is None or unchecked.token != session:
                self._doubt(request.site, unchecked)
                unchecked = self._unchecked[request.site] = _Unchecked(session)
            unchecked.requests[request] = None
            return len(unchecked.requests) >= unchecked.next_after

    def unchecked(self, site: str, session: str) -> tuple[Request, ...]:
        """Return the requests that a check proves which this session asks for now."""
        with self._lock:
            unchecked = self._unchecked.get(site)
            return tuple(unchecked.requests) if unchecked is not None and unchecked.token == session else ()

    def note_member(self, site: str, session: str, proven: Collection[Request]) -> None:
        """Note that the check page of a session was a member's: so are the pages before it."""
        with self._lock:
            unchecked = self._unchecked.get(site)
            if unchecked is not None and unchecked.token == session and proven:
                for request in proven:
                    unchecked.requests.pop(request, None)
                unchecked.next_after = min(unchecked.next_after * 2, MOST_UNCHECKED)

    def note_end(self, request: Request, session: str) -> None:
        """Note that a session has ended, nobody knows when: the pages since the last check are doubtful.

        The page at hand is not among them, as it is asked for again at once.
        """
        with self._lock:
            unchecked = self._unchecked.get(request.site)
            if unchecked is not None and unchecked.token == session:
                unchecked.requests.pop(request, None)
                self._doubt(request.site, unchecked)

    def take_doubtful(self, site: str) -> tuple[Request, ...]:
        """Return the requests whose pages are doubtful, once."""
        with self._lock:
            return tuple(self._doubtful.pop(site, ()))

    def give_back(self, site: str, requests: Collection[Request]) -> None:
        """Take requests back that could not be entered again."""
        with self._lock:
            self._doubtful.setdefault(site, {}).update(dict.fromkeys(requests))

    def note_flap(self, site: str) -> None:
        """Note that one request got a guest's page, and the next one a member's, in one session."""
        self._flapped_at[site] = time.monotonic()
        count(site, "flapping_sessions")

    def is_flapping(self, site: str) -> bool:
        """Return whether that happened lately."""
        return time.monotonic() - self._flapped_at.get(site, -FLAPS_FOR_S) < FLAPS_FOR_S

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

    def _doubt(self, site: str, unchecked: _Unchecked | None) -> None:
        if unchecked is not None and unchecked.requests:
            self._doubtful.setdefault(site, {}).update(unchecked.requests)
            unchecked.requests = {}
