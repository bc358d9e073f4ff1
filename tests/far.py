"""A server that is far away: a loopback proxy that holds back all that passes through it, each way.

Bytes keep their order on each connection. `python -m tests.far PORT WAY_MS [JITTER_MS]` prints the port to connect to
and serves until it is killed.
"""

from __future__ import annotations

import random
import selectors
import socket
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

_PIECE = 1 << 16


@dataclass(eq=False, slots=True)
class _Way:
    """One direction of a connection: what was read from `source` and when it is to reach `target`."""

    source: socket.socket
    target: socket.socket
    under_way: deque[tuple[float, bytes]] = field(default_factory=deque)


class FarServer:
    """Leads to a port of loopback, `way_ms` away in each direction, and up to `jitter_ms` more for each piece.

    `asked` counts the pieces that clients sent, which are their requests where each waits for its answer.
    """

    def __init__(self, port: int, way_ms: float, jitter_ms: float = 0.0) -> None:
        self.target_port, self.way_ms = port, way_ms
        self.asked = 0
        self._way_s, self._jitter_s = way_ms / 1000, jitter_ms / 1000
        self._chance = random.Random(port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self._ways: dict[socket.socket, _Way] = {}
        self._busy: set[_Way] = set()
        self._near: set[socket.socket] = set()
        self._bell, self._wake = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        for end in (self._listener, self._bell):
            self._selector.register(end, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self.serve, name="far server", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._wake.close()
        self._thread.join()

    def serve(self) -> None:
        """Pass bytes on when they are due, until the proxy is left."""
        while True:
            due = min((way.under_way[0][0] for way in self._busy), default=None)
            for key, _ in self._selector.select(None if due is None else max(0.0, due - time.monotonic())):
                if key.fileobj is self._bell:
                    self._close()
                    return
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket):
                    self._take(key.fileobj)
            self._deliver(time.monotonic())

    def _accept(self) -> None:
        near, there = self._listener.accept()[0], socket.create_connection(("127.0.0.1", self.target_port))
        for source, target in ((near, there), (there, near)):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._ways[source] = _Way(source, target)
            self._selector.register(source, selectors.EVENT_READ)
        self._near.add(near)

    def _take(self, source: socket.socket) -> None:
        way = self._ways[source]
        try:
            data = source.recv(_PIECE)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(source)
        self.asked += source in self._near
        due = time.monotonic() + self._way_s + self._chance.uniform(0, self._jitter_s)
        way.under_way.append((max(due, way.under_way[-1][0]) if way.under_way else due, data))
        self._busy.add(way)

    def _deliver(self, now: float) -> None:
        for way in list(self._busy):
            while way.under_way and way.under_way[0][0] <= now:
                _pass_on(way.target, way.under_way.popleft()[1])
            if not way.under_way:
                self._busy.discard(way)

    def _close(self) -> None:
        for source in self._ways:
            source.close()
        for end in (self._listener, self._bell):
            end.close()
        self._selector.close()


def _pass_on(target: socket.socket, data: bytes) -> None:
    try:
        if data:
            target.sendall(data)
        else:
            target.shutdown(socket.SHUT_WR)
    except OSError:  # it has closed meanwhile: its own end will be read
        return


if __name__ == "__main__":
    far = FarServer(int(sys.argv[1]), *map(float, sys.argv[2:4]))
    sys.stdout.write(f"{far.port}\n")
    sys.stdout.flush()
    far.serve()
