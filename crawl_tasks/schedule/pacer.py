"""Step 8: the clockwork in every worker: delays that ended, rate slots, expired leases, lost messages.

One process at a time has the floor (tick.lua); the others stand by and take over within two seconds. So releases,
retries and recovery go on without beat as long as one worker lives.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterable

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.outage import Outage
from crawl_tasks.schedule.inbox import Inbox

log = logging.getLogger(__name__)

TROUBLE_WAIT_S = 1.0

LEAST_WAIT_S = 0.002

PRESENT_EVERY_S = 10.0
"""A process that was not heard of for longer than three of these counts as gone."""


class Pacer:
    """Calls tick when something is due."""

    def __init__(self, frontier: Frontier, inbox: Inbox | None = None) -> None:
        self._frontier = frontier
        self._inbox = inbox
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._queues: tuple[str, ...] = ()
        self._say_at = 0.0
        self._outage = Outage(log, "pacer cannot tick; trying again every second")

    def start(self, queues: Iterable[str] = ()) -> None:
        """Tick in a thread of its own until `stop`, and say that a worker of these queues lives."""
        self._queues = tuple(queues)
        self._thread = threading.Thread(target=self._run, name="pacer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; another process takes over."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._say_present(())

    def once(self) -> str:
        """Tick once, for beat's upkeep."""
        tick = self._frontier.tick(self._name)
        if tick.has_floor and self._inbox is not None:
            self._inbox.drain_if_due()
        return (
            f"{tick.expired} leases expired, {tick.lost} messages lost" if tick.has_floor else "another process ticks"
        )

    def _run(self) -> None:
        while not self._stop.is_set():
            if self._queues and time.monotonic() >= self._say_at:
                self._say_present(self._queues)
            self._stop.wait(min(self._tick(), PRESENT_EVERY_S))

    def _say_present(self, queues: tuple[str, ...]) -> None:
        self._say_at = time.monotonic() + PRESENT_EVERY_S
        try:
            self._frontier.present(self._name, queues)
        except BackendError as error:
            log.debug("presence not noted", extra={"error": str(error)})

    def _tick(self) -> float:
        asked_at = time.monotonic()
        try:
            tick = self._frontier.tick(self._name)
        except BackendError as error:
            self._outage.fail(error)
            return TROUBLE_WAIT_S
        self._outage.end()
        if tick.expired or tick.lost:
            log.warning("requests returned", extra={"expired_leases": tick.expired, "lost_messages": tick.lost})
        if tick.has_floor and self._inbox is not None:
            self._inbox.drain_if_due()
        # The next tick takes as long to Redis as this one did, and its answer said how long to wait from there.
        return max(asked_at + tick.wait_ms / 1000 - time.monotonic(), LEAST_WAIT_S)
