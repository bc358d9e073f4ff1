"""The HTTP client: one request, one response, and the promises that hold for every library behind.

A client sends GET and POST, follows no redirect, keeps no cookie, reads no environment and no .netrc, and verifies TLS.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from crawl_tasks.errors import DeadlineExceeded, TooLarge, Truncated
from crawl_tasks.fetch.address_guard import Destination
from crawl_tasks.fetch.throttle import NO_THROTTLE, Throttle

# Bytes read of the body of an error, so that the connection can be used again.
DRAIN_BYTES = 64 << 10
# Origins whose connections are kept: more than the sites of a process, so that each site is connected to once.
MOST_ORIGINS = 1024


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


def separator(name: str) -> str:
    """Return the text between repeated headers: a comma, or a newline for Set-Cookie (RFC 9110, 5.3)."""
    return "\n" if name == "set-cookie" else ", "


def folded(pairs: Iterable[tuple[str, str]], limits: Limits) -> dict[str, str]:
    """Return header lines as a mapping: names in lower case, repeated ones joined (see `separator`).

    Raises:
        TooLarge: the headers are over the limit.
    """
    headers: dict[str, str] = {}
    size = 0
    for name, value in pairs:
        size += len(name) + len(value) + 4
        known = name.lower()
        headers[known] = f"{headers[known]}{separator(known)}{value}" if known in headers else value
    if size > limits.header_bytes:
        raise TooLarge(f"the response has more than {limits.header_bytes} bytes of headers")
    return headers


def declared_length(headers: Mapping[str, str]) -> int | None:
    """Return Content-Length in bytes, None for a missing or malformed one."""
    text = headers.get("content-length", "")
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
