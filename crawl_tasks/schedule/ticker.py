"""The ticker: the maintenance loop of every worker (delays that ended, throttle slots, expired leases, lost messages).

One process at a time is the leader (tick.lua). The others stand by, and one of them takes over within two seconds. So
releases, retries and recovery go on without beat as long as one worker lives.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import metadata

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import IdleState, Tick
from crawl_tasks.logs import OutageLog
from crawl_tasks.model.own_counters import put_back, take_counted
from crawl_tasks.schedule.start_requests import StartRequests

log = logging.getLogger(__name__)

TROUBLE_WAIT_S = 1.0
"""Time until the next tick while Redis fails, in seconds."""

LEAST_WAIT_S = 0.005
"""Time between two ticks at least, in seconds. The slots of many sites fall due meanwhile, for one script."""

FAR_S = 0.02
"""A round trip to Redis, in seconds, from which on several ticks share one while one is not enough.

A tick looks at 20 sites. With Redis 50 ms away, single ticks would look at 300 sites a second at most.
"""

TICKS_AT_ONCE = 4

COUNTED_AT_ONCE = 100
"""Sites whose own counters one script raises: Redis serves nobody else meanwhile."""

HEARTBEAT_EVERY_S = 10.0
"""Time between two signs of life, in seconds. A process that misses three counts as gone."""


class Ticker:
    """The thread that ticks when something is due."""

    def __init__(
        self,
        frontier: Frontier,
        start_requests: StartRequests | None = None,
        on_idle: Callable[[str, IdleState], None] = lambda _site, _state: None,
    ) -> None:
        """Make a ticker, which calls `on_idle` for each site that an expired lease left without open requests."""
        self._frontier = frontier
        self._start_requests = start_requests
        self._on_idle = on_idle
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._birth = str(time.time_ns())
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._queues: tuple[str, ...] = ()
        self._heartbeat_at = 0.0
        self._times = 1
        self._outage = OutageLog(log, "ticker cannot tick; trying again every second")

    def note_birth(self) -> None:
        """Note that this process begins: one that dies before its first heartbeat is counted as dead."""
        with suppress(BackendError):
            self._frontier.note_birth(self._name, self._birth)

    def start(self, queues: Iterable[str] = ()) -> None:
        """Tick in a thread of its own until `stop`, with a sign of life for a worker of these queues."""
        self._queues = tuple(queues)
        self._thread = threading.Thread(target=self._run, name="ticker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Another process becomes the leader."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self.flush_counters()
        # A sign of life without queues ends the process for all watchers at once, not after three missed signs.
        self._heartbeat(())

    def once(self) -> str:
        """Tick once, for the upkeep task of beat, and return the counts as a text."""
        tick = self._frontier.tick(self._name)
        self._follow(tick)
        return (
            f"{tick.expired} leases expired, {tick.lost} messages lost" if tick.is_leader else "another process ticks"
        )

    def _run(self) -> None:
        while not self._stop.is_set():
            if self._queues and time.monotonic() >= self._heartbeat_at:
                self._heartbeat(self._queues)
            self.flush_counters()
            try:
                wait_s = self._tick()
            except Exception:
                # The boundary of the thread: a bug, also one in an entry or a hook, must not stop every crawl for good.
                log.exception("tick crashed")
                wait_s = TROUBLE_WAIT_S
            # Not longer than the time between two signs of life, which this thread gives as well.
            self._stop.wait(min(wait_s, HEARTBEAT_EVERY_S))

    def flush_counters(self) -> None:
        """Write the own counters of this process."""
        counted = take_counted()
        sites = list(counted)
        for start in range(0, len(sites), COUNTED_AT_ONCE):
            batch = {site: counted[site] for site in sites[start : start + COUNTED_AT_ONCE]}
            try:
                self._frontier.count_own(batch)
            except BackendError:
                put_back(batch)

    def _heartbeat(self, queues: tuple[str, ...]) -> None:
        self._heartbeat_at = time.monotonic() + HEARTBEAT_EVERY_S
        try:
            start_key = self._start_requests.name if self._start_requests else ""
            self._frontier.heartbeat(self._name, queues, start_key, metadata.version("crawl_tasks"), self._birth)
        except BackendError as error:
            log.debug("presence not noted", extra={"error": str(error)})

    def _follow(self, tick: Tick) -> None:
        for site, state in tick.idle:
            self._on_idle(site, state)
        if tick.is_leader and self._start_requests is not None:
            self._start_requests.drain_if_due()

    def _tick(self) -> float:
        asked_at = time.monotonic()
        try:
            tick = self._frontier.tick(self._name, times=self._times)
        except BackendError as error:
            self._times = 1
            self._outage.fail(error)
            return TROUBLE_WAIT_S
        is_far = time.monotonic() - asked_at > FAR_S
        self._times = TICKS_AT_ONCE if is_far and tick.is_leader and not tick.wait_ms else 1
        self._outage.end()
        if tick.expired or tick.lost:
            log.warning("requests returned", extra={"expired_leases": tick.expired, "lost_messages": tick.lost})
        self._follow(tick)
        # The reply says how long to wait from the script's own time on. The way to Redis took time before that, and
        # the next tick will take as long, so the wait counts from the moment of the call.
        return max(asked_at + tick.wait_ms / 1000 - time.monotonic(), LEAST_WAIT_S)
