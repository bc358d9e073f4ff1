"""The inspector: reads of the ledger for monitoring and tests, such as counts, boards and health. None changes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.reads import (
    BoardState,
    Health,
    queue_sizes,
    read_boards,
    read_changes,
    read_health,
    read_in_hand,
)
from crawl_tasks.frontier.inspect.recent import RecentPage, read_recent
from crawl_tasks.frontier.inspect.request_counts import LATE_MS, RequestCounts, read_counts
from crawl_tasks.frontier.replies import unpublished
from crawl_tasks.frontier.scripts import Verb, explained
from crawl_tasks.model import Request

# Sites counted by one script. Redis serves nobody else meanwhile: about a millisecond.
_COUNTED_AT_ONCE = 20


class Inspector:
    """The inspector of one ledger. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, frontier: Frontier) -> None:
        self._client = frontier.client
        self._scripts = frontier.scripts
        self._outbox_max = frontier.outbox_max
        self._keys = frontier.keys

    def count_requests(self, site: str) -> RequestCounts:
        """Return a site's requests counted by state, at one instant.

        Raises:
            ConfigError: no such site is published.
        """
        return self.count_all([site])[0]

    def count_all(self, sites: Sequence[str]) -> list[RequestCounts]:
        """Return the counts of many sites' requests, each site at one instant.

        Raises:
            ConfigError: one of them is not published.
        """
        counted: list[object] = []
        for start in range(0, len(sites), _COUNTED_AT_ONCE):
            counted += self._scripts.call(Verb.COUNT_REQUESTS, LATE_MS, *sites[start : start + _COUNTED_AT_ONCE])[1:]
        for site, reply in zip(sites, counted, strict=True):
            if not reply:
                raise unpublished(site)
        return list(map(read_counts, sites, counted))

    @explained("health")
    def health(self, queues: Iterable[str]) -> Health:
        """Return the state that all sites share."""
        health = read_health(self._client, self._keys, queues, LATE_MS)
        return replace(health, outbox_max=self._outbox_max)

    @explained("changes")
    def changes(self) -> tuple[str, Mapping[bytes, bytes]]:
        """Return the id of the Redis server's run, and the number of changes of each site there."""
        return read_changes(self._client, self._keys)

    def boards(self, site: str) -> list[BoardState]:
        """Return a site's boards with their schedule, by name."""
        return read_boards(self._scripts, site)

    @explained("in_hand")
    def in_hand(self, site: str, most: int = 20) -> list[Request]:
        """Return the requests of a site that workers hold now."""
        return read_in_hand(self._client, self._keys, site, most)

    @explained("recent")
    def recent(self, site: str) -> list[RecentPage]:
        """Return the last attempts of a site, well or failed, the newest first."""
        return read_recent(self._client, self._keys, site)

    @explained("queue_sizes")
    def queue_sizes(self, queues: Iterable[str]) -> dict[str, int]:
        """Return the number of the broker's messages on each queue."""
        return queue_sizes(self._client, queues)
