"""Step 5, fetch: one handle of libcurl, and what its callbacks gather of a response."""

from __future__ import annotations

import select
from collections.abc import Mapping

import pycurl

from crawl_tasks.errors import CrawlError, DeadlineExceeded, RefusedAddress, TooLarge, Truncated, Unreachable
from crawl_tasks.fetch.client import Limits, RawResponse, check_ended, folded, left
from crawl_tasks.fetch.destination import Destination, Way
from crawl_tasks.fetch.turn import AT_ONCE, Turn

_CONNECTIONS_PER_HANDLE = 16
_IDLE_S = 60
_BUFFER_BYTES = 128 << 10
# Sockets remembered by a handle: more than it has connections, so that none in use is forgotten.
_SOCKETS = 4 * _CONNECTIONS_PER_HANDLE
# CURLE_TOO_LARGE, which pycurl does not name: a header line over 100 KB.
_E_TOO_LARGE = 100
# CURLE_PROXY, which it does not name either: a SOCKS proxy does not lead there.
_E_PROXY = 97
_NOT_CONNECTED = frozenset({pycurl.E_COULDNT_CONNECT, pycurl.E_COULDNT_RESOLVE_HOST, _E_PROXY})


class Transfer:
    """A handle and what its callbacks have gathered of the current response."""

    def __init__(self, ca_file: str) -> None:
        self._curl = pycurl.Curl()
        self._sockets: dict[int, int] = {}
        self._peers: tuple[str, ...] = ()
        self._proxy = ""
        self._turn: Turn = AT_ONCE
        self._set_up(ca_file)
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
        curl, self._turn = self._curl, turn
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" if value else f"{name};" for name, value in headers.items()])
        curl.setopt(pycurl.MAXFILESIZE_LARGE, 0 if limits.cut else limits.wire_bytes)
        self._peers = destination.way.addresses if destination.way else destination.addresses
        routes = _routes(destination)
        for tried, (peer, target) in enumerate(routes):
            self._forget(limits)
            milliseconds = max(1, int(left(deadline, f"asking {peer}") * 1000))
            curl.setopt(pycurl.TIMEOUT_MS, milliseconds)
            curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, milliseconds // (len(routes) - tried)))
            curl.setopt(pycurl.CONNECT_TO, [_connect_to(destination, target)] if destination.addresses else [])
            self._go_through(destination.way, peer)
            code, text = self._perform_clean(url, deadline)
            if code not in _NOT_CONNECTED and not (code == pycurl.E_OPERATION_TIMEDOUT and not self._connected()):
                break
        if code:
            self._explain(url, code, text)
        return self._response(url)

    def close(self) -> None:
        """Close the handle and its connections."""
        self._curl.close()

    def _set_up(self, ca_file: str) -> None:
        curl = self._curl
        options = {
            pycurl.NOSIGNAL: 1,
            pycurl.PROXY: "",
            pycurl.NOPROXY: "",
            pycurl.HTTPPROXYTUNNEL: 1,
            pycurl.HEADEROPT: pycurl.HEADER_SEPARATE,
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.FOLLOWLOCATION: 0,
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
            pycurl.HTTP09_ALLOWED: 0,
            pycurl.PATH_AS_IS: 1,
            pycurl.SSL_VERIFYPEER: 1,
            pycurl.SSL_VERIFYHOST: 2,
            pycurl.CAINFO: ca_file,
            pycurl.MAXCONNECTS: _CONNECTIONS_PER_HANDLE,
            pycurl.MAXAGE_CONN: _IDLE_S,
            pycurl.BUFFERSIZE: _BUFFER_BYTES,
            pycurl.TCP_NODELAY: 1,
            pycurl.PREREQFUNCTION: self._may_send,
            pycurl.HEADERFUNCTION: self._take_line,
            pycurl.WRITEFUNCTION: self._take_piece,
        }
        for option, value in options.items():
            curl.setopt(option, value)

    def _forget(self, limits: Limits) -> None:
        self._limits = limits
        self._forget_headers()
        self._is_connected = False
        self._pieces: list[bytes] = []
        self._size = 0
        self._error: CrawlError | None = None
        self._unclean = False

    def _forget_headers(self) -> None:
        self._lines: list[str] = []
        self._header_bytes = 0
        self._whole_headers = False
        self._status = 0

    def _go_through(self, way: Way | None, peer: str) -> None:
        """Name the proxy to libcurl, by the address that its name was found to have."""
        curl = self._curl
        place = "" if way is None else f"{way.proxy.kind}://{_bracketed(peer)}:{way.proxy.port}"
        if place == self._proxy:
            return
        self._proxy = place
        curl.setopt(pycurl.PROXY, place)
        if way is not None and (way.proxy.user or way.proxy.password):
            curl.setopt(pycurl.PROXYUSERNAME, way.proxy.user)
            curl.setopt(pycurl.PROXYPASSWORD, way.proxy.password)

    def _perform_clean(self, url: str, deadline: float) -> tuple[int, str]:
        """Perform; over a new connection where the old one held what nobody asked for. Nothing was sent over that."""
        code, text = self._perform()
        if self._unclean:
            self._forget(self._limits)
            milliseconds = max(1, int(left(deadline, f"asking {url} anew") * 1000))
            self._curl.setopt(pycurl.TIMEOUT_MS, milliseconds)
            self._curl.setopt(pycurl.FRESH_CONNECT, 1)
            code, text = self._perform()
            self._curl.setopt(pycurl.FRESH_CONNECT, 0)
        self._remember()
        return code, text

    def _remember(self) -> None:
        """Note which socket the connection has that is left open: its local port is all that `_may_send` is told."""
        descriptor = int(self._curl.getinfo(pycurl.ACTIVESOCKET))
        if descriptor >= 0:
            self._sockets[int(self._curl.getinfo(pycurl.LOCAL_PORT))] = descriptor
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
        self._forget_headers()  # what a proxy said
        self._is_connected = True
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

    def _perform(self) -> tuple[int, str]:
        try:
            self._curl.perform()
        except pycurl.error as error:
            return int(error.args[0]), str(error.args[-1])
        return 0, ""

    def _take_line(self, line: bytes) -> int | None:
        """Take one line of the headers; a status line begins them anew (1xx), what follows the body is dropped."""
        self._header_bytes += len(line)
        if self._header_bytes > self._limits.header_bytes:
            self._error = TooLarge(f"the response has more than {self._limits.header_bytes} bytes of headers")
            return -1
        if line.startswith(b"HTTP/"):
            self._lines.clear()
            self._whole_headers = False
            self._status = _status_in(line)
        elif line in (b"\r\n", b"\n"):
            self._whole_headers = True
        elif not self._whole_headers:
            self._lines.append(line.decode("latin-1"))
        return None

    def _take_piece(self, piece: bytes) -> int | None:
        self._pieces.append(piece)
        self._size += len(piece)
        return 0 if self._size > self._limits.wire_limit(self._status) else None

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
        if not self._is_connected or not self._whole_headers:
            raise TooLarge(said) if code == _E_TOO_LARGE else Unreachable(said)
        if 200 <= self._status < 300 and self._size <= self._limits.wire_bytes:
            raise TooLarge(said) if code == pycurl.E_FILESIZE_EXCEEDED else Truncated(said)

    def _response(self, url: str) -> RawResponse:
        if not self._whole_headers:
            raise Truncated(f"{url}: the connection ended within the headers")
        headers = folded(map(_split, self._lines), self._limits)
        limit = self._limits.wire_limit(self._status)
        if 200 <= self._status < 300 and not self._limits.cut and self._size > limit:
            raise TooLarge(f"the body has more than {limit} bytes")
        wire = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        return check_ended(RawResponse(self._status, headers, wire[:limit]))


def _routes(destination: Destination) -> list[tuple[str, str]]:
    """Give whom to connect to, and what is to be reached by that: the same, or beyond a proxy."""
    if destination.way is None:
        return [(address, address) for address in destination.addresses]
    return [(peer, target) for target in destination.targets for peer in destination.way.addresses]


def _connect_to(destination: Destination, target: str) -> str:
    return f"{_bracketed(destination.host)}:{destination.port}:{_bracketed(target)}:{destination.port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _has_news(descriptor: int) -> bool:
    """Say whether an idle connection has bytes to read or was closed."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _status_in(line: bytes) -> int:
    """Read the status of a status line; libcurl has refused what is none."""
    words = line.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def _split(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()
