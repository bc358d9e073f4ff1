"""A client connection: reads requests, answers one after the other, and logs each."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from crawl_tasks.demo.access_log import LogEntry
from crawl_tasks.demo.app import DemoApp
from crawl_tasks.demo.forum import head
from crawl_tasks.demo.http_request import BadRequestError, DemoRequest, read_call


class HttpConnection(asyncio.Protocol):
    """A connection. `number` counts connections from 1, `connections` holds the open ones."""

    __slots__ = ("_app", "_buffer", "_connections", "_loop", "_number", "_running", "_transport", "_visit")

    def __init__(self, app: DemoApp, number: int, connections: set[HttpConnection]) -> None:
        self._app, self._number, self._connections = app, number, connections
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._visit: LogEntry | None = None
        self._running: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin. Called by the loop."""
        # create_server makes no other kind.
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End. A request under way is logged as aborted."""
        self._connections.discard(self)
        if self._running is not None:
            self._running.cancel()
        if self._visit is not None:
            self._leave(self._visit, is_aborted=True)

    def data_received(self, data: bytes) -> None:
        """Receive bytes. A request that arrives during another waits for that one."""
        self._buffer = self._buffer + data if self._buffer else data
        if self._visit is None:
            self._advance()

    def write(self, data: bytes) -> None:
        """Send, or queue while the client reads slowly."""
        if self._transport is not None:
            self._transport.write(data)

    def abort(self) -> None:
        """Close at once. Queued bytes are lost."""
        if self._transport is not None:
            self._transport.abort()

    def _advance(self) -> None:
        """Answer the requests in the buffer, up to the first that takes time."""
        while self._buffer and self._visit is None and self._transport and not self._transport.is_closing():
            try:
                parsed = read_call(self._buffer)
            except BadRequestError as error:
                self._refuse(error.status)
                return
            if parsed is None:
                return
            call, length = parsed
            self._buffer = self._buffer[length:]
            self._take(call)

    def _take(self, call: DemoRequest) -> None:
        """Answer a request, now or after the latency."""
        self._visit = self._app.journal.arrive(self._number, call.method, call.target)
        if self._app.latency_s:
            self._running = self._loop.call_later(self._app.latency_s, self._respond, call, self._visit, True)
        else:
            self._respond(call, self._visit, is_late=False)

    def _respond(self, call: DemoRequest, visit: LogEntry, is_late: bool) -> None:
        self._reply(call, visit, self._app.answer(call), is_late)

    def _reply(self, call: DemoRequest, visit: LogEntry, wire: bytes, is_late: bool) -> None:
        visit.status = int(wire[9:12])
        self._leave(visit)
        self._send(call, wire)
        # The timer called, not `_advance`: no loop is running that would answer the next request.
        if is_late:
            self._advance()

    def _send(self, call: DemoRequest, wire: bytes) -> None:
        if call.method == "HEAD":
            wire = wire[: wire.index(b"\r\n\r\n") + 4]
        if call.keeps:
            self.write(wire)
        else:
            self.write(wire.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            self._close()

    def _refuse(self, status: HTTPStatus) -> None:
        self.write(head(status, {"date": self._app.forum.date, "connection": "close"}, 0))
        self._close()

    def _leave(self, visit: LogEntry, *, is_aborted: bool = False) -> None:
        self._visit = None
        self._app.journal.leave(visit, is_aborted=is_aborted)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
