"""Step 5, fetch: robots.txt, as RFC 9309 has it. Asked again at every fetch, and for every hop of a redirect."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from protego import Protego

from crawl_tasks.errors import BadRedirect, DeadlineExceeded, FetchError, NoTurn, RobotsRefused, RobotsUnavailable
from crawl_tasks.fetch.policy import FetchPolicy
from crawl_tasks.fetch.turn import Clock
from crawl_tasks.urls import origin_of

PARSED_BYTES = 500 << 10
_FRESH_S = 86_400.0
_FAILED_S = 60.0
_STALE_S = 30 * 86_400.0
_MAX_ORIGINS = 4_096

# Gives status and decoded body of a robots.txt, redirects followed.
Ask = Callable[[str, FetchPolicy, Clock], tuple[int, bytes]]


class Shelf(Protocol):
    """Where processes share what they fetched, by origin."""

    def read(self, origin: str) -> tuple[str, float] | None:
        """Give the text and the seconds for which it still holds, None when there is none."""
        ...

    def keep(self, origin: str, text: str, for_s: float) -> None:
        """Keep a text that was fetched just now."""
        ...


@dataclass(slots=True)
class _Entry:
    """What is known of one origin. `rules` may outlive its day while the file cannot be had (RFC 9309, 2.4).

    `tried_at` is when it was first asked for since it was last had.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    until: float = 0.0
    rules: Protego | None = None
    tried_at: float | None = None
    failed: str = ""


class Robots:
    """The robots.txt files of a process. Thread-safe; one fetch at a time per origin."""

    def __init__(self, ask: Ask, clock: Callable[[], float] = time.monotonic, shelf: Shelf | None = None) -> None:
        self._ask = ask
        self._shelf = shelf
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def check(self, url: str, policy: FetchPolicy, clock: Clock) -> None:
        """Return where the file allows the address.

        Raises:
            RobotsRefused: it does not.
            RobotsUnavailable: the file cannot be had, so nothing is allowed for now.
            DeadlineExceeded: another thread did not get it in our time.
        """
        if not policy.robots:
            return
        rules = self._rules(origin_of(url), policy, clock)
        if not rules.can_fetch(url, policy.product):
            raise RobotsRefused(f"{origin_of(url)}/robots.txt does not allow {policy.product} to fetch {url}")

    def crawl_delay_s(self, url: str, policy: FetchPolicy) -> float | None:
        """Give the Crawl-delay that is known for us, without asking the site."""
        entry = self._entries.get(origin_of(url))
        rules = entry.rules if entry is not None and policy.robots else None
        delay = rules.crawl_delay(policy.product) if rules is not None else None
        return None if delay is None else float(delay)

    def _rules(self, origin: str, policy: FetchPolicy, clock: Clock) -> Protego:
        entry = self._entry(origin)
        if self._clock() >= entry.until:
            if not entry.lock.acquire(timeout=max(0.0, clock.deadline - time.monotonic())):
                raise DeadlineExceeded(f"{origin}/robots.txt is still being fetched by another thread")
            try:
                if self._clock() >= entry.until:
                    self._refresh(entry, origin, policy, clock)
            finally:
                entry.lock.release()
        if entry.rules is not None:
            return entry.rules
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

    def _refresh(self, entry: _Entry, origin: str, policy: FetchPolicy, clock: Clock) -> None:
        """Take the file that another process fetched, or fetch it; keep what is known when that fails."""
        shared = self._shelf.read(origin) if self._shelf else None
        if shared is not None:
            self._learn(entry, *shared)
            return
        try:
            text = self._read(origin, policy, clock)
        except NoTurn:
            raise  # that says nothing of the file
        except FetchError as error:
            now = self._clock()
            if entry.tried_at is None:
                entry.tried_at = now
            if now - entry.tried_at > _STALE_S:
                entry.rules = Protego.parse("")  # away for a month is gone (2.3.1.4)
            entry.failed = str(error)
            entry.until = now + max(_FAILED_S, error.retry_after_s or 0.0)
            return
        self._learn(entry, text, _FRESH_S)
        if self._shelf:
            self._shelf.keep(origin, text, _FRESH_S)

    def _learn(self, entry: _Entry, text: str, for_s: float) -> None:
        entry.rules, entry.tried_at = Protego.parse(text), None
        entry.until = self._clock() + for_s

    def _read(self, origin: str, policy: FetchPolicy, clock: Clock) -> str:
        try:
            status, body = self._ask(f"{origin}/robots.txt", policy, clock)
        except BadRedirect:
            return ""  # too many redirects: as if there were none (2.3.1.2)
        if 400 <= status < 500 and status != 429:
            return ""
        if not 200 <= status < 300:
            raise RobotsUnavailable(f"it answered {status}")
        return _text(body)


def _text(body: bytes) -> str:
    """Decode what is parsed: the first 500 KiB, without the line that was cut."""
    if len(body) >= PARSED_BYTES:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\0", "")
