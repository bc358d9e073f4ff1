"""The HTTP server of the exporter: tornado's parser on one event loop, and threads that make the answers.

One connection carries one request and gets one answer. So no proxy can take a part of one visitor's request for the
answer to another's. A connection without a whole request costs no thread, and is closed where many wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest, ResponseStartLine
from tornado.iostream import IOStream, StreamClosedError

log = logging.getLogger(__name__)

REQUEST_S: Final = 10.0
"""Time in seconds within which the head of a request must come, and then its body."""
ANSWER_S: Final = 60.0
"""Time in seconds after which a connection is closed whose visitor does not take the answer."""
MOST_HEAD_BYTES: Final = 16_384
MOST_BODY_BYTES: Final = 4096
MOST_OPEN: Final = 500
"""Connections without a whole request. Where the system allows fewer files, a third of these."""
THREADS: Final = 8
MOST_WAITING: Final = 200
"""Requests that may wait for a thread. A thousand would be answered when nobody waits any more."""
PROBES: Final = frozenset({"/metrics", "/healthz"})
"""Paths with threads of their own: whoever watches the exporter gets an answer, whatever visitors do."""

HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP response."""

    body: str
    kind: str = HTML
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A whole request. `target` is path and query as they came, `headers` are without regard to case."""

    method: str
    target: str
    version: str
    headers: HTTPHeaders
    body: bytes


class _Pool:
    """Threads for some paths, with a bound on the requests that wait for one."""

    def __init__(self, name: str, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._open = 0

    def submit(self, work: Callable[[], HttpAnswer], then: Callable[[Future[HttpAnswer]], None]) -> bool:
        """Have an answer made, unless too many wait. `then` is called on the loop."""
        if self._open >= MOST_WAITING:
            return False
        self._open += 1
        future = self._threads.submit(work)
        loop = asyncio.get_running_loop()

        def end() -> None:
            self._open -= 1
            if not future.cancelled():
                then(future)

        # After the end of the loop nobody is there to answer.
        def call(_: object) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(end)

        future.add_done_callback(call)
        return True

    def close(self) -> None:
        """Begin no further work."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Server(HTTPServer):
    """Tornado's server, which keeps the connections that have sent no whole request, the oldest first."""

    def initialize(  # type: ignore[override]  # tornado makes servers of any arguments
        self, answer: Callable[[HTTPServerRequest], None]
    ) -> None:
        """Serve one request a connection, within limits of time and size."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most_open = min(MOST_OPEN, limit // 3) if limit > 0 else MOST_OPEN
        self._unheard: dict[IOStream, None] = {}
        super().initialize(
            answer,
            no_keep_alive=True,
            max_header_size=MOST_HEAD_BYTES,
            max_body_size=MOST_BODY_BYTES,
            idle_connection_timeout=REQUEST_S,
            body_timeout=REQUEST_S,
        )

    def handle_stream(self, stream: IOStream, address: tuple[str, int]) -> None:
        """Take a connection, and close the oldest one without a request where too many are open."""
        self._unheard[stream] = None
        while len(self._unheard) > self._most_open:
            oldest = next(iter(self._unheard))
            del self._unheard[oldest]
            oldest.close()
        super().handle_stream(stream, address)

    def heard(self, stream: IOStream) -> None:
        """Note that the request of a connection is whole."""
        self._unheard.pop(stream, None)


class WebServer:
    """A server on one address. `answer` runs in threads, and must not raise."""

    def __init__(self, address: tuple[str, int], answer: Callable[[HttpRequest], HttpAnswer]) -> None:
        """Open the port.

        Raises:
            OSError: the address cannot be had.
        """
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._socket = socket.create_server(address, family=family, backlog=1024)
        self._socket.setblocking(False)
        self.server_address: tuple[str, int] = self._socket.getsockname()[:2]
        self._answer = answer
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._is_over = threading.Event()
        # Tornado tells each malformed request, which strangers send as they like.
        logging.getLogger("tornado").setLevel(logging.WARNING)

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        """Serve until `shutdown`, or an interruption."""
        try:
            asyncio.run(self._serve())
        finally:
            self._is_over.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        pools = {True: _Pool("probe", 2), False: _Pool("page", THREADS)}
        server = _Server(partial(self._take, pools))
        server.add_socket(self._socket)
        self._server = server
        try:
            await self._stop.wait()
        finally:
            server.stop()
            for pool in pools.values():
                pool.close()

    def shutdown(self) -> None:
        """End `serve_forever` of another thread, and wait for its end."""
        if self._loop is None:
            self._stop.set()
        else:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        self._is_over.wait()

    def server_close(self) -> None:
        """Close the port."""
        self._socket.close()

    def _take(self, pools: dict[bool, _Pool], heard: HTTPServerRequest) -> None:
        """Answer a whole request: here where it is none that can be answered, else by a thread."""
        connection = heard.connection
        if connection is None:
            return
        stream: IOStream = connection.stream  # type: ignore[attr-defined]  # of HTTP/1, the only one there is
        self._server.heard(stream)
        asyncio.get_running_loop().call_later(ANSWER_S, stream.close)
        request = HttpRequest(heard.method or "", heard.uri or "", heard.version, heard.headers, heard.body)
        send = partial(_send, heard)
        if request.method in ("GET", "HEAD") and (request.body or _has_body(request.headers)):
            send(HttpAnswer("this request has a body, which no page takes\n", TEXT, HTTPStatus.BAD_REQUEST))
            return
        pool = pools[request.target.partition("?")[0] in PROBES]
        if not pool.submit(partial(self._answer, request), lambda done: send(done.result())):
            text = "too many requests wait; try again in some seconds\n"
            send(HttpAnswer(text, TEXT, HTTPStatus.SERVICE_UNAVAILABLE, (("Retry-After", "5"),)))


def _has_body(headers: HTTPHeaders) -> bool:
    return "Transfer-Encoding" in headers or headers.get("Content-Length", "0").strip("0") != ""


def _send(heard: HTTPServerRequest, answer: HttpAnswer) -> None:
    body = answer.body.encode("utf-8", "replace")
    headers = HTTPHeaders({"Content-Type": answer.kind, "Content-Length": str(len(body))})
    for name, value in answer.headers:
        headers.add(name, value)
    start = ResponseStartLine("HTTP/1.1", answer.status.value, answer.status.phrase)
    connection = heard.connection
    # A browser that closes its connection before the end of the answer is no error of ours.
    with contextlib.suppress(StreamClosedError, ConnectionError):
        if connection is not None:
            # The headers of HEAD are those of GET, without the body (RFC 9110 section 9.3.2).
            future = connection.write_headers(start, headers, b"" if heard.method == "HEAD" else body)
            future.add_done_callback(_hear_the_end)
            connection.finish()


def _hear_the_end(future: Future[None] | asyncio.Future[None]) -> None:
    if not future.cancelled():
        future.exception()
