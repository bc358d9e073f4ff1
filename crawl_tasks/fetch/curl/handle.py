"""A libcurl handle and its options.

An option stays set while requests want the same value. Values are compared, so that nothing leaks between sites.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pycurl

from crawl_tasks.fetch.address_guard import Destination, Route

CONNECTIONS = 32
_IDLE_S = 60
_BUFFER_BYTES = 128 << 10


class Handle:
    """A libcurl handle with its connections, for one thread at a time."""

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
            may_send: called before anything is sent, with the two addresses and the two ports of the connection.
            take_line: receives each line of the head.
            take_piece: receives the body piece by piece.
        """
        self.curl = pycurl.Curl()
        self._headers: dict[str, str] = {}
        self._most_bytes = 0
        self._aim = ""
        self._proxy = ""
        self._body: bytes | None = None
        options = {
            # libcurl may end slow name lookups by SIGALRM, which is not safe with threads.
            pycurl.NOSIGNAL: 1,
            # Empty, not unset: else libcurl uses the proxy of the environment (http_proxy).
            pycurl.PROXY: "",
            pycurl.NOPROXY: "",
            pycurl.HTTPPROXYTUNNEL: 1,
            # Not for the proxy: the site's headers, cookies included (the default only since libcurl 7.42.1).
            pycurl.HEADEROPT: pycurl.HEADER_SEPARATE,
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.FOLLOWLOCATION: 0,
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
            pycurl.HTTP09_ALLOWED: 0,
            # Without this libcurl resolves dots in a path, and asks for another address than the checked one.
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

    def set_request(self, url: str, headers: Mapping[str, str], most_bytes: int, body: bytes | None) -> None:
        """Set the URL, the headers, the greatest Content-Length that is accepted (in bytes, 0: any) and the body."""
        self.curl.setopt(pycurl.URL, url)
        if headers != self._headers:
            # "name;" sends a header without a value, while "name:" would remove the header (libcurl's syntax).
            lines = [f"{name}: {value}" if value else f"{name};" for name, value in headers.items()]
            self._set_lines(pycurl.HTTPHEADER, lines)
            self._headers = dict(headers)
        if most_bytes != self._most_bytes:
            self.curl.setopt(pycurl.MAXFILESIZE_LARGE, most_bytes)
            self._most_bytes = most_bytes
        if body != self._body:
            if body is None:
                self.curl.setopt(pycurl.HTTPGET, 1)
            else:
                self.curl.setopt(pycurl.POSTFIELDS, body)
            self._body = body

    def set_route(self, destination: Destination, peer: str, target: str) -> None:
        """Set the route of the next connection: `peer` is the target itself or the proxy that leads to the target."""
        port, aim = destination.port, ""
        if destination.addresses:
            aim = f"{_bracketed(destination.host)}:{port}:{_bracketed(target)}:{port}"
        if aim != self._aim:
            self._set_lines(pycurl.CONNECT_TO, [aim] if aim else [])
            self._aim = aim
        if destination.way is not None or self._proxy:
            self._go_through(destination.way, peer)

    def perform(self, milliseconds: int, *, to_connect: int) -> tuple[int, str]:
        """Send and receive. Return libcurl's code and text, 0 and empty for success."""
        self.curl.setopt(pycurl.TIMEOUT_MS, milliseconds)
        self.curl.setopt(pycurl.CONNECTTIMEOUT_MS, to_connect)
        try:
            self.curl.perform()
        except pycurl.error as error:
            return int(error.args[0]), str(error.args[-1])
        return 0, ""

    def _set_lines(self, option: int, lines: list[str]) -> None:
        """Set an option to lines, or unset the option for none: pycurl ignores an empty list."""
        if lines:
            self.curl.setopt(option, lines)
        else:
            self.curl.unsetopt(option)

    def _go_through(self, way: Route | None, peer: str) -> None:
        """Set the proxy, by its resolved address in place of its name."""
        place = "" if way is None else f"{way.proxy.kind}://{_bracketed(peer)}:{way.proxy.port}"
        if place == self._proxy:
            return
        self.curl.setopt(pycurl.PROXY, place)
        # The client keeps the handles of each proxy apart: no password of another proxy is left in this handle.
        if way is not None and (way.proxy.user or way.proxy.password):
            self.curl.setopt(pycurl.PROXYUSERNAME, way.proxy.user)
            self.curl.setopt(pycurl.PROXYPASSWORD, way.proxy.password)
        self._proxy = place


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
