"""The forum behind a port of 127.0.0.1: HTTP/1.1 with kept connections, on one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from crawl_tasks.demo.connection import Connection
from crawl_tasks.demo.faults import Fault
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.house import House
from crawl_tasks.demo.journal import Entry, Journal
from crawl_tasks.demo.news import News

HOST = "127.0.0.1"
LAST_ROUNDS = 5  # of the loop: a connection just accepted needs three until it can be closed
_T = TypeVar("_T")


class DemoServer:
    """Serves a forum in a thread of its own (`with`, or `start` and `stop`), or in the caller's loop (`serve`).

    `port` is 0 for any free one; once the server runs it is the real one. Every response takes `latency_ms`
    longer; other connections are answered meanwhile. With a `token` there is a control desk (see House).
    The truth stands in `truth_file` from the start, and is renewed with each generation.
    """

    def __init__(
        self,
        forum: DemoForum,
        *,
        port: int = 0,
        latency_ms: float = 0.0,
        faults: Iterable[Fault] = (),
        log_file: Path | None = None,
        truth_file: Path | None = None,
        token: str = "",
    ) -> None:
        self.port = port
        self._house = House(forum, Journal(log_file), latency_ms / 1000, token, truth_file)
        self._house.set_faults(faults)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._failure: OSError | None = None

    @property
    def url(self) -> str:
        """The forum's origin, without a slash at its end."""
        return f"http://{HOST}:{self.port}"

    @property
    def log(self) -> tuple[Entry, ...]:
        """All requests that have ended so far."""
        return self._house.journal.entries

    def mutate(self) -> News:
        """Let the forum become its next generation, between two responses."""
        return self._on_loop(self._house.mutate)

    def set_faults(self, *faults: Fault) -> None:
        """Replace all faults, between two responses; none at all heals the forum."""
        self._on_loop(lambda: self._house.set_faults(faults))

    async def serve(self, end: asyncio.Event, ready: Callable[[], None]) -> None:
        """Serve until the event is set. Calls `ready` when the port is open.

        Raises:
            OSError: The port cannot be had.
        """
        loop = asyncio.get_running_loop()
        crowd: set[Connection] = set()
        numbers = iter(range(1, 2**62))
        server = await loop.create_server(
            lambda: Connection(self._house, next(numbers), crowd), HOST, self.port, backlog=1024
        )
        self.port = server.sockets[0].getsockname()[1]
        ready()
        await end.wait()
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())  # Server.close() forgets a connection that is just being accepted
        for _ in range(LAST_ROUNDS):
            for connection in tuple(crowd):
                connection.abort()
            await asyncio.sleep(0)
        server.close()
        await server.wait_closed()
        self._house.journal.close()

    def start(self) -> None:
        """Serve in a thread; return when the port is open.

        Raises:
            OSError: The port cannot be had.
        """
        is_ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(is_ready,), name="demo forum", daemon=True)
        self._thread.start()
        is_ready.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Close all connections and the port; wait until that is done. The log stays."""
        if self._thread is not None and self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join()
            self._thread = self._loop = None

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    def _run(self, is_ready: threading.Event) -> None:
        try:
            asyncio.run(self._serve_here(is_ready.set))
        except OSError as error:
            self._failure = error
        finally:
            is_ready.set()

    async def _serve_here(self, ready: Callable[[], None]) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        await self.serve(self._end, ready)

    def _on_loop(self, job: Callable[[], _T]) -> _T:
        """Do a job in the loop's thread, or here if the server does not run."""
        if self._loop is None:
            return job()

        async def run() -> _T:
            return job()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()
