"""Pinned connections: urllib3 connections to checked addresses only, under the watchdog."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass

from urllib3.connection import HTTPConnection, HTTPSConnection

from crawl_tasks.fetch.http_client import OutgoingRequest, left
from crawl_tasks.fetch.requests.strict_http import StrictResponse
from crawl_tasks.fetch.requests.tunnel import open_tunnel
from crawl_tasks.fetch.requests.watchdog import Guarded


@dataclass(slots=True)
class Attempt:
    """One hop as the connection must know it. `is_fresh` means that a new connection was opened."""

    sent: OutgoingRequest
    guard: Guarded
    is_fresh: bool = False


class Current(threading.local):
    """The attempt of this thread: urllib3 passes no such value on to its connections."""

    attempt: Attempt


class PinnedConnection(HTTPConnection):
    """Connects to the addresses of the current attempt, not to those that the name has by now."""

    response_class = StrictResponse

    def __init__(self, *args: object, current: Current, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # the pool's own arguments, handed through
        self._current = current
        self._peer = ""
        self._is_confirmed = False

    def _new_conn(self) -> socket.socket:
        attempt = self._current.attempt
        attempt.is_fresh = True
        sock, self._peer = connect(attempt)
        attempt.guard.hold(sock)
        return sock

    def request(self, *args: object, **kwargs: object) -> None:
        """Send, over an open connection only if its peer is still an allowed target."""
        attempt = self._current.attempt
        self._is_confirmed = False
        # The name may have changed its addresses since: an idle connection to an old one must not be used again.
        if self.sock is not None and self._peer not in attempt.sent.destination.targets:
            self.close()
        if self.sock is not None:
            attempt.guard.hold(self.sock)
        # The path starts at the first slash behind `https://` (8 characters) or `http://` and a host. urllib3 would
        # spell the target in its own way.
        target = attempt.sent.url[attempt.sent.url.index("/", 8) :]
        super().request(str(args[0]), target, *args[2:], **kwargs)  # type: ignore[arg-type]  # handed through

    def send(self, data: bytes) -> None:  # type: ignore[override]  # head and body are bytes here
        """Send a part of the request, after the throttle agrees to the first. Only the kernel's send is left then."""
        if self.sock is None:
            self.connect()
        turn, is_first = self._current.attempt.sent.turn, not self._is_confirmed
        if is_first:
            turn.confirm()
            self._is_confirmed = True
        super().send(data)
        if is_first:
            turn.sent(time.monotonic())


class PinnedSecureConnection(PinnedConnection, HTTPSConnection):
    """The same under TLS. The certificate is checked against the host's name."""


def connect(attempt: Attempt) -> tuple[socket.socket, str]:
    """Connect to the first target that answers, directly or through the proxy. Return the socket and the target.

    Raises:
        OSError: none answers.
        DeadlineExceeded: the time is over.
    """
    there = attempt.sent.destination
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
    """Connect to the first address that answers. Return the socket and the address."""
    failed: OSError | None = None
    for tried, address in enumerate(places):
        # An equal share of the remaining time for each: a dead first address must not use up the whole attempt.
        share = left(attempt.sent.deadline, f"connecting to {address}") / (len(places) - tried)
        try:
            sock = socket.create_connection((address, port), share)
        except OSError as error:
            failed = error
            continue
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(left(attempt.sent.deadline, "asking"))
        return sock, address
    raise failed or OSError("there is no address to connect to")
