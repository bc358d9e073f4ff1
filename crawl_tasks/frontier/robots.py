"""Step 5: the robots.txt files that one process fetched for all. What is not here, each fetches for itself."""

from __future__ import annotations

from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb

MOST_CHARACTERS = 64 << 10
"""Longer files are not shared: they would fill Redis, and forums have none."""


class RobotsShelf:
    """Texts by origin, on one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, scripts: Scripts, keys: Keys) -> None:
        self._scripts = scripts
        self._keys = keys

    def read(self, origin: str) -> tuple[str, float] | None:
        """Give the text and the seconds for which it still holds, None when there is none."""
        key = self._keys.robots(origin)
        text, left_ms = self._scripts.read_all("robots.txt", [("GET", key), ("PTTL", key)])
        if not isinstance(text, bytes) or not isinstance(left_ms, int) or left_ms <= 0:
            return None
        return text.decode("utf-8", "replace"), left_ms / 1000

    def keep(self, origin: str, text: str, for_s: float) -> None:
        """Keep a text that was fetched just now."""
        if len(text) <= MOST_CHARACTERS:
            self._scripts.call(Verb.SHARE_ROBOTS, origin, text, round(for_s * 1000))
