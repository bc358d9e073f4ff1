"""Beside the flow: store workers look now and then whether Redis still holds the ledger of their database.

If not, all sites stand still until a person runs `crawl-tasks recover`; or, when the installation wants it so, the
first worker that notices rebuilds it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.recovery.ledgers import is_lost
from crawl_tasks.store.upsert import Store

if TYPE_CHECKING:
    from crawl_tasks.recovery.rebuild import Rebuilt

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0

LOST = "Redis does not hold the ledger that the database was filled from; run: crawl-tasks recover"


class Sentry:
    """Looks, and acts or asks. One in each store worker; Redis lets one of them rebuild."""

    def __init__(
        self, frontier: Frontier, open_store: Callable[[], Store], *, contact: str | None, by_itself: bool
    ) -> None:
        self._frontier = frontier
        self._open_store = open_store
        self._contact = contact
        self._by_itself = by_itself
        self._has_said = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look in a thread of its own until `stop`."""
        self._thread = threading.Thread(target=self._run, name="sentry", daemon=True)
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
            except CrawlError as error:  # away, or nothing stored yet: those who write say so
                log.debug("cannot compare ledgers", extra={"error": str(error)})
            self._stop.wait(LOOK_EVERY_S)

    def look(self) -> None:
        """Compare ledgers once, and do what the installation wants.

        Raises:
            BackendError: Redis or the database is away, or nothing was stored yet.
        """
        with self._open_store() as store:
            if not is_lost(self._frontier, store):
                self._has_said = False
                if self._frontier.memory.halted() == LOST:  # the lost Redis is back
                    self._frontier.memory.go_on()
            elif self._by_itself:
                self._rebuild(store)
            else:
                self._frontier.memory.halt(LOST)
                self._say(LOST)

    def _rebuild(self, store: Store) -> None:
        # What publishes and reads site files costs 50 ms, and a ledger is hardly ever lost.
        from crawl_tasks.recovery.rebuild import Rebuilder  # noqa: PLC0415

        try:
            Rebuilder(self._frontier, store, self._contact).run_if_lost(_report)
        except ConfigError as error:
            self._say(str(error))

    def _say(self, line: str) -> None:
        if not self._has_said:
            log.error("all sites stand still", extra={"error": line})
            self._has_said = True


def _report(rebuilt: Rebuilt) -> None:
    log.warning(
        "ledger rebuilt",
        extra={"site": rebuilt.site, "open": rebuilt.ready, "known": rebuilt.known, "boards": rebuilt.boards},
    )
