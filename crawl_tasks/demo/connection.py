"""One client's connection: reads calls, answers them one after the other, notes them in the journal."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from crawl_tasks.demo.call import BadCallError, Call, read_call
from crawl_tasks.demo.faults import Fault
from crawl_tasks.demo.forum import head
from crawl_tasks.demo.havoc import PLAYED, SPOILING, play
from crawl_tasks.demo.house import House
from crawl_tasks.demo.journal import Visit


class Connection(asyncio.Protocol):
    """A connection; `number` counts connections from 1, `crowd` holds those that are open."""

    __slots__ = ("_buffer", "_crowd", "_house", "_loop", "_number", "_room", "_running", "_transport", "_visit")

    def __init__(self, house: House, number: int, crowd: set[Connection]) -> None:
        self._house, self._number, self._crowd = house, number, crowd
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._visit: Visit | None = None
        self._running: asyncio.TimerHandle | asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; called by the loop."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # create_server gives no other
        self._transport = transport
        self._crowd.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End; a call under way is noted as aborted."""
        self._crowd.discard(self)
        self._room.set()
        if self._running is not None:
            self._running.cancel()
        if self._visit is not None:
            self._leave(self._visit, is_aborted=True)

    def pause_writing(self) -> None:
        """The client reads slowly; called by the loop."""
        self._room.clear()

    def resume_writing(self) -> None:
        """The client has caught up; called by the loop."""
        self._room.set()

    def data_received(self, data: bytes) -> None:
        """Take what has come; a call that arrives during another waits its turn."""
        self._buffer = self._buffer + data if self._buffer else data
        if self._visit is None:
            self._advance()

    def write(self, data: bytes) -> None:
        """Send, or queue if the client reads slowly."""
        if self._transport is not None:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the queue is short."""
        await self._room.wait()

    def abort(self) -> None:
        """Close at once; what is queued is lost."""
        if self._transport is not None:
            self._transport.abort()

    def _advance(self) -> None:
        """Answer what is in the buffer, up to the first call that takes time."""
        while self._buffer and self._visit is None and self._transport and not self._transport.is_closing():
            try:
                found = read_call(self._buffer)
            except BadCallError as error:
                self._refuse(error.status)
                return
            if found is None:
                return
            call, length = found
            self._buffer = self._buffer[length:]
            self._take(call)

    def _take(self, call: Call) -> None:
        """Answer a call, now or after the latency."""
        reply = self._house.control(call)
        if reply is not None:
            self._send(call, reply)
            return
        self._visit = self._house.journal.arrive(self._number, call.method, call.target)
        if self._house.latency_s:
            self._running = self._loop.call_later(self._house.latency_s, self._respond, call, self._visit, True)
        else:
            self._respond(call, self._visit, is_late=False)

    def _respond(self, call: Call, visit: Visit, is_late: bool) -> None:
        wire, fault = self._house.answer(call)
        visit.status = int(wire[9:12])
        visit.fault = "" if fault is None else fault.kind.value
        if fault is not None and fault.kind in PLAYED and call.method == "GET":
            self._running = self._loop.create_task(self._misbehave(call, visit, fault, wire))
            return
        self._leave(visit)
        self._send(call, wire)
        if is_late:
            self._advance()

    async def _misbehave(self, call: Call, visit: Visit, fault: Fault, wire: bytes) -> None:
        await play(fault, wire, self)
        self._leave(visit)
        if fault.kind in SPOILING or not call.keeps:
            self._close()
        self._advance()

    def _send(self, call: Call, wire: bytes) -> None:
        if call.method == "HEAD":
            wire = wire[: wire.index(b"\r\n\r\n") + 4]
        if call.keeps:
            self.write(wire)
        else:
            self.write(wire.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            self._close()

    def _refuse(self, status: HTTPStatus) -> None:
        self.write(head(status, {"date": self._house.forum.date, "connection": "close"}, 0))
        self._close()

    def _leave(self, visit: Visit, *, is_aborted: bool = False) -> None:
        self._visit = None
        self._house.journal.leave(visit, is_aborted=is_aborted)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
