"""Step 5, fetch: one request by a handle of libcurl, and what its callbacks gather of the response."""

from __future__ import annotations

import select
import time
from collections.abc import Mapping

import pycurl

from crawl_tasks.errors import CrawlError, DeadlineExceeded, RefusedAddress, TooLarge, Truncated, Unreachable
from crawl_tasks.fetch.client import Limits, RawResponse, check_ended, left
from crawl_tasks.fetch.curl_handle import CONNECTIONS, Handle
from crawl_tasks.fetch.destination import Destination
from crawl_tasks.fetch.head import read_head
from crawl_tasks.fetch.turn import AT_ONCE, Turn

# Sockets remembered by a handle: more than it has connections, so that none in use is forgotten.
_SOCKETS = 4 * CONNECTIONS
# CURLE_TOO_LARGE, which pycurl does not name: a header line over 100 KB.
_E_TOO_LARGE = 100
# CURLE_PROXY, which it does not name either: a SOCKS proxy does not lead there.
_E_PROXY = 97
_NOT_CONNECTED = frozenset({pycurl.E_COULDNT_CONNECT, pycurl.E_COULDNT_RESOLVE_HOST, _E_PROXY})


class Transfer:
    """A handle and what its callbacks have gathered of the current response."""

    def __init__(self, ca_file: str) -> None:
        self._handle = Handle(ca_file, may_send=self._may_send, take_line=self._take_line, take_piece=self._take_piece)
        self._curl = self._handle.curl
        self._sockets: dict[int, int] = {}
        self._peers: tuple[str, ...] = ()
        self._turn: Turn = AT_ONCE
        self._forget(Limits(0, 0))

    def send(
        self,
        url: str,
        headers: Mapping[str, str],
        deadline: float,
        limits: Limits,
        destination: Destination,
        turn: Turn,
    ) -> RawResponse:
        """Ask the addresses in turn until one takes the connection; each gets its share of the time that is left."""
        self._turn = turn
        self._peers = destination.way.addresses if destination.way else destination.addresses
        self._handle.ask(url, headers, 0 if limits.cut else limits.wire_bytes)
        routes = _routes(destination)
        for tried, (peer, target) in enumerate(routes):
            self._forget(limits)
            self._handle.lead(destination, peer, target)
            code, text = self._perform_clean(peer, deadline, len(routes) - tried)
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
        """Perform; over a new connection where the old one held what nobody asked for. Nothing was sent over that."""
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
        """Note which socket the connection has that is left open: its local port is all that `_may_send` is told."""
        descriptor = int(self._curl.getinfo(pycurl.ACTIVESOCKET)) if self._local_port else -1
        if descriptor >= 0:
            self._sockets[self._local_port] = descriptor
            if len(self._sockets) > _SOCKETS:
                del self._sockets[next(iter(self._sockets))]

    def _may_send(self, peer: str, _local: str, _port: int, local_port: int) -> int:
        """Refuse, before anything is sent, an address that was not checked and a connection that is not clean.

        libcurl 8.23 looks for unread bytes only on a connection that was idle for about a second (measured), and
        would take a response sent ahead for the answer to the next request.
        """
        if peer not in self._peers:
            self._error = RefusedAddress(f"connected to {peer}, which is none of the addresses that were checked")
            return int(pycurl.PREREQFUNC_ABORT)
        self._head.clear()  # what a proxy said
        self._local_port = local_port
        descriptor = self._sockets.pop(local_port, None)
        if descriptor is not None and _has_news(descriptor):
            self._unclean = True
            return int(pycurl.PREREQFUNC_ABORT)
        try:
            self._turn.confirm()
        except CrawlError as error:  # libcurl hands none on
            self._error = error
            return int(pycurl.PREREQFUNC_ABORT)
        return int(pycurl.PREREQFUNC_OK)

    def _take_line(self, line: bytes) -> int | None:
        """Take one line of the headers, of an interim response or of the trailers."""
        head = self._head
        head += line
        if len(head) > self._limits.header_bytes:
            self._error = TooLarge(f"the response has more than {self._limits.header_bytes} bytes of headers")
            return -1
        return None

    def _take_piece(self, piece: bytes) -> int | None:
        """Take a piece of the body; what it may have depends on the status once it has more than any may have."""
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
        """Raise the error of ours that a result of libcurl means; return where the response is good in spite of it."""
        said = f"{url}: {text[:300]} (libcurl {code})"
        if self._error is not None:
            raise self._error
        if code == pycurl.E_OPERATION_TIMEDOUT:
            raise DeadlineExceeded(said)
        if code == pycurl.E_URL_MALFORMAT:
            raise RefusedAddress(said)
        head = read_head(self._head) if self._local_port else None
        if head is None:
            raise TooLarge(said) if code == _E_TOO_LARGE else Unreachable(said)
        if 200 <= head[0] < 300 and self._size <= self._limits.wire_bytes:
            raise TooLarge(said) if code == pycurl.E_FILESIZE_EXCEEDED else Truncated(said)

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
    """Give whom to connect to, and what is to be reached by that: the same, or beyond a proxy."""
    if destination.way is None:
        return [(address, address) for address in destination.addresses]
    return [(peer, target) for target in destination.targets for peer in destination.way.addresses]


def _has_news(descriptor: int) -> bool:
    """Say whether an idle connection has bytes to read or was closed."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
