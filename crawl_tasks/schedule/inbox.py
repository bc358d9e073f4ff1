"""Step 1, from outside: start entries that other programs push to Redis become requests, under each site's threshold.

Claim, read, settle: an entry stands in Redis all the while; what a dying process had in hand is read again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.outage import Outage

if TYPE_CHECKING:
    from crawl_tasks.schedule.entries import Entries

log = logging.getLogger(__name__)

BATCH = 500
MOST_BATCHES = 20
"""Batches of one key in a row, so that other keys, and the clockwork, have their turn."""
LOOK_EVERY_S = 1.0
COMPLAIN_EVERY_S = 60.0
SCAN_MS = 60_000
"""Entries may ask for a scan of the same board once in so long."""


class Inbox:
    """Drains the start keys: `name` for entries that name their site, `name:SITE`, or what {site} makes of `name`."""

    def __init__(self, frontier: Frontier, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._frontier = frontier
        self._name = name
        self._clock = clock
        self._look_at = 0.0
        self._complain_at = 0.0
        self._outage = Outage(log, "start entries wait", clock=clock)

    def key_of(self, site: str) -> str:
        """Name the key of one site's entries."""
        return self._name.replace("{site}", site) if "{site}" in self._name else f"{self._name}:{site}"

    def drain_if_due(self) -> None:
        """Drain when the last look is a second old; trouble is logged, and the entries wait."""
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
        """Take what stands in the start keys, as far as the sites have room; give how many entries were settled."""
        sites = self._frontier.sites.names()
        keys = {self.key_of(site): site for site in sites}
        if "{site}" not in self._name:
            keys[self._name] = ""
        claims = self._frontier.keys.claims
        waiting = self._frontier.starts.present([claims, *keys])
        if not waiting:
            return 0
        # Site files cost a process's start 50 ms, and most have no start entries, or another process has the floor.
        from crawl_tasks.schedule.entries import Entries  # noqa: PLC0415

        entries = Entries(self._frontier, self.key_of)  # new each time: a site file may have changed
        # Claims of a dead process come with any call; where no key holds anything, the empty name does.
        named = (("", "") if key == claims else (key, keys[key]) for key in waiting)
        return sum(self._drain_key(key, site, entries) for key, site in named)

    def _drain_key(self, key: str, site: str, entries: Entries) -> int:
        total = 0
        for _ in range(MOST_BATCHES):
            try:
                claims = self._frontier.starts.claim(key, site, BATCH)
            except ConfigError as error:
                self._complain(str(error))
                return total
            if claims:
                scan = f"start{self._frontier.clock_ms() // SCAN_MS}"
                done = self._frontier.starts.settle([entries.judge(claim, scan) for claim in claims])
                log.info(
                    "start entries",
                    extra={"key": key, "new": done.new, "known": done.known, "wait": done.waiting, "bad": done.refused},
                )
                total += len(claims) - done.waiting
            if len(claims) < BATCH:
                break
        return total

    def _complain(self, what: str) -> None:
        if self._clock() >= self._complain_at:
            self._complain_at = self._clock() + COMPLAIN_EVERY_S
            log.error("start entries cannot be taken", extra={"error": what})
