"""The HTTP client on `requests`: adapter and pool, under our own deadline, limits and addresses.

There is no Session: a crawler must not have cookies, redirects, hooks and lookups in the environment, and these make up
half of the cost of a request.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from collections import OrderedDict

import certifi
from requests import PreparedRequest, RequestException, Response
from requests import Timeout as RequestTimeout
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, IncompleteRead
from urllib3.exceptions import TimeoutError as LibraryTimeout
from urllib3.util import create_urllib3_context

from crawl_tasks.errors import DeadlineExceeded, FetchError, TooLarge, Truncated, Unreachable
from crawl_tasks.fetch.address_guard import Destination
from crawl_tasks.fetch.http_client import (
    MOST_ORIGINS,
    ClientRequest,
    Limits,
    RawResponse,
    check_declared,
    check_ended,
    check_head,
    declared_length,
    left,
)
from crawl_tasks.fetch.requests.pinned import Attempt, Current, PinnedConnection, PinnedSecureConnection, StrictResponse
from crawl_tasks.fetch.requests.watchdog import Watchdog
from crawl_tasks.proxy import Proxy

_PIECE = 64 << 10
# All errors known to come out of requests, urllib3 and http.client. A UnicodeError is a ValueError.
_ESCAPES = (RequestException, HTTPError, http.client.HTTPException, OSError, ValueError, AssertionError)


class RequestsClient:
    """Sends requests by `requests`. Keeps up to `threads` idle connections to each of the last 1,024 origins."""

    def __init__(self, *, threads: int = 32, ca_file: str | None = None) -> None:
        """Make the client.

        Args:
            threads: number of threads that use the client.
            ca_file: certificates to trust in place of certifi's.
        """
        self._current = Current()
        self._watchdog = Watchdog()
        self._adapter = _PinnedAdapter(self._current, threads, ca_file)

    def send(self, sent: ClientRequest) -> RawResponse:
        """Send a request. See `Client.send`."""
        request = PreparedRequest()
        headers = dict(sent.headers)
        if sent.body is not None:
            headers["Content-Length"] = str(len(sent.body))
        request.url, request.headers, request.body = sent.url, headers, sent.body  # type: ignore[assignment]  # ours alone
        request.method = "GET" if sent.body is None else "POST"
        seconds = left(sent.deadline, "asking")
        with self._watchdog.guard(sent.deadline) as guard:
            attempt = self._current.attempt = Attempt(sent, guard)
            try:
                raw = self._ask(request, seconds, attempt)
                answer = _read(raw, attempt.response, sent.limits)
            except (FetchError, *_ESCAPES) as error:
                if guard.expired:
                    raise _late(sent.url) from error
                if isinstance(error, FetchError):
                    raise
                raise _ours(sent.url, error) from error
        if guard.expired:
            raise _late(sent.url)
        return answer

    def close(self) -> None:
        """Close every idle connection."""
        self._adapter.close()

    def _ask(self, request: PreparedRequest, seconds: float, attempt: Attempt) -> BaseHTTPResponse:
        """Send once, and once more if the other side had closed an idle connection."""
        try:
            answer = self._adapter.send(request, stream=True, timeout=(seconds, seconds))
        except RequestException as error:
            if attempt.is_fresh or not isinstance(_cause(error), ConnectionError):
                raise
            answer = self._adapter.send(request, stream=True, timeout=(seconds, seconds))
        raw: BaseHTTPResponse = answer.raw
        return raw


class _PinnedAdapter(HTTPAdapter):
    """The adapter with pools of pinned connections, and without the parts that need a Session."""

    def __init__(self, current: Current, threads: int, ca_file: str | None) -> None:
        # The pools of the base class stay empty: theirs know hosts, ours know checked destinations.
        super().__init__(pool_connections=1, pool_maxsize=1)
        self._current = current
        self._threads = threads
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None
        self._pools: OrderedDict[tuple[str, str, int, Proxy | None], HTTPConnectionPool] = OrderedDict()
        self._lock = threading.Lock()

    def get_connection_with_tls_context(self, *_: object, **__: object) -> HTTPConnectionPool:
        """Return the pool of the current destination."""
        destination = self._current.attempt.sent.destination
        key = (destination.scheme, destination.host, destination.port, destination.proxy)
        with self._lock:
            pool = self._pools.get(key)
            if pool is None:
                pool = self._pools[key] = self._new_pool(destination)
                if len(self._pools) > MOST_ORIGINS:
                    self._pools.popitem(last=False)[1].close()
            else:
                self._pools.move_to_end(key)
        return pool

    def cert_verify(self, *_: object, **__: object) -> None:
        """Do nothing: the pool's TLS context verifies."""

    def request_url(self, request: PreparedRequest, proxies: object) -> str:
        """Return a placeholder: the connection sends the target of the attempt, as checked."""
        return "/"

    def build_response(self, req: PreparedRequest, resp: BaseHTTPResponse) -> Response:
        """Wrap a response without a look at its cookies."""
        response = Response()
        response.status_code = resp.status
        response.raw = resp
        return response

    def close(self) -> None:
        """Close every pool."""
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()

    def _new_pool(self, destination: Destination) -> HTTPConnectionPool:
        secure = destination.scheme == "https"
        kind = HTTPSConnectionPool if secure else HTTPConnectionPool
        further: dict[str, object] = {"ssl_context": self._tls_context()} if secure else {}
        pool = kind(destination.host, destination.port, maxsize=self._threads, current=self._current, **further)  # type: ignore[arg-type]  # for the connections
        pool.ConnectionCls = PinnedSecureConnection if secure else PinnedConnection
        return pool

    def _tls_context(self) -> ssl.SSLContext:
        """Return the TLS context. The certificates are loaded once, which takes 20 ms."""
        if self._tls is None:
            self._tls = create_urllib3_context()
            self._tls.load_verify_locations(self._ca_file or certifi.where())
        return self._tls


def _read(raw: BaseHTTPResponse, response: StrictResponse, limits: Limits) -> RawResponse:
    """Read a response in full. A response with unread bytes takes its connection along."""
    finished, headers = False, response.fields
    try:
        check_head(response.head_bytes, limits)
        limit = limits.wire_limit(raw.status)
        wanted = 200 <= raw.status < 300
        if wanted and not limits.cut:
            check_declared(headers, limit)
        wire = _wire(raw, declared_length(headers), limit, wanted)
        finished = len(wire) <= limit
        if wanted and not finished and not limits.cut:
            raise TooLarge(f"the body has more than {limit} bytes")
        return check_ended(RawResponse(raw.status, headers, wire[:limit]))
    finally:
        if not finished:
            raw.close()


def _wire(raw: BaseHTTPResponse, length: int | None, limit: int, wanted: bool) -> bytes:
    """Read up to one byte more than the limit. Only a wanted body must be complete."""
    pieces: list[bytes] = []
    size = 0
    try:
        while size <= limit and (piece := raw.read(min(length or _PIECE, limit + 1 - size), decode_content=False)):
            pieces.append(piece)
            size += len(piece)
    except _ESCAPES as error:
        # The socket's own timeout may end just before the watchdog acts: late, not cut.
        if wanted and isinstance(error, LibraryTimeout):
            raise
        if wanted:
            raise _Cut(str(error)) from error
        raw.close()
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class _Cut(OSError):
    """The connection broke after the headers."""


def _late(url: str) -> DeadlineExceeded:
    return DeadlineExceeded(f"{url} did not answer in full within the time of the attempt")


def _ours(url: str, error: Exception) -> FetchError:
    """Return the error of ours for an error of the library."""
    cause = _cause(error)
    message = f"{url}: {type(cause).__name__}: {str(cause)[:300]}"
    if isinstance(cause, (TimeoutError, LibraryTimeout, RequestTimeout)):
        return DeadlineExceeded(message)
    if isinstance(cause, (_Cut, IncompleteRead, http.client.IncompleteRead)):
        return Truncated(message)
    # http.client has no class for too many headers: a plain HTTPException "got more than 100 headers".
    if isinstance(cause, http.client.LineTooLong) or "got more than" in str(cause):
        return TooLarge(message)
    return Unreachable(message)


def _cause(error: BaseException) -> BaseException:
    """Return the innermost of the errors that the libraries wrap into one another's arguments."""
    while True:
        reason = getattr(error, "reason", None)
        inner = [value for value in (reason, *error.args[::-1]) if isinstance(value, BaseException)]
        if not inner:
            return error
        error = inner[0]
