"""Pinned connections: urllib3 connections to checked addresses only, under the watchdog, strict about HTTP."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ProtocolError

from crawl_tasks.fetch.http_client import ClientRequest, declared_length, left, read_head
from crawl_tasks.fetch.requests.tunnel import open_tunnel
from crawl_tasks.fetch.requests.watchdog import Guarded

_MAX_HEADER_BYTES = 256 << 10
# Counted for each head, so that 100 Continue without end comes to an end.
_STATUS_BYTES = 20
_FRAMING = ("content-length", "transfer-encoding")
_ENDS = (b"\r\n", b"\n", b"")


class StrictResponse(http.client.HTTPResponse):
    """A response whose headers must end with an empty line, and whose connection must be silent afterwards.

    http.client takes the end of the connection for the end of the headers: half a Location would be followed. And
    http.client drops the reader's buffer together with the response. Surplus bytes of a server may be there in part,
    and the other part would be before the next answer.

    `fields` are the headers, as `read_head` returns them, and `head_bytes` is their length.
    """

    fields: Mapping[str, str]
    head_bytes = 0

    def __init__(self, sock: socket.socket, *args: object, **kwargs: object) -> None:
        super().__init__(sock, *args, **kwargs)  # type: ignore[arg-type]  # http.client's own arguments, handed through
        self._sock = sock

    def begin(self) -> None:
        """Read status and headers, those of interim responses (1xx) too.

        http.client would give the headers to the parser of e-mail, which takes a tenth of a page's bytecodes.

        Raises:
            IncompleteRead: the connection ended within the headers.
            LineTooLong: the headers have no end, or the interim responses before them.
        """
        if self.headers is not None:
            return
        status = 0
        while status < http.client.OK:
            version, status, reason = self._read_status()
            lines = self._lines()
        _, fields = read_head(b"HTTP/1.1 200\n" + lines + b"\n") or (0, {})
        if not version.startswith(("HTTP/1.", "HTTP/0.9")):
            raise http.client.UnknownProtocol(version)
        self.code = self.status = status
        self.reason = reason.strip()
        self.version = 10 if version in ("HTTP/1.0", "HTTP/0.9") else 11
        # http.client asks its headers for names in lower case only, and urllib3 needs those of the framing.
        self.fields = self.headers = fields
        self.msg = http.client.HTTPMessage()
        for name in _FRAMING:
            if name in fields:
                self.msg.set_raw(name, fields[name])
        self._frame(fields, has_body=status not in (204, 304))

    def _lines(self) -> bytearray:
        lines, most = bytearray(), _MAX_HEADER_BYTES - self.head_bytes
        while (line := self.fp.readline(_MAX_HEADER_BYTES)) not in _ENDS and len(lines) <= most:
            lines += line
        self.head_bytes += _STATUS_BYTES + len(lines)
        if self.head_bytes > _MAX_HEADER_BYTES:
            raise http.client.LineTooLong("headers")
        if not line:
            raise http.client.IncompleteRead(bytes(lines))
        return lines

    def _frame(self, fields: Mapping[str, str], *, has_body: bool) -> None:
        """Note where the body ends: with the last chunk, after a length, or with the connection."""
        self.chunked = fields.get("transfer-encoding", "").rpartition(",")[2].strip().lower() == "chunked"
        self.chunk_left = None
        length = None if self.chunked else declared_length(fields)
        self.length = length if has_body else 0
        self.will_close = self._check_close() or (not self.chunked and self.length is None)  # type: ignore[attr-defined]  # not in the stubs

    def _close_conn(self) -> None:
        """Check the buffer before http.client drops it. The pool does not reuse a socket that was shut down."""
        with contextlib.suppress(OSError, ValueError):
            # No waiting: peek() on an empty buffer would otherwise block until the server sends or the deadline comes.
            self._sock.settimeout(0)
            if self.fp.peek(1):
                self._sock.shutdown(socket.SHUT_RDWR)
        super()._close_conn()  # type: ignore[misc]  # not in the stubs


@dataclass(slots=True)
class Attempt:
    """One hop as the connection must know it. `is_fresh` means that a new connection was opened."""

    sent: ClientRequest
    guard: Guarded
    is_fresh: bool = False
    response: StrictResponse = field(init=False)


class Current(threading.local):
    """The attempt of this thread: urllib3 passes no such value on to its connections."""

    attempt: Attempt


class PinnedConnection(HTTPConnection):
    """Connects to the addresses of the current attempt, not to those that the name has by now."""

    def __init__(self, *args: object, current: Current, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # the pool's own arguments, handed through
        self._current = current
        self._peer = ""
        self._is_confirmed = False

    def response_class(self, sock: socket.socket, **kwargs: object) -> StrictResponse:  # type: ignore[override]  # a class there
        """Make the response, which the attempt can see below all wrappers."""
        response = self._current.attempt.response = StrictResponse(sock, **kwargs)
        return response

    def _new_conn(self) -> socket.socket:
        attempt = self._current.attempt
        attempt.is_fresh = True
        try:
            sock, self._peer = connect(attempt)
        except ConnectionError as error:
            # urllib3 takes a reset here for one that came after the request was sent, and goes on without a socket.
            raise ProtocolError("the connection broke as it opened", error) from error
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
    destination = attempt.sent.destination
    if destination.way is None:
        return _dial(attempt, destination.addresses, destination.port)
    failed: OSError | None = None
    for target in destination.targets:
        sock, _ = _dial(attempt, destination.way.addresses, destination.way.proxy.port)
        attempt.guard.hold(sock)
        try:
            open_tunnel(sock, destination.way.proxy, target, destination.port)
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
