"""Step 5, fetch: one request, one response. What an HTTP client of ours promises, whichever library is behind it.

A client follows no redirect, keeps no cookie, reads no environment and no .netrc, and verifies TLS.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from crawl_tasks.errors import DeadlineExceeded, TooLarge, Truncated
from crawl_tasks.fetch.destination import Destination
from crawl_tasks.fetch.turn import AT_ONCE, Turn

# What is read of the body of an answer that is not a page, so that its connection can be used again.
DRAIN_BYTES = 64 << 10


class Limits(NamedTuple):
    """How much of a response is taken. With `cut` a body over the limit is cut there instead of refused."""

    wire_bytes: int
    body_bytes: int
    header_bytes: int = 64 << 10
    cut: bool = False

    def wire_limit(self, status: int) -> int:
        """Say how many bytes of the body of such an answer may come over the wire."""
        return self.wire_bytes if 200 <= status < 300 else min(DRAIN_BYTES, self.wire_bytes)


class RawResponse(NamedTuple):
    """A response as it came: names of headers in lower case, `wire` still in its content encoding.

    Where the status is not 2xx, `wire` may be cut: it is not read for itself.
    """

    status: int
    headers: Mapping[str, str]
    wire: bytes


class Client(Protocol):
    """Sends one request. Thread-safe; belongs to the process that made it."""

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        deadline: float,
        limits: Limits,
        destination: Destination,
        turn: Turn = AT_ONCE,
    ) -> RawResponse:
        """Send a GET to one of the addresses of the destination and read the whole response.

        Args:
            url: normalised.
            headers: all that is sent besides Host.
            deadline: moment of `time.monotonic` by which the last byte must be here.
            limits: what is taken of the response.
            destination: where the url's host was found to be; nothing else is connected to.
            turn: asked when the connection is there, right before the request is sent.

        Raises:
            FetchError: of the kind that fits; nothing else escapes, but what `turn` raises.
        """
        ...

    def close(self) -> None:
        """Close every connection."""
        ...


def left(deadline: float, doing: str) -> float:
    """Give the seconds until a deadline.

    Raises:
        DeadlineExceeded: there are none.
    """
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise DeadlineExceeded(f"the time for this attempt was over before {doing}")
    return seconds


def folded(pairs: Iterable[tuple[str, str]], limits: Limits) -> dict[str, str]:
    """Put header lines into a mapping: names in lower case, repeated ones joined by commas.

    Raises:
        TooLarge: they are more than the limit.
    """
    headers: dict[str, str] = {}
    size = 0
    for name, value in pairs:
        size += len(name) + len(value) + 4
        known = name.lower()
        headers[known] = f"{headers[known]}, {value}" if known in headers else value
    if size > limits.header_bytes:
        raise TooLarge(f"the response has more than {limits.header_bytes} bytes of headers")
    return headers


def declared_length(headers: Mapping[str, str]) -> int | None:
    """Read Content-Length where it is a number; None where there is none that can be read."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def check_declared(headers: Mapping[str, str], limit: int) -> None:
    """Refuse a body before it is read when it says itself that it is too large.

    Raises:
        TooLarge: it does.
    """
    length = declared_length(headers)
    if length is not None and length > limit:
        raise TooLarge(f"the body is to have {length} bytes, more than the limit of {limit}")


def check_ended(response: RawResponse) -> RawResponse:
    """Give the response back, unless it may have been cut where libraries do not notice it.

    Without a length a body ends with the connection; where nothing came at all, the headers may have been cut.

    Raises:
        Truncated: nothing came.
    """
    headers = response.headers
    if (
        not response.wire
        and 200 <= response.status < 300
        and response.status not in (204, 205)
        and "content-length" not in headers
        and "transfer-encoding" not in headers
    ):
        raise Truncated(f"the connection ended after a status of {response.status}, without a body")
    return response
