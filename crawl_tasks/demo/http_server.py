"""The HTTP server of the forum on 127.0.0.1: HTTP/1.1 with kept connections, on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from crawl_tasks.demo.access_log import AccessLog
from crawl_tasks.demo.app import DemoApp
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.http_connection import HttpConnection

HOST = "127.0.0.1"
# Rounds of the loop: a connection just accepted needs three until it can be closed.
LAST_ROUNDS = 5


class DemoServer:
    """Serves a forum in the caller's loop.

    `port` is 0 for any free one, and the real one once the server runs. Every response takes `latency_ms` longer, while
    other connections are answered. The truth is in `truth_file` from the start.
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

    @property
    def url(self) -> str:
        """The forum's origin, without a slash at the end."""
        return f"http://{HOST}:{self.port}"

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

    def _connection(self, number: int, connections: set[HttpConnection]) -> HttpConnection:
        return HttpConnection(self._app, number, connections)
