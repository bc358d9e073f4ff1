"""The watchdog: ends a connection whose attempt has run out of time.

A socket's timeout begins anew with every byte, so a server that sends one byte at a time holds a thread for ever. One
thread per process waits for the earliest deadline and shuts that attempt's socket down. Its reader sees the end.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import socket
import threading
import time
from typing import Self


class Guarded:
    """One attempt under guard: a context. `expired` tells afterwards whether the watchdog ended the attempt."""

    def __init__(self, watchdog: Watchdog, deadline: float) -> None:
        self.expired = False
        self._watchdog = watchdog
        self._deadline = deadline
        self._brake: socket.socket | None = None
        self._over = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._watchdog.watch(self._deadline, self)
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            self._release()

    def hold(self, sock: socket.socket) -> None:
        """Guard the socket that this attempt now uses.

        The guard keeps a second descriptor: TLS replaces the socket object, and closing the connection before the end
        of its body closes the first descriptor.
        """
        brake = socket.socket(sock.family, sock.type, sock.proto, fileno=os.dup(sock.fileno()))
        with self._lock:
            self._release()
            self._brake = brake
            # The deadline passed while the connection was being made.
            if self.expired:
                self._pull()

    def expire(self) -> None:
        """End the attempt, unless it is over."""
        with self._lock:
            if not self._over:
                self.expired = True
                self._pull()

    def _pull(self) -> None:
        if self._brake is not None:
            # It may be closed by the other side already.
            with contextlib.suppress(OSError):
                self._brake.shutdown(socket.SHUT_RDWR)

    def _release(self) -> None:
        if self._brake is not None:
            self._brake.close()
            self._brake = None


class Watchdog:
    """Watches the attempts of a process. The thread begins with the first attempt."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, Guarded]] = []
        self._number = itertools.count()
        self._running = False

    def guard(self, deadline: float) -> Guarded:
        """Guard an attempt until a moment of `time.monotonic`, while the context lasts."""
        return Guarded(self, deadline)

    def watch(self, deadline: float, attempt: Guarded) -> None:
        """Expire the attempt at its deadline."""
        with self._changed:
            # The number settles ties of equal deadlines: attempts have no order.
            entry = (deadline, next(self._number), attempt)
            heapq.heappush(self._heap, entry)
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="fetch-watchdog", daemon=True).start()
            elif self._heap[0] is entry:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            self._next().expire()

    def _next(self) -> Guarded:
        """Wait for the next deadline."""
        with self._changed:
            while True:
                wait = self._heap[0][0] - time.monotonic() if self._heap else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._heap)[2]
                self._changed.wait(wait)
