"""Strict HTTP parsing: http.client's response, without leniency about the end of headers and bytes behind a body."""

from __future__ import annotations

import contextlib
import http.client
import io
import socket

_MAX_HEADER_BYTES = 256 << 10


class _HeaderReader(io.BufferedReader):
    """Remembers the last header line, and stops headers without end (also 100 Continue without end)."""

    last = b""
    taken = 0
    in_headers = True

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line and, within the headers, count its bytes."""
        line = super().readline(-1 if size is None else size)
        if self.in_headers:
            self.last = line
            self.taken += len(line)
            if self.taken > _MAX_HEADER_BYTES:
                raise http.client.LineTooLong("headers")
        return line


class StrictResponse(http.client.HTTPResponse):
    """A response whose headers must end with an empty line, and whose connection must be silent afterwards.

    http.client takes the end of the connection for the end of the headers: half a Location would be followed. And
    http.client drops the reader's buffer together with the response. Surplus bytes of a server may stand there in part,
    and the other part would stand before the next answer.
    """

    def __init__(self, sock: socket.socket, *args: object, **kwargs: object) -> None:
        super().__init__(sock, *args, **kwargs)  # type: ignore[arg-type]  # http.client's own arguments, handed through
        self._sock = sock
        self._reader = self.fp = _HeaderReader(self.fp.detach())

    def begin(self) -> None:
        """Read status and headers.

        Raises:
            IncompleteRead: the connection ended within the headers.
        """
        super().begin()
        self._reader.in_headers = False
        if self._reader.last not in (b"\r\n", b"\n"):
            raise http.client.IncompleteRead(self._reader.last)

    def _close_conn(self) -> None:
        """Check the buffer before http.client drops it. The pool does not reuse a socket that was shut down."""
        with contextlib.suppress(OSError, ValueError):
            # No waiting: peek() on an empty buffer would otherwise block until the server sends or the deadline comes.
            self._sock.settimeout(0)
            if self.fp.peek(1):
                self._sock.shutdown(socket.SHUT_RDWR)
        super()._close_conn()  # type: ignore[misc]  # not in the stubs
