"""Step 6: the life of a batch of items: draw from the outbox, store in one transaction, acknowledge."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Protocol

from crawl_tasks.errors import BackendError, ConfigError, Unstorable
from crawl_tasks.frontier.frontier import SITES_OWN, Frontier
from crawl_tasks.frontier.histogram import AGES_S, observed, packed
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.model import Gain, Items, Request
from crawl_tasks.outage import Outage

log = logging.getLogger(__name__)

TROUBLE_WAIT_S = 5.0

LOOK_EVERY_S = 30.0
"""How often to look whether a site was published anew."""

MOST_BATCHES = 50
"""Batches one task stores before it ends, so that a shutdown never waits long."""


class Brought(Protocol):
    """What a batch brought."""

    @property
    def gains(self) -> Iterable[Gain]:
        """Say what was new, by site and kind."""

    @property
    def asked(self) -> Sequence[Request]:
        """Return the pages to ask for because of what full passes did not see."""


class Writes(Protocol):
    """Where items end: a `store.upsert.Store`, or anything that writes a batch whole and twice to no effect."""

    def write(self, batch: Sequence[Items], /) -> Brought:
        """Write the items of some pages in one transaction."""

    def keep(self, site: str, text: str, epoch: str, /) -> bool:
        """Keep a site as it is published and the name of its ledger; say whether none was known yet."""


class Drain:
    """The work of a store worker. One batch at a time in a process; more processes share the outbox."""

    def __init__(
        self,
        frontier: Frontier,
        open_store: Callable[[], Writes],
        *,
        batch: int,
        worth: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._frontier = frontier
        self._open_store = open_store
        self._store: Writes | None = None
        self._batch = batch
        self._worth = worth
        self._clock = clock
        self._taker = f"{socket.gethostname()}:{os.getpid()}"
        self._lock = threading.Lock()
        self._resume_at = 0.0
        self._outage = Outage(log, "cannot store, items wait in the outbox", clock=clock)
        self._kept: dict[str, str] = {}
        self._looked: set[str] = set()
        self._look_at = 0.0
        self._watched_since: dict[str, float] = {}

    def run(self) -> str:
        """Store batches while enough waits to be worth a transaction; what is left is called for within half a second.

        Killed anywhere, the batch is stored again, to no effect; while the database fails, items wait in the outbox,
        and after each failure it is left alone for a while.
        """
        if self._clock() < self._resume_at or not self._lock.acquire(blocking=False):
            return "not now"
        try:
            return f"{self._store_all()} pages"
        except BackendError as error:
            self._resume_at = self._clock() + TROUBLE_WAIT_S
            self._outage.fail(error)
            return "failed"
        finally:
            self._lock.release()

    def _store_all(self) -> int:
        if self._store is None:
            self._store = self._open_store()
        pages = 0
        for _ in range(MOST_BATCHES):
            drawn = self._frontier.outbox.draw(self._taker, self._batch)
            if not drawn:
                break
            batch = self._readable(drawn)
            self._keep_sites(self._store, {items.site for _, items in batch})  # first: items of no ledger rebuild none
            gains, stored, asked = self._write(self._store, batch)
            self._ask(asked)  # before the pages leave the outbox: ended here, they are stored and asked for again
            waiting = self._frontier.outbox.stored(stored, self._statistics(gains), self._ages(gains))
            pages += len(drawn)
            if waiting < self._worth:
                break
        if pages:
            self._outage.end()
        log.info("stored", extra={"pages": pages})
        return pages

    def _statistics(self, gains: Iterable[Gain]) -> dict[str, dict[str, int]]:
        """Write what was stored as the counters of its sites; what was posted before we watched says nothing of us."""
        counted: dict[str, dict[str, int]] = {}
        now = time.time()
        for gain in gains:
            stats = counted.setdefault(gain.site, {})
            changes = {"new": gain.new, "filled": gain.filled, "changed": gain.changed, "unchanged": gain.unchanged}
            changes["restored"] = gain.restored
            stats.update({f"{gain.kind}:{change}": count for change, count in changes.items() if count})
            since = self._since(gain.site)
            ages = [max(0.0, now - posted) for posted in filter(since.__le__, gain.posted)]
            for name, number in observed("fresh", AGES_S, ages).items():
                stats[name] = stats.get(name, 0) + number
        return counted

    def _ages(self, gains: Iterable[Gain]) -> dict[str, dict[str, list[int]]]:
        """Say how old posts were when they were stored, by site and board: those posted since we watch."""
        counted: dict[str, dict[str, list[int]]] = {}
        now = time.time()
        for gain in gains:
            since = self._since(gain.site)
            for board, posted in gain.by_board.items():
                ages = [max(0.0, now - at) for at in posted if at >= since]
                if ages:
                    counted.setdefault(gain.site, {})[board] = packed(AGES_S, ages)
        return counted

    def _keep_sites(self, store: Writes, names: set[str]) -> None:
        """Have the database keep what recovery needs: the sites as published, and which ledger their items are from."""
        if self._clock() >= self._look_at:
            self._looked, self._look_at = set(), self._clock() + LOOK_EVERY_S
        for name in names - self._looked:
            text, epoch = self._frontier.sites.published(name), self._frontier.memory.epoch()
            if text is not None and epoch is not None and self._kept.get(name) != text:
                is_new = store.keep(name, text, epoch)
                if is_new and self._frontier.census(name).stats.get("comment:new"):
                    log.error("the database is new, but items of this ledger are in another one", extra={"site": name})
                self._kept[name] = text
            self._looked.add(name)

    def _since(self, site: str) -> float:
        if site not in self._watched_since:
            self._watched_since[site] = self._frontier.sites.watched_since_ms(site) / 1000
        return self._watched_since[site]

    def _readable(self, drawn: list[tuple[bytes, bytes]]) -> list[tuple[bytes, Items]]:
        """Read what was drawn; what cannot be read, of a later version perhaps, is laid aside."""
        batch = []
        for page_id, text in drawn:
            try:
                batch.append((page_id, read_items(text)))
            except BackendError as error:
                self._shelve(page_id, error)
        return batch

    def _write(
        self, store: Writes, batch: Sequence[tuple[bytes, Items]]
    ) -> tuple[list[Gain], dict[str, list[bytes]], list[Request]]:
        """Write a batch; of one that the database refuses for what is in it, all but the pages that have it.

        Returns:
            What it brought, which pages of each site were stored, and which are to be asked for.
        """
        try:
            brought = store.write([items for _, items in batch])
        except Unstorable as error:
            if len(batch) == 1:
                self._shelve(batch[0][0], error)
                return [], {}, []
            middle = len(batch) // 2
            first, some, asked = self._write(store, batch[:middle])
            second, others, more = self._write(store, batch[middle:])
            sites = some.keys() | others.keys()
            return first + second, {site: some.get(site, []) + others.get(site, []) for site in sites}, asked + more
        stored: dict[str, list[bytes]] = {}
        for page_id, items in batch:
            stored.setdefault(items.site, []).append(page_id)
        return list(brought.gains), stored, list(brought.asked)

    def _ask(self, requests: Iterable[Request]) -> None:
        """Admit what full passes did not see, as far as there is room; what is left out, the next pass finds."""
        for (site, wait_s), some in groupby(requests, key=attrgetter("site", "wait_s")):
            try:
                self._frontier.admit(site, some, threshold=SITES_OWN, wait_s=wait_s)
            except ConfigError:  # the site was taken out meanwhile
                log.warning("not asked for, the site is not published", extra={"site": site})

    def _shelve(self, page_id: bytes, error: BackendError) -> None:
        self._frontier.shelf.put(page_id, str(error))
        log.error(
            "items laid aside; see: crawl-tasks shelf list", extra={"id": page_id.decode(), "error": str(error)[:500]}
        )
