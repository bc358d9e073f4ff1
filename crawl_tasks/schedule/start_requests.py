"""Start requests: entries that other programs push to Redis become requests, under the backlog limit of each site.

Entries are claimed, read and settled. An entry stays in Redis all the while, so those of a process that died are read
again by another.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.start_queue import start_key_of
from crawl_tasks.logs import OutageLog

if TYPE_CHECKING:
    from crawl_tasks.schedule.start_entries import StartEntries
    from crawl_tasks.sites.schema import Site

log = logging.getLogger(__name__)

MOST_BATCHES = 100
"""Batches of one key in a row at most, so that other keys and the ticker have their turn."""
MOST_S = 1.0
"""Time after which no further batch of a key begins, in seconds."""
LOOK_EVERY_S = 1.0
COMPLAIN_EVERY_S = 60.0
SCAN_MS = 60_000
"""Time within which start entries for one board make one scan, in milliseconds."""


class StartRequests:
    """The consumer of the start keys: `name` for entries that name their site, and one key for each site.

    The key of a site is `name:SITE`, or `name` with the site in place of {site}.
    """

    def __init__(
        self,
        frontier: Frontier,
        name: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        batch: int = 100,
        read: Callable[[str], Site] | None = None,
    ) -> None:
        """Make a consumer. `read` returns the site of a published text, or refuses it; without it, all are taken."""
        self._frontier = frontier
        self._of_sites = {} if read is None else {"read": read}
        self.name = name
        self._clock = clock
        self._batch = batch
        self._look_at = 0.0
        self._complain_at = 0.0
        self._outage = OutageLog(log, "start entries wait", clock=clock)

    def key_of(self, site: str) -> str:
        """Return the key of the entries of one site."""
        return start_key_of(self.name, site)

    def drain_if_due(self) -> None:
        """Drain once a second at most. A failure of Redis is logged, and the entries wait."""
        if self._clock() < self._look_at:
            return
        self._look_at = self._clock() + LOOK_EVERY_S
        try:
            self.drain()
        except BackendError as error:
            self._outage.fail(error)
        else:
            self._outage.end()

    def drain(self) -> int:
        """Settle the entries of all start keys, as far as the sites have room, and return their number."""
        sites = self._frontier.sites.names()
        keys = {self.key_of(site): site for site in sites}
        if "{site}" not in self.name:
            keys[self.name] = ""
        claims = self._frontier.keys.claims
        waiting = self._frontier.start_queue.present([claims, *keys])
        if not waiting:
            return 0
        # The import costs 50 ms. Most processes never need it: they have no start entries, or are not the leader.
        from crawl_tasks.schedule.start_entries import StartEntries  # noqa: PLC0415

        # New each time, because the reader remembers sites and a site file may have changed.
        entries = StartEntries(self._frontier, self.key_of, **self._of_sites)
        # Any call returns the claims of a dead process. Where no key holds entries, the empty key stands for a call.
        named = (("", "") if key == claims else (key, keys[key]) for key in waiting)
        return sum(self._drain_key(key, site, entries) for key, site in named)

    def _drain_key(self, key: str, site: str, entries: StartEntries) -> int:
        total, ends_at = 0, self._clock() + MOST_S
        for _ in range(MOST_BATCHES):
            try:
                claims = self._frontier.start_queue.claim(key, site, self._batch)
            except ConfigError as error:
                self._complain(str(error))
                return total
            if claims:
                scan = f"start{self._frontier.clock_ms() // SCAN_MS}"
                done = self._frontier.start_queue.settle([entries.judge(claim, scan) for claim in claims])
                log.info(
                    "start entries",
                    extra={"key": key, "new": done.new, "known": done.known, "wait": done.waiting, "bad": done.refused},
                )
                total += len(claims) - done.waiting
            # A site's own function may take its time, and the ticker has more to do.
            if len(claims) < self._batch or self._clock() > ends_at:
                break
        return total

    def _complain(self, error: str) -> None:
        if self._clock() >= self._complain_at:
            self._complain_at = self._clock() + COMPLAIN_EVERY_S
            log.error("start entries cannot be taken", extra={"error": error})
