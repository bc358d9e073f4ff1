"""The demo forum's server with faults."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from crawl_tasks.demo.access_log import LogEntry
from crawl_tasks.demo.app import DemoApp
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.http_connection import HttpConnection
from crawl_tasks.demo.http_request import DemoRequest
from tests.faulty.faults import Fault, FaultPlan
from tests.faulty.injection import MOVED, PLAYED, SPOILING, play, wrong_answer
from tests.threaded_forum import ThreadedForum


class FaultyServer(ThreadedForum):
    """Serves a demo forum, and injects the faults that were set."""

    def __init__(self, forum: DemoForum, *, faults: Iterable[Fault] = (), **options: object) -> None:
        super().__init__(forum, **options)
        self._set(faults)

    def set_faults(self, *faults: Fault) -> None:
        """Replace all faults, between two responses. No faults at all heal the forum."""
        self._on_loop(lambda: self._set(faults))

    def pick(self, call: DemoRequest) -> Fault | None:
        """Return the fault that strikes a request, if any."""
        return self._plan.pick(call.path) if call.method in ("GET", "HEAD") else None

    def _set(self, faults: Iterable[Fault]) -> None:
        self._plan = FaultPlan(self._forum.seed, faults)

    def _connection(self, number: int, connections: set[HttpConnection]) -> HttpConnection:
        return FaultyConnection(self._app, number, connections, self)


class FaultyConnection(HttpConnection):
    """A connection on which some answers are wrong, and some go wrong over time."""

    def __init__(self, app: DemoApp, number: int, connections: set[HttpConnection], server: FaultyServer) -> None:
        super().__init__(app, number, connections)
        self._server = server
        self._room = asyncio.Event()
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and wake what waits for room."""
        self._room.set()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Stop writing while the client reads slowly. Called by the loop."""
        self._room.clear()

    def resume_writing(self) -> None:
        """Write again when the client has caught up. Called by the loop."""
        self._room.set()

    async def drain(self) -> None:
        """Wait until the queue is short."""
        await self._room.wait()

    def _respond(self, call: DemoRequest, visit: LogEntry, is_late: bool) -> None:
        fault = self._server.pick(call)
        right = DemoRequest(call.method, call.target.removeprefix(MOVED), call.keeps)
        visit.fault = fault.kind.value if fault else ""
        forum = self._app.forum
        wrong = wrong_answer(fault, call, forum.render(right.target)) if fault else None
        wire = self._app.aged(forum.pack(wrong)) if wrong else self._app.answer(right)
        if fault is not None and fault.kind in PLAYED and call.method == "GET":
            visit.status = int(wire[9:12])
            self._running = self._loop.create_task(self._misbehave(call, visit, fault, wire))
            return
        self._reply(call, visit, wire, is_late)

    async def _misbehave(self, call: DemoRequest, visit: LogEntry, fault: Fault, wire: bytes) -> None:
        await play(fault, wire, self)
        self._leave(visit)
        if fault.kind in SPOILING or not call.keeps:
            self._close()
        self._advance()
