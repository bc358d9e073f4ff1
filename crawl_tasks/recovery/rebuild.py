"""Beside the flow: a ledger that was lost is built anew from the database, and the crawl goes on where it was.

The database knows of every page what was last admitted and what was last done, in the same transaction as its items.
What was admitted and not done becomes ready; what was done is known to the guard. Pages whose items were not stored
when the ledger was lost are fetched again. Leases begin behind the newest observation of the database, or what is seen
from now on would be the older one.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import ceil

from crawl_tasks.drain import Drain
from crawl_tasks.errors import ConfigError, StoreError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.timetable import Act
from crawl_tasks.model import Stage
from crawl_tasks.publishing import publish_site
from crawl_tasks.recovery.ledgers import is_lost
from crawl_tasks.sites.published import read_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.known import Remembered, remembered
from crawl_tasks.store.upsert import Store

CHUNK = 500
"""Pages told to the ledger in one call."""

RIGHT_MS = 60_000
"""How long a process that died keeps others from rebuilding; a chunk takes milliseconds."""

OUTBOX_WAIT_S = 75.0
"""Longer than a dead store worker keeps the pages that it took."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a site's ledger was told: pages to fetch, pages known, boards that keep their schedule."""

    site: str
    ready: int
    known: int
    boards: int


def known_sites(frontier: Frontier, store: Store) -> dict[str, Site]:
    """Read the sites that the database keeps, as Redis has them now where it has them."""
    texts = store.kept_sites() | {name: frontier.sites.published(name) or "" for name in frontier.sites.names()}
    return {name: read_site(text) for name, text in sorted(texts.items())}


class Rebuilder:
    """Builds ledgers anew. Ended half-way, it leaves sites paused and `is_lost` true: run it again."""

    def __init__(self, frontier: Frontier, store: Store, contact: str | None) -> None:
        self._frontier = frontier
        self._store = store
        self._contact = contact
        self._name = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"

    def run_if_lost(self, report: Callable[[Rebuilt], None]) -> bool:
        """Rebuild all sites that are known if Redis does not hold the database's ledger; say whether it was so.

        Raises:
            ConfigError: a site cannot be published, or another process rebuilds.
            StoreError: the outbox cannot be stored; nothing was told yet.
        """
        with self._alone():
            lost = is_lost(self._frontier, self._store)
            if lost:
                self._run(known_sites(self._frontier, self._store), report, walk=False)
        return lost

    def run(self, sites: Mapping[str, Site], report: Callable[[Rebuilt], None], *, walk: bool = False) -> None:
        """Forget what Redis holds of the sites, store what waits in the outbox, and tell what the database knows.

        With `walk`, the next scan of each board is at once and goes to its end: when keys were deleted that held items,
        there may be pages that neither the database nor any page it knows of names.

        Raises:
            ConfigError: a site cannot be published, or another process rebuilds.
            StoreError: the outbox cannot be stored; nothing was told yet.
        """
        with self._alone():
            self._run(sites, report, walk=walk)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._seize()
        try:
            yield
        finally:
            self._frontier.memory.seize(self._name, 0)

    def _seize(self) -> None:
        other = self._frontier.memory.seize(self._name, RIGHT_MS)
        if other:
            raise ConfigError(f"{other} rebuilds the ledger already; wait for its end, then look: crawl-tasks status")

    def _run(self, sites: Mapping[str, Site], report: Callable[[Rebuilt], None], *, walk: bool) -> None:
        paused = {name for name in sites if self._frontier.memory.forget(name)}
        self._empty_outbox()
        self._store.bring_back(self._frontier.clock_ms() / 1000)  # tokens must not go on behind a clock years ahead
        for name, site in sites.items():
            report(self._rebuild(site))
            if walk:
                self._frontier.timetable.change(name, [board.id for board in site.boards], Act.WALK)
            (self._frontier.sites.pause if name in paused else self._frontier.sites.resume)(name)
        epoch = self._frontier.memory.epoch()
        if epoch is None:
            raise ConfigError("no site is known to rebuild; write config/sites/NAME.yaml, then run it again")
        self._store.renew_epoch(epoch)
        self._frontier.memory.go_on()

    def _empty_outbox(self) -> None:
        drain = Drain(self._frontier, lambda: self._store, batch=CHUNK, worth=1)
        deadline = time.monotonic() + OUTBOX_WAIT_S
        while drain.run() == "failed" or self._frontier.outbox.size() > 0:
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{self._frontier.outbox.size()} pages wait in the outbox and are not stored; see"
                    " `crawl-tasks doctor`, then run `crawl-tasks recover` again"
                )
            self._seize()
            time.sleep(0.5)

    def _rebuild(self, site: Site) -> Rebuilt:
        publish_site(self._frontier, site, self._contact)
        newest_ms = ceil(self._store.newest(site.name) * 1000)
        ready, known = self._frontier.memory.recall(site.name, (), newest_ms)  # no lease is given before: it is paused
        scans: dict[str, tuple[int, int]] = {}
        pages = remembered(self._store, site.name)
        while chunk := list(islice(pages, CHUNK)):
            self._seize()
            opened, seen = self._frontier.memory.recall(site.name, ((page.request, page.is_open) for page in chunk))
            ready, known = ready + opened, known + seen
            for page in chunk:
                _note_scan(scans, page)
        kept = [
            board
            for board, (scan, at) in scans.items()
            if at and self._frontier.memory.recall_board(site.name, board, scan, at)
        ]
        return Rebuilt(site.name, ready, known, len(kept))


def _note_scan(scans: dict[str, tuple[int, int]], page: Remembered) -> None:
    """Remember of each board its highest scan, and when its first page was last fetched."""
    request = page.request
    if request.stage is not Stage.LIST:
        return
    scan, at = scans.get(request.key, (0, 0))
    number = int(request.revision) if request.revision.isdecimal() and len(request.revision) < 10 else 0
    scans[request.key] = (max(scan, number), max(at, page.done_at_ms if request.page == 1 else 0))
