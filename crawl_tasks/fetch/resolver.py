"""The DNS resolver: names to addresses, bounded in time and cached for a minute.

The system's resolver cannot be interrupted, so a lookup runs in a thread of its own. The caller waits only as long as
the attempt has time. Threads that ask for the same name share one lookup.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet

from crawl_tasks.errors import DeadlineExceeded, Unreachable

Lookup = Callable[[str], tuple[str, ...]]

_TTL_S = 60.0
_MAX_NAMES = 4_096


def system_lookup(host: str) -> tuple[str, ...]:
    """Return all addresses of a name from the system's resolver, in the order to try them."""
    places = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return tuple(dict.fromkeys(str(place[4][0]) for place in places))


class Resolver:
    """Finds and caches addresses. Thread-safe."""

    def __init__(self, lookup: Lookup = system_lookup, clock: Callable[[], float] = time.monotonic) -> None:
        self._lookup = lookup
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Future[tuple[str, ...]]]] = {}

    def addresses(self, host: str, timeout_s: float) -> tuple[str, ...]:
        """Return all addresses of a name.

        Raises:
            Unreachable: the name has none, or the resolver fails.
            DeadlineExceeded: the resolver does not answer in time.
        """
        answer = self._answer(host)
        try:
            return answer.result(timeout_s)
        except NotYet:
            raise DeadlineExceeded(f"the name {host} was not resolved within {timeout_s:.1f} s") from None
        # No failure is cached: a name server that recovers must not seem down for another minute.
        except (OSError, UnicodeError) as error:
            self._forget(host, answer)
            raise Unreachable(f"the name {host} cannot be resolved: {error}") from error

    def _answer(self, host: str) -> Future[tuple[str, ...]]:
        now = self._clock()
        with self._lock:
            known = self._known.get(host)
            if known is not None and now < known[0]:
                return known[1]
            self._make_room(now)
            answer: Future[tuple[str, ...]] = Future()
            self._known[host] = (now + _TTL_S, answer)
        threading.Thread(target=self._look_up, args=(host, answer), name=f"resolve {host}", daemon=True).start()
        return answer

    def _look_up(self, host: str, answer: Future[tuple[str, ...]]) -> None:
        try:
            addresses = self._lookup(host)
        except Exception as error:  # noqa: BLE001 (it is raised again in the thread that waits)
            answer.set_exception(error)
        else:
            answer.set_result(addresses)

    def _forget(self, host: str, answer: Future[tuple[str, ...]]) -> None:
        """Drop a failed lookup, but not the newer result of another thread."""
        with self._lock:
            known = self._known.get(host)
            if known is not None and known[1] is answer:
                del self._known[host]

    def _make_room(self, now: float) -> None:
        if len(self._known) < _MAX_NAMES:
            return
        for host in [host for host, (until, _) in self._known.items() if until <= now] or [next(iter(self._known))]:
            del self._known[host]
