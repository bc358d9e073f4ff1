"""Step 6: the life of a batch of items: draw from the outbox, store in one transaction, acknowledge."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from typing import Protocol

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier, read_items
from crawl_tasks.model import Items

log = logging.getLogger(__name__)

MOST_BATCHES = 50
"""Batches one task stores before it ends, so that a shutdown never waits long."""


class Writes(Protocol):
    """Where items end: a `store.upsert.Store`, or anything that writes a batch whole and twice to no effect."""

    def write(self, batch: Sequence[Items], /) -> object:
        """Write the items of some pages in one transaction."""


class Drain:
    """The work of a store worker."""

    def __init__(self, frontier: Frontier, store: Writes, *, batch: int, worth: int) -> None:
        self._frontier = frontier
        self._store = store
        self._batch = batch
        self._worth = worth
        self._taker = f"{socket.gethostname()}:{os.getpid()}"

    def run(self) -> str:
        """Store batches while enough waits to be worth a transaction; what is left is called for within half a second.

        Killed at any point, the batch is stored again, to no effect.
        """
        pages = 0
        for _ in range(MOST_BATCHES):
            drawn = self._frontier.draw(self._taker, self._batch)
            if not drawn:
                break
            self._store.write(self._readable(drawn))
            waiting = self._frontier.stored(page_id for page_id, _ in drawn)
            pages += len(drawn)
            if waiting < self._worth:
                break
        log.info("stored", extra={"pages": pages})
        return f"{pages} pages"

    def _readable(self, drawn: list[tuple[bytes, bytes]]) -> list[Items]:
        batch = []
        for page_id, text in drawn:
            try:
                batch.append(read_items(text))
            except BackendError as error:
                log.error("outbox entry dropped", extra={"id": page_id.decode(), "error": str(error)})
        return batch
