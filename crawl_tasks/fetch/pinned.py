"""Step 5, fetch: urllib3 connections that go to checked addresses only, under the watchdog."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass

from urllib3.connection import HTTPConnection, HTTPSConnection

from crawl_tasks.fetch.client import left
from crawl_tasks.fetch.destination import Destination
from crawl_tasks.fetch.strict import StrictResponse
from crawl_tasks.fetch.tunnel import open_tunnel
from crawl_tasks.fetch.turn import Turn
from crawl_tasks.fetch.watchdog import Guarded


@dataclass(slots=True)
class Attempt:
    """One hop, as its connection must know it. `is_fresh`: it asked for a new connection.

    `target` is what stands in the request line; urllib3 would spell it in its own way.
    """

    target: str
    destination: Destination
    deadline: float
    guard: Guarded
    turn: Turn
    is_fresh: bool = False


class Current(threading.local):
    """The attempt of this thread: urllib3 hands nothing of the kind through to its connections."""

    attempt: Attempt


class PinnedConnection(HTTPConnection):
    """Connects to the addresses of the current attempt, whatever its host's name says now."""

    response_class = StrictResponse

    def __init__(self, *args: object, current: Current, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # the pool's own arguments, handed through
        self._current = current
        self._peer = ""

    def _new_conn(self) -> socket.socket:
        attempt = self._current.attempt
        attempt.is_fresh = True
        sock, self._peer = connect(attempt)
        attempt.guard.hold(sock)
        return sock

    def request(self, *args: object, **kwargs: object) -> None:
        """Send; over the connection that is there only if it still leads where the request may go."""
        attempt = self._current.attempt
        if self.sock is not None and self._peer not in attempt.destination.targets:
            self.close()
        if self.sock is not None:
            attempt.guard.hold(self.sock)
        super().request("GET", attempt.target, *args[2:], **kwargs)  # type: ignore[arg-type]  # handed through

    def send(self, data: bytes) -> None:  # type: ignore[override]  # a GET has nothing else to send
        """Send the head of the request when it is its turn, with nothing left to do but to hand it to the kernel."""
        if self.sock is None:
            self.connect()
        self._current.attempt.turn.confirm()
        super().send(data)
        self._current.attempt.turn.sent(time.monotonic())


class PinnedSecureConnection(PinnedConnection, HTTPSConnection):
    """The same under TLS; name and certificate are checked against the host's name."""


def connect(attempt: Attempt) -> tuple[socket.socket, str]:
    """Connect to the first target that answers and say which, by ourselves or through the proxy.

    Raises:
        OSError: none answers.
        DeadlineExceeded: the time is over.
    """
    there = attempt.destination
    if there.way is None:
        return _dial(attempt, there.addresses, there.port)
    failed: OSError | None = None
    for target in there.targets:
        sock, _ = _dial(attempt, there.way.addresses, there.way.proxy.port)
        attempt.guard.hold(sock)
        try:
            open_tunnel(sock, there.way.proxy, target, there.port)
        except OSError as error:
            sock.close()
            failed = error
            continue
        return sock, target
    raise failed or OSError("there is nothing to connect to")


def _dial(attempt: Attempt, places: tuple[str, ...], port: int) -> tuple[socket.socket, str]:
    """Connect to the first address that answers and say which; each gets its share of the time that is left."""
    failed: OSError | None = None
    for tried, address in enumerate(places):
        share = left(attempt.deadline, f"connecting to {address}") / (len(places) - tried)
        try:
            sock = socket.create_connection((address, port), share)
        except OSError as error:
            failed = error
            continue
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(left(attempt.deadline, "asking"))
        return sock, address
    raise failed or OSError("there is no address to connect to")
