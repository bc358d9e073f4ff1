"""Published sites, which all workers know: publish, pause, drain, resume, and the crawl delay of robots.txt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import redis

from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.replies import BoardTerms, of_published
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.model import NOBODY, Operator

_AT_ONCE = 500
"""Requests that one call drops."""


class Sites:
    """The published sites of one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    def publish(
        self,
        site: str,
        version: str,
        text: str,
        terms: Mapping[str, str | int],
        boards: Iterable[BoardTerms],
        publisher: str = "",
    ) -> None:
        """Make a site known to all workers. New boards are due at once.

        A `publisher`, as host:directory of the site file, brings a removed or withdrawn site back.
        """
        flat: list[str | int] = []
        for name, value in terms.items():
            flat += (name, value)
        for board in boards:
            flat += (board.board, board.line, board.start_ms, board.min_ms, board.max_ms)
            flat += (board.full_line, board.full_first_ms)
        self._scripts.call(Verb.PUBLISH, site, version, text, publisher, len(terms), *flat)

    @explained("published")
    def published(self, site: str) -> str | None:
        """Return the site file of a published site as JSON, or None."""
        text: object = self._client.hget(self._keys.sites, site)
        return text.decode() if isinstance(text, bytes) else None

    @explained("old_addresses")
    def old_addresses(self, site: str) -> str:
        """Return the addresses of earlier versions as JSON, empty without a publication by this version of ours."""
        text = cast("bytes | None", self._client.hget(self._keys.site(site), "old_addresses"))
        return (text or b"").decode()

    @explained("sites")
    def names(self) -> list[str]:
        """Return the names of the published sites, in order."""
        names = cast(list[bytes], self._client.hkeys(self._keys.sites))
        return sorted(name.decode() for name in names)

    @explained("watched_since_ms")
    def watched_since_ms(self, site: str) -> int:
        """Return the time of a site's first publication in ms of Redis' clock, 0 without one."""
        since = cast("bytes | None", self._client.hget(self._keys.site(site), "since"))
        return int(since or 0)

    @explained("publisher")
    def publisher(self, site: str) -> str:
        """Return the host:directory whose file was published last, empty where an older version did."""
        text = cast("bytes | None", self._client.hget(self._keys.site(site), "publisher"))
        return (text or b"").decode()

    def pause(self, site: str, by: Operator = NOBODY) -> None:
        """Lease nothing of a site any more. Pages that are being fetched end.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.PAUSE, site, "pause", *by))

    def resume(self, site: str, by: Operator = NOBODY) -> None:
        """End the pause or the drain of a site.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.PAUSE, site, "run", *by))

    def drain(self, site: str, by: Operator = NOBODY) -> None:
        """Begin no scan of a site any more, and finish the open requests. `resume` ends the drain.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.PAUSE, site, "drain", *by))

    def apply_decision(self, site: str) -> None:
        """Let a restored site run, pause or drain by the last decision of an operator.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.PAUSE, site, "", *NOBODY))

    def remove(self, site: str, by: Operator = NOBODY) -> None:
        """Publish a site no more. Nothing of it is leased, committed or scanned from now on.

        Raises:
            ConfigError: no such site is published, and none was removed.
        """
        of_published(site, self._scripts.call(Verb.REMOVE_SITE, site, *by))

    def withdraw(self, site: str, publisher: str, by: Operator = NOBODY) -> bool:
        """Begin no scan of a site any more that this publisher published. Return whether it did so far.

        Raises:
            ConfigError: no such site is published.
        """
        return of_published(site, self._scripts.call(Verb.WITHDRAW, site, publisher, by.who))[1] == 1

    def flush_guard(self, site: str, by: Operator = NOBODY) -> None:
        """Flush the duplicate guard of a site: every page that is listed is new again.

        Raises:
            ConfigError: no such site is published.
        """
        cursor = 0
        while True:
            code, following = self._scripts.call(Verb.FLUSH_GUARD, site, cursor, *by)
            of_published(site, [code])
            cursor = int(cast(bytes, following))
            if cursor == 0:
                return

    def flush_queue(self, site: str) -> int:
        """Drop the requests of a site that nobody has begun, and return their number.

        Raises:
            ConfigError: no such site is published.
        """
        total = 0
        while dropped := of_published(site, self._scripts.call(Verb.FLUSH_QUEUE, site, _AT_ONCE))[1]:
            total += dropped
        return total

    def run_only(self, sites: Iterable[str], for_ms: int) -> None:
        """Let all sites but these stand still for a time. 0 lets all go on."""
        self._scripts.call(Verb.RUN_ONLY, for_ms, *sites)

    def set_crawl_delay(self, site: str, crawl_delay_s: float) -> None:
        """Apply the Crawl-delay of a site's robots.txt to all workers. 0 means none.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.SET_CRAWL_DELAY, site, round(crawl_delay_s * 1000)))
