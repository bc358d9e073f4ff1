"""A transfer: one request by a libcurl handle, and the response that the callbacks collect."""

from __future__ import annotations

import select
import time

import pycurl

from crawl_tasks.errors import CrawlError, DeadlineExceeded, RefusedAddress, TooLarge, Truncated, Unreachable
from crawl_tasks.fetch.address_guard import Destination
from crawl_tasks.fetch.curl.handle import CONNECTIONS, Handle
from crawl_tasks.fetch.http_client import ClientRequest, Limits, RawResponse, check_ended, check_head, left, read_head
from crawl_tasks.fetch.throttle import NO_THROTTLE, Throttle

# Sockets remembered by a handle: more than it has connections, so that none in use is forgotten.
_SOCKETS = 4 * CONNECTIONS
# CURLE_TOO_LARGE, which pycurl does not name: a header line over 100 KB.
_E_TOO_LARGE = 100
# CURLE_PROXY, which it does not name either: a SOCKS proxy does not lead there.
_E_PROXY = 97
_NOT_CONNECTED = frozenset({pycurl.E_COULDNT_CONNECT, pycurl.E_COULDNT_RESOLVE_HOST, _E_PROXY})


class Transfer:
    """A libcurl handle and the current response, as far as the callbacks have collected one."""

    def __init__(self, ca_file: str) -> None:
        self._handle = Handle(ca_file, may_send=self._may_send, take_line=self._take_line, take_piece=self._take_piece)
        self._curl = self._handle.curl
        self._sockets: dict[int, int] = {}
        self._peers: tuple[str, ...] = ()
        self._turn: Throttle = NO_THROTTLE
        self._forget(Limits(0, 0))

    def send(self, sent: ClientRequest) -> RawResponse:
        """Try the addresses one after the other until one accepts. Each gets a share of the remaining time."""
        url, destination, limits = sent.url, sent.destination, sent.limits
        self._turn = sent.turn
        self._peers = destination.way.addresses if destination.way else destination.addresses
        # Without a limit where the body may be cut: libcurl would refuse a longer Content-Length outright.
        self._handle.set_request(url, sent.headers, 0 if limits.cut else limits.wire_bytes, sent.body)
        routes = _routes(destination)
        for tried, (peer, target) in enumerate(routes):
            self._forget(limits)
            self._handle.set_route(destination, peer, target)
            code, text = self._perform_clean(peer, sent.deadline, len(routes) - tried)
            # Only a failed connection moves on to the next address: after that the server may have seen the request.
            if code not in _NOT_CONNECTED and not (code == pycurl.E_OPERATION_TIMEDOUT and not self._connected()):
                break
        if code:
            self._explain(url, code, text)
        return self._response(url)

    def close(self) -> None:
        """Close the handle and its connections."""
        self._curl.close()

    def _forget(self, limits: Limits) -> None:
        self._limits = limits
        self._head = bytearray()
        self._pieces: list[bytes] = []
        self._size = 0
        self._room = limits.wire_limit(0)
        self._local_port = 0
        self._error: CrawlError | None = None
        self._unclean = False

    def _perform_clean(self, peer: str, deadline: float, untried: int) -> tuple[int, str]:
        """Perform the transfer, and again on a new connection if the old one held unread bytes and nothing was sent."""
        milliseconds = max(1, int(left(deadline, f"asking {peer}") * 1000))
        to_connect = max(1, milliseconds // untried)
        code, text = self._perform(milliseconds, to_connect)
        if self._unclean:
            self._forget(self._limits)
            milliseconds = max(1, int(left(deadline, f"asking {peer} anew") * 1000))
            self._curl.setopt(pycurl.FRESH_CONNECT, 1)
            code, text = self._perform(milliseconds, to_connect)
            self._curl.setopt(pycurl.FRESH_CONNECT, 0)
        self._remember()
        return code, text

    def _perform(self, milliseconds: int, to_connect: int) -> tuple[int, str]:
        began = time.monotonic()
        result = self._handle.perform(milliseconds, to_connect=to_connect)
        if sent_us := self._curl.getinfo(pycurl.POSTTRANSFER_TIME_T):
            self._turn.sent(began + sent_us / 1e6)
        return result

    def _remember(self) -> None:
        """Note the socket of the open connection by its local port: `_may_send` is told no more than the port."""
        descriptor = int(self._curl.getinfo(pycurl.ACTIVESOCKET)) if self._local_port else -1
        if descriptor >= 0:
            self._sockets[self._local_port] = descriptor
            if len(self._sockets) > _SOCKETS:
                del self._sockets[next(iter(self._sockets))]

    def _may_send(self, peer: str, _local: str, _port: int, local_port: int) -> int:
        """Refuse, before anything is sent, an unchecked address and a connection with unread bytes.

        libcurl 8.23 looks for unread bytes only on a connection that was idle for about a second (measured). Sooner, a
        response sent ahead would pass for the answer to the next request.
        """
        if peer not in self._peers:
            self._error = RefusedAddress(f"connected to {peer}, which is none of the addresses that were checked")
            return int(pycurl.PREREQFUNC_ABORT)
        # The proxy's own answer to CONNECT.
        self._head.clear()
        self._local_port = local_port
        descriptor = self._sockets.pop(local_port, None)
        if descriptor is not None and _has_news(descriptor):
            self._unclean = True
            return int(pycurl.PREREQFUNC_ABORT)
        try:
            self._turn.confirm()
        except CrawlError as error:
            # An exception in a callback ends in libcurl: carried past libcurl in an attribute.
            self._error = error
            return int(pycurl.PREREQFUNC_ABORT)
        return int(pycurl.PREREQFUNC_OK)

    def _take_line(self, line: bytes) -> int | None:
        """Collect one header line, also of an interim response and of the trailers."""
        head = self._head
        head += line
        try:
            check_head(len(head), self._limits)
        except TooLarge as error:
            self._error = error
            return -1
        return None

    def _take_piece(self, piece: bytes) -> int | None:
        """Collect a piece of the body. The status is read only for a body that is longer than any error's may be."""
        self._pieces.append(piece)
        self._size += len(piece)
        return 0 if self._size > self._room and self._is_too_much() else None

    def _is_too_much(self) -> bool:
        head = read_head(self._head)
        self._room = self._limits.wire_limit(head[0] if head else 0)
        return self._size > self._room

    def _connected(self) -> bool:
        return float(self._curl.getinfo(pycurl.CONNECT_TIME)) > 0

    def _explain(self, url: str, code: int, text: str) -> None:
        """Raise the error of ours for a result of libcurl. Return where the response is usable all the same."""
        message = f"{url}: {text[:300]} (libcurl {code})"
        if self._error is not None:
            raise self._error
        if code == pycurl.E_OPERATION_TIMEDOUT:
            raise DeadlineExceeded(message)
        if code == pycurl.E_URL_MALFORMAT:
            raise RefusedAddress(message)
        head = read_head(self._head) if self._local_port else None
        if head is None:
            raise TooLarge(message) if code == _E_TOO_LARGE else Unreachable(message)
        if 200 <= head[0] < 300 and self._size <= self._limits.wire_bytes:
            raise TooLarge(message) if code == pycurl.E_FILESIZE_EXCEEDED else Truncated(message)

    def _response(self, url: str) -> RawResponse:
        head = read_head(self._head)
        if head is None:
            raise Truncated(f"{url}: the connection ended within the headers")
        status, headers = head
        limit = self._limits.wire_limit(status)
        if self._size > limit and 200 <= status < 300 and not self._limits.cut:
            raise TooLarge(f"the body has more than {limit} bytes")
        return check_ended(RawResponse(status, headers, b"".join(self._pieces)[:limit]))


def _routes(destination: Destination) -> list[tuple[str, str]]:
    """Return pairs of peer and target: the peer is connected to, the target is the same or lies beyond the proxy."""
    if destination.way is None:
        return [(address, address) for address in destination.addresses]
    return [(peer, target) for target in destination.targets for peer in destination.way.addresses]


def _has_news(descriptor: int) -> bool:
    """Return whether an idle connection has bytes to read or was closed."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
