"""Step 1: the sites that all workers know: published, paused, drained, and slowed by their robots.txt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import redis

from crawl_tasks.frontier.answers import BoardTerms, of_published
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb, explained


class Sites:
    """The published sites of one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    def publish(
        self, site: str, version: str, text: str, terms: Mapping[str, str | int], boards: Iterable[BoardTerms]
    ) -> None:
        """Make a site known to all workers; its boards are due at once when they are new."""
        flat: list[str | int] = []
        for name, value in terms.items():
            flat += (name, value)
        for board in boards:
            flat += (board.board, board.line, board.start_ms, board.min_ms, board.max_ms)
            flat += (board.full_line, board.full_first_ms)
        self._scripts.call(Verb.PUBLISH, site, version, text, len(terms), *flat)

    @explained("published")
    def published(self, site: str) -> str | None:
        """Read a published site's text, None when there is none of that name."""
        text: object = self._client.hget(self._keys.sites, site)
        return text.decode() if isinstance(text, bytes) else None

    @explained("sites")
    def names(self) -> list[str]:
        """Name the published sites, in order."""
        names = cast(list[bytes], self._client.hkeys(self._keys.sites))
        return sorted(name.decode() for name in names)

    @explained("watched_since_ms")
    def watched_since_ms(self, site: str) -> int:
        """Say when a site was first published; 0 when it never was."""
        since = cast("bytes | None", self._client.hget(self._keys.site(site), "since"))
        return int(since or 0)

    def pause(self, site: str) -> None:
        """Lease nothing of a site any more; what is being fetched ends.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.PAUSE, site, 1))

    def resume(self, site: str) -> None:
        """Let a paused site go on.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.PAUSE, site, 0))

    def drain(self, site: str) -> None:
        """Begin no scan of a site any more, and finish what is open; `resume` ends it.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.PAUSE, site, 2))

    def heed(self, site: str, crawl_delay_s: float) -> None:
        """Let no two requests for a site begin within its robots.txt's Crawl-delay; 0 for none.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.HEED, site, round(crawl_delay_s * 1000)))
