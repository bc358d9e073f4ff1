"""The demo forum in a thread, for tests that ask it questions in their own process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Self, TypeVar

from crawl_tasks.demo.access_log import LogEntry
from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.http_server import DemoServer
from crawl_tasks.demo.mutation import Mutation

T = TypeVar("T")


class ThreadedForum(DemoServer):
    """Serves a forum in a thread of its own, by `with`, or by `start` and `stop`.

    with ThreadedForum(DemoForum(seed=1), latency_ms=20) as server:
        server.url, server.log, server.mutate()
    """

    def __init__(self, forum: DemoForum, **options: object) -> None:
        super().__init__(forum, **options)
        self._forum = forum
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._failure: OSError | None = None

    @property
    def log(self) -> tuple[LogEntry, ...]:
        """All requests that have ended so far."""
        return self._app.journal.entries

    def mutate(self) -> Mutation:
        """Let the forum become the next generation, between two responses."""
        return self._on_loop(self._mutate)

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

    async def _serve_here(self, ready: Callable[[], None]) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        await self.serve(self._end, ready)

    def _on_loop(self, job: Callable[[], T]) -> T:
        """Do a job in the loop's thread, or here if the server does not run."""
        if self._loop is None:
            return job()

        async def run() -> T:
            return job()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _mutate(self) -> Mutation:
        news = self._forum.mutate()
        self._app.write_truth()
        return news
