"""Step 5, fetch: one handle of libcurl, and how it is told what to do.

Options stay set while requests want the same: compared by value, so that nothing goes from one site to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pycurl

from crawl_tasks.fetch.destination import Destination, Way

CONNECTIONS = 16
_IDLE_S = 60
_BUFFER_BYTES = 128 << 10


class Handle:
    """A handle with its connections; one thread at a time uses it."""

    def __init__(
        self,
        ca_file: str,
        *,
        may_send: Callable[[str, str, int, int], int],
        take_line: Callable[[bytes], int | None],
        take_piece: Callable[[bytes], int | None],
    ) -> None:
        """Open a handle.

        Args:
            ca_file: certificates to trust.
            may_send: asked with the connection's two addresses and two ports before anything is sent.
            take_line: gets each line of the head.
            take_piece: gets the body piece by piece.
        """
        self.curl = pycurl.Curl()
        self._headers: dict[str, str] = {}
        self._most_bytes = 0
        self._aim: tuple[str, int, str] | None = None
        self._proxy = ""
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
            pycurl.MAXCONNECTS: CONNECTIONS,
            pycurl.MAXAGE_CONN: _IDLE_S,
            pycurl.BUFFERSIZE: _BUFFER_BYTES,
            pycurl.TCP_NODELAY: 1,
            pycurl.PREREQFUNCTION: may_send,
            pycurl.HEADERFUNCTION: take_line,
            pycurl.WRITEFUNCTION: take_piece,
        }
        for option, value in options.items():
            self.curl.setopt(option, value)

    def ask(self, url: str, headers: Mapping[str, str], most_bytes: int) -> None:
        """Say what is asked for next; a body that says it is larger than `most_bytes` is refused (0: none is)."""
        self.curl.setopt(pycurl.URL, url)
        if headers != self._headers:
            lines = [f"{name}: {value}" if value else f"{name};" for name, value in headers.items()]
            self._set_lines(pycurl.HTTPHEADER, lines)
            self._headers = dict(headers)
        if most_bytes != self._most_bytes:
            self.curl.setopt(pycurl.MAXFILESIZE_LARGE, most_bytes)
            self._most_bytes = most_bytes

    def lead(self, destination: Destination, peer: str, target: str) -> None:
        """Say where the next connection goes: to a peer, which is the target or the proxy that leads to it."""
        aim = (destination.host, destination.port, target) if destination.addresses else None
        if aim != self._aim:
            self._set_lines(pycurl.CONNECT_TO, [] if aim is None else [_connect_to(*aim)])
            self._aim = aim
        if destination.way is not None or self._proxy:
            self._go_through(destination.way, peer)

    def perform(self, milliseconds: int, *, to_connect: int) -> tuple[int, str]:
        """Send and receive; give libcurl's code and text, 0 and empty where all went well."""
        self.curl.setopt(pycurl.TIMEOUT_MS, milliseconds)
        self.curl.setopt(pycurl.CONNECTTIMEOUT_MS, to_connect)
        try:
            self.curl.perform()
        except pycurl.error as error:
            return int(error.args[0]), str(error.args[-1])
        return 0, ""

    def _set_lines(self, option: int, lines: list[str]) -> None:
        """Set an option to lines or, with none, back to nothing: pycurl leaves it as it is for an empty list."""
        if lines:
            self.curl.setopt(option, lines)
        else:
            self.curl.unsetopt(option)

    def _go_through(self, way: Way | None, peer: str) -> None:
        """Name the proxy to libcurl, by the address that its name was found to have."""
        place = "" if way is None else f"{way.proxy.kind}://{_bracketed(peer)}:{way.proxy.port}"
        if place == self._proxy:
            return
        self.curl.setopt(pycurl.PROXY, place)
        if way is not None and (way.proxy.user or way.proxy.password):
            self.curl.setopt(pycurl.PROXYUSERNAME, way.proxy.user)
            self.curl.setopt(pycurl.PROXYPASSWORD, way.proxy.password)
        self._proxy = place


def _connect_to(host: str, port: int, target: str) -> str:
    return f"{_bracketed(host)}:{port}:{_bracketed(target)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
