"""The ledger watch: store workers check every few seconds that Redis and their database belong together.

If they do not, all sites stand still until an operator runs `crawl-tasks recover`. With CRAWL_RECOVER=auto the first
worker that notices rebuilds the ledger.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.recovery.ages import LedgerState, loss_of
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import OutboxConsumer

if TYPE_CHECKING:
    from crawl_tasks.recovery.rebuild import Rebuild, Rebuilt

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
"""Time between two comparisons, in seconds."""

BATCH = 500
"""Pages of the outbox that a rebuild stores in one transaction."""

DECIDE_EVERY_S = 60.0
"""Time after which the decisions of the database are handed to Redis again, in seconds."""


HALTS = frozenset(loss.advice for loss in LedgerState if loss.halts)
"""The reasons for which this watch halts all sites."""


class LedgerWatch:
    """The watch of one store worker. A lock in Redis lets only one of all workers rebuild."""

    def __init__(
        self,
        frontier: Frontier,
        open_store: Callable[[], Store],
        *,
        contact: str | None,
        by_itself: bool,
        cells: Cells | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the watch of one of the `cells`, by default the only one."""
        self._frontier = frontier
        self._cells = cells or Cells([frontier])
        self._admin = Admin(frontier)
        self._open_store = open_store
        self._contact = contact
        self._by_itself = by_itself
        self._is_logged = False
        self._clock, self._decide_at = clock, 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Compare in a thread of its own until `stop`."""
        self._thread = threading.Thread(target=self._run, name="ledger-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except CrawlError as error:
                # Redis or the database is away, or nothing is stored yet. The store task logs that as an error already.
                log.debug("cannot compare ledgers", extra={"error": str(error)})
                self._decide_at = 0.0  # what comes back may be older
            self._stop.wait(LOOK_EVERY_S)

    def look(self) -> None:
        """Compare the ledgers of Redis and database once. If they differ, halt all sites or rebuild.

        Raises:
            BackendError: Redis or the database is away, or nothing was stored yet.
        """
        with self._open_store() as store:
            loss = loss_of(self._frontier, store)
            if not loss.halts:
                self._go_on(store, loss)
            elif self._by_itself:
                self._rebuild(store)
            else:
                self._admin.restore.halt(loss.advice)
                self._log_once(loss.advice)

    def _go_on(self, store: Store, loss: LedgerState) -> None:
        # A Redis that lost its last writes is crawled on with: what they said is done again.
        if not loss:
            self._is_logged = False
        elif not self._is_logged:
            log.error("Redis has lost its last writes", extra={"error": loss.advice})
            self._is_logged = True
        # Only a halt of this watch ends by itself: the lost Redis is back. Other reasons need a person.
        if self._admin.restore.halted() in HALTS:
            self._admin.restore.go_on()
        if self._clock() >= self._decide_at:
            self._hand_back(store)
            self._decide_at = self._clock() + DECIDE_EVERY_S

    def _hand_back(self, store: Store) -> None:
        """Hand Redis the decisions that it has forgotten, as in a failover."""
        cells = {name: each.cell for each in self._cells for name in each.sites.names()}
        decisions = store.decisions(self._frontier.ledger)
        unknown = {decision.site for decision in decisions} - cells.keys()
        cells |= {site: self._cells.home(site).cell for site in unknown}
        of_cell = (decision for decision in decisions if cells[decision.site] == self._frontier.cell)
        if restored := self._admin.decisions.restore(of_cell):
            log.warning("decisions restored that Redis had forgotten", extra={"count": restored})

    def _rebuild(self, store: Store) -> None:
        try:
            self._cells.ask_each(lambda frontier: frontier.clock_ms())
            for frontier in self._cells:
                prepare_rebuild(frontier, store, self._contact, self._cells).run_if_lost(_report)
        except ConfigError as error:
            self._log_once(str(error))

    def _log_once(self, line: str) -> None:
        if not self._is_logged:
            log.error("all sites stand still", extra={"error": line})
            self._is_logged = True


def prepare_rebuild(frontier: Frontier, store: Store, contact: str | None, cells: Cells | None = None) -> Rebuild:
    """Return a rebuild of a cell, by default the only one, that first empties the outbox by the store task."""
    # The code that publishes and reads site files costs 50 ms, and a ledger is hardly ever lost.
    from crawl_tasks.recovery.rebuild import Rebuild  # noqa: PLC0415

    # Makes the tables that a version just installed has added.
    store.open()
    empty_outbox = OutboxConsumer(frontier, lambda: store, batch=BATCH, worth=1).run
    return Rebuild(frontier, store, contact, empty_outbox, cells)


def _report(rebuilt: Rebuilt) -> None:
    log.warning(
        "ledger rebuilt",
        extra={"site": rebuilt.site, "open": rebuilt.ready, "known": rebuilt.known, "boards": rebuilt.boards},
    )
