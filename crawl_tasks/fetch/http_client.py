"""The HTTP client: one request, one response, and the promises that hold for every library behind.

A client sends GET and POST, follows no redirect, keeps no cookie, reads no environment and no .netrc, and verifies TLS.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from crawl_tasks.errors import DeadlineExceeded, TooLarge, Truncated
from crawl_tasks.fetch.address_guard import Destination
from crawl_tasks.fetch.throttle import NO_THROTTLE, Throttle

# Bytes read of the body of an error, so that the connection can be used again.
DRAIN_BYTES = 64 << 10
# Origins whose connections are kept: more than the sites of a process, so that each site is connected to once.
MOST_ORIGINS = 1024
_FOLD = re.compile("\n[ \t]+")


class Limits(NamedTuple):
    """The largest response that is accepted, in bytes. With `cut` a longer body is cut there instead of refused."""

    wire_bytes: int
    body_bytes: int
    header_bytes: int = 64 << 10
    cut: bool = False

    def wire_limit(self, status: int) -> int:
        """Return the limit of bytes on the wire for the body of an answer with that status."""
        return self.wire_bytes if 200 <= status < 300 else min(DRAIN_BYTES, self.wire_bytes)


class ClientRequest(NamedTuple):
    """A request with the terms of sending. A `body` makes the request a POST.

    The `url` is normalised, the `headers` are all besides Host. `deadline` is the moment of `time.monotonic` by which
    the last byte of the response must be here. No address beside those of `destination` is connected to. The throttle
    `turn` is asked when the connection is there, right before the request is sent.
    """

    url: str
    headers: Mapping[str, str]
    deadline: float
    limits: Limits
    destination: Destination
    turn: Throttle = NO_THROTTLE
    body: bytes | None = None


class RawResponse(NamedTuple):
    """A response as received: header names in lower case, `wire` still in the content encoding.

    `wire` may be cut where the status is not 2xx: nobody needs that body.
    """

    status: int
    headers: Mapping[str, str]
    wire: bytes


class Client(Protocol):
    """Sends one request. Thread-safe. Belongs to the process that made the client."""

    def send(self, sent: ClientRequest) -> RawResponse:
        """Send a request to one of the addresses of the destination and read the whole response.

        Raises:
            FetchError: a subclass for each kind of failure. Nothing else escapes, except the errors of `turn`.
        """
        ...

    def close(self) -> None:
        """Close every connection."""
        ...


def left(deadline: float, doing: str) -> float:
    """Return the seconds until a deadline.

    Raises:
        DeadlineExceeded: none are left.
    """
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise DeadlineExceeded(f"the time for this attempt was over before {doing}")
    return seconds


def read_head(raw: bytes | bytearray) -> tuple[int, dict[str, str]] | None:
    """Return status and headers of the last head, None for a head without the empty line at the end.

    Names of headers are in lower case. Repeated headers are joined by a comma, Set-Cookie by a newline (RFC 9110, 5.3).

    Args:
        raw: all lines as received: interim responses (1xx) before, trailers behind.
    """
    text = raw.decode("latin-1").replace("\r\n", "\n")
    front, is_whole, _ = text[text.rfind("\nHTTP/") + 1 :].partition("\n\n")
    if not is_whole:
        return None
    # A line that begins with a blank goes on with the header before (RFC 9112, 5.2).
    first, *lines = _FOLD.sub(" ", front).split("\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        if name in headers:
            value = headers[name] + ("\n" if name == "set-cookie" else ", ") + value
        headers[name] = value
    # Both clients let through no status line of another shape.
    status = first[9:12]
    return int(status) if status.isdecimal() else 0, headers


def check_head(size: int, limits: Limits) -> None:
    """Refuse a response by the bytes of its headers.

    Raises:
        TooLarge: they are over the limit.
    """
    if size > limits.header_bytes:
        raise TooLarge(f"the response has more than {limits.header_bytes} bytes of headers")


def declared_length(headers: Mapping[str, str]) -> int | None:
    """Return Content-Length in bytes, None for a missing or malformed one."""
    # Some servers send the header twice, with the same number.
    text = headers.get("content-length", "").partition(",")[0].rstrip()
    # Up to 18 digits: a number that fits into 64 bits.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def check_declared(headers: Mapping[str, str], limit: int) -> None:
    """Refuse a body before it is read, by its declared length.

    Raises:
        TooLarge: the length is over the limit.
    """
    length = declared_length(headers)
    if length is not None and length > limit:
        raise TooLarge(f"the body is to have {length} bytes, more than the limit of {limit}")


def check_ended(response: RawResponse) -> RawResponse:
    """Return the response, unless a cut may have gone unnoticed by the library.

    Without a length, a body ends with the connection. An empty one may mean that the headers were cut.

    Raises:
        Truncated: the body is empty and has no declared length.
    """
    headers = response.headers
    if (
        not response.wire
        and 200 <= response.status < 300
        # These two have no body (RFC 9110, 15.3.5 and 15.3.6).
        and response.status not in (204, 205)
        and "content-length" not in headers
        and "transfer-encoding" not in headers
    ):
        raise Truncated(f"the connection ended after a status of {response.status}, without a body")
    return response
