"""robots.txt (RFC 9309): checked at every fetch, and for every hop of a redirect."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from protego import Protego

from crawl_tasks.errors import BadRedirect, FetchError, NoTurn, RobotsRefused, RobotsUnavailable
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.throttle import Clock
from crawl_tasks.urls import origin_of

# RFC 9309: a parser reads at least 500 KiB (2.5) and uses a copy for at most 24 hours (2.4).
PARSED_BYTES = 500 << 10
_FRESH_S = 86_400.0
_FAILED_S = 60.0
_STALE_S = 30 * 86_400.0
_MAX_ORIGINS = 4_096

# Gives status and decoded body of a robots.txt, redirects followed.
Ask = Callable[[str, FetchPolicy, Clock], tuple[int, bytes]]


class RobotsStore(Protocol):
    """robots.txt files that processes share, by origin."""

    def read(self, origin: str) -> tuple[str, float] | None:
        """Return the text and the seconds for which it is still fresh, None for an unknown origin."""
        ...

    def keep(self, origin: str, text: str, for_s: float) -> None:
        """Store a text that was fetched just now, for so many seconds."""
        ...


@dataclass(slots=True)
class _Entry:
    """The cached robots.txt of one origin. `rules` may outlive a day while the file is unreachable (RFC 9309, 2.4).

    `tried_at` is the first failed attempt since the last success.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    until: float = 0.0
    rules: Protego | None = None
    tried_at: float | None = None
    failed: str = ""


class Robots:
    """The robots.txt files of a process. Thread-safe. One fetch at a time per origin."""

    def __init__(
        self, ask: Ask, clock: Callable[[], float] = time.monotonic, robots_store: RobotsStore | None = None
    ) -> None:
        self._ask = ask
        self._robots_store = robots_store
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def check(self, url: str, policy: FetchPolicy, clock: Clock) -> bool:
        """Check an address against the file of its origin. Return whether the file was fetched for that.

        Raises:
            RobotsRefused: the file forbids the address.
            RobotsUnavailable: the file is unreachable, or another thread did not finish its fetch of the file in our
                time, so nothing is allowed for now.
        """
        if not policy.robots:
            return False
        rules, was_fetched = self._rules(origin_of(url), policy, clock)
        if not rules.can_fetch(url, policy.product):
            raise RobotsRefused(f"{origin_of(url)}/robots.txt does not allow {policy.product} to fetch {url}")
        return was_fetched

    def crawl_delay_s(self, url: str, policy: FetchPolicy) -> float | None:
        """Return the known Crawl-delay for us in seconds, without a request to the site."""
        entry = self._entries.get(origin_of(url))
        rules = entry.rules if entry is not None and policy.robots else None
        delay = rules.crawl_delay(policy.product) if rules is not None else None
        return None if delay is None else float(delay)

    def _rules(self, origin: str, policy: FetchPolicy, clock: Clock) -> tuple[Protego, bool]:
        entry, was_fetched = self._entry(origin), False
        if self._clock() >= entry.until:
            if not entry.lock.acquire(timeout=max(0.0, clock.deadline - time.monotonic())):
                raise RobotsUnavailable(f"{origin}/robots.txt is still being fetched by another thread")
            try:
                if self._clock() >= entry.until:
                    was_fetched = self._refresh(entry, origin, policy, clock)
            finally:
                entry.lock.release()
        if entry.rules is not None:
            return entry.rules, was_fetched
        error = RobotsUnavailable(f"{origin}/robots.txt cannot be had, so nothing is fetched for now: {entry.failed}")
        error.retry_after_s = max(1.0, entry.until - self._clock())
        raise error

    def _entry(self, origin: str) -> _Entry:
        entry = self._entries.get(origin)
        if entry is not None:
            return entry
        with self._lock:
            if len(self._entries) >= _MAX_ORIGINS:
                del self._entries[next(iter(self._entries))]
            return self._entries.setdefault(origin, _Entry())

    def _refresh(self, entry: _Entry, origin: str, policy: FetchPolicy, clock: Clock) -> bool:
        """Take the file that another process fetched, or fetch the file. Keep the known rules if that fails.

        Return whether the file was fetched.
        """
        shared = self._robots_store.read(origin) if self._robots_store else None
        if shared is not None:
            self._learn(entry, *shared)
            return False
        try:
            text = self._read(origin, policy, clock)
        except NoTurn:
            # The throttle stopped the request: no word about the file.
            raise
        except FetchError as error:
            now = self._clock()
            if entry.tried_at is None:
                entry.tried_at = now
            # A file away for a month counts as not there (RFC 9309, 2.3.1.4).
            if now - entry.tried_at > _STALE_S:
                entry.rules = Protego.parse("")
            entry.failed = str(error)
            entry.until = now + max(_FAILED_S, error.retry_after_s or 0.0)
            return False
        self._learn(entry, text, _FRESH_S)
        if self._robots_store:
            self._robots_store.keep(origin, text, _FRESH_S)
        return True

    def _learn(self, entry: _Entry, text: str, for_s: float) -> None:
        entry.rules, entry.tried_at = Protego.parse(text), None
        entry.until = self._clock() + for_s

    def _read(self, origin: str, policy: FetchPolicy, clock: Clock) -> str:
        try:
            status, body = self._ask(f"{origin}/robots.txt", policy, clock)
        except BadRedirect:
            # RFC 9309, 2.3.1.2: too many redirects count as a file that is not there.
            return ""
        # RFC 9309, 2.3.1.3: without a file all is allowed. But 429 is about pace: an unreachable file.
        if 400 <= status < 500 and status != 429:
            return ""
        if not 200 <= status < 300:
            raise RobotsUnavailable(f"it answered {status}")
        return _text(body)


def _text(body: bytes) -> str:
    """Return the first 500 KiB as text, without the line that was cut."""
    if len(body) >= PARSED_BYTES:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\0", "")
