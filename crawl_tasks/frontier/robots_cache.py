"""The robots.txt cache: files that one process fetched for all. Each process fetches a missing one alone."""

from __future__ import annotations

from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb

MOST_CHARACTERS = 64 << 10
"""The size of the longest shared file. Longer ones would fill Redis, and no forum has one."""


class RobotsCache:
    """The texts of robots.txt by origin, on one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, scripts: Scripts, keys: Keys) -> None:
        self._scripts = scripts
        self._keys = keys

    def read(self, origin: str) -> tuple[str, float] | None:
        """Return the text and the seconds until expiry, or None."""
        key = self._keys.robots(origin)
        text, left_ms = self._scripts.read_all("robots.txt", [("GET", key), ("PTTL", key)])
        # A key that expires between the two commands has a text and no time.
        if not isinstance(text, bytes) or not isinstance(left_ms, int) or left_ms <= 0:
            return None
        return text.decode("utf-8", "replace"), left_ms / 1000

    def keep(self, origin: str, text: str, for_s: float) -> None:
        """Keep a text that was fetched just now, for some seconds."""
        if len(text) <= MOST_CHARACTERS:
            self._scripts.call(Verb.SHARE_ROBOTS, origin, text, round(for_s * 1000))
