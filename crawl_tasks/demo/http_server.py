"""The HTTP server of the forum on 127.0.0.1: HTTP/1.1 with kept connections, on one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from crawl_tasks.demo.access_log import AccessLog, LogEntry
from crawl_tasks.demo.app import DemoApp
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.http_connection import HttpConnection
from crawl_tasks.demo.mutation import Mutation

HOST = "127.0.0.1"
# Rounds of the loop: a connection just accepted needs three until it can be closed.
LAST_ROUNDS = 5
_T = TypeVar("_T")


class DemoServer:
    """Serves a forum in a thread of its own (`with`, or `start` and `stop`), or in the caller's loop (`serve`).

    `port` is 0 for any free one, and the real one once the server runs. Every response takes `latency_ms` longer, while
    other connections are answered. The truth stands in `truth_file` from the start, and is written anew with each
    generation.
    """

    def __init__(
        self,
        forum: DemoForum,
        *,
        port: int = 0,
        latency_ms: float = 0.0,
        log_file: Path | None = None,
        truth_file: Path | None = None,
    ) -> None:
        self.port = port
        self._app = DemoApp(forum, AccessLog(log_file), latency_ms / 1000, truth_file)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._failure: OSError | None = None

    @property
    def url(self) -> str:
        """The forum's origin, without a slash at the end."""
        return f"http://{HOST}:{self.port}"

    @property
    def log(self) -> tuple[LogEntry, ...]:
        """All requests that have ended so far."""
        return self._app.journal.entries

    def mutate(self) -> Mutation:
        """Let the forum become the next generation, between two responses."""
        return self._on_loop(self._app.mutate)

    async def serve(self, end: asyncio.Event, ready: Callable[[], None]) -> None:
        """Serve until the event is set. Calls `ready` when the port is open.

        Raises:
            OSError: The port cannot be had.
        """
        loop = asyncio.get_running_loop()
        connections: set[HttpConnection] = set()
        numbers = iter(range(1, 2**62))
        server = await loop.create_server(
            lambda: self._connection(next(numbers), connections), HOST, self.port, backlog=1024
        )
        # With port 0 only the socket knows the real one.
        self.port = server.sockets[0].getsockname()[1]
        ready()
        await end.wait()
        for listener in server.sockets:
            # Server.close() forgets a connection that is just being accepted.
            loop.remove_reader(listener.fileno())
        for _ in range(LAST_ROUNDS):
            for connection in tuple(connections):
                connection.abort()
            await asyncio.sleep(0)
        server.close()
        await server.wait_closed()
        self._app.journal.close()

    def start(self) -> None:
        """Serve in a thread. Return when the port is open.

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
        """Close all connections and the port, and wait for the end of the thread. The log stays."""
        if self._thread is not None and self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join()
            self._thread = self._loop = None

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def _run(self, is_ready: threading.Event) -> None:
        try:
            asyncio.run(self._serve_here(is_ready.set))
        except OSError as error:
            self._failure = error
        finally:
            is_ready.set()

    def _connection(self, number: int, connections: set[HttpConnection]) -> HttpConnection:
        return HttpConnection(self._app, number, connections)

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
