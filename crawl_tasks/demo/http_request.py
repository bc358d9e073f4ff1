"""HTTP request parsing: bytes from a client into a request, as much of HTTP/1.1 as a crawler speaks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

MAX_HEAD_BYTES = 32_768
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"})
_TARGET = re.compile(r"[!-~]+")
_ABSOLUTE = re.compile(r"(?i)http://[^/?]*")


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """One request. `target` is path and query. `keeps` means that the connection stays open afterwards."""

    method: str
    target: str
    keeps: bool

    @property
    def path(self) -> str:
        """The target without the query."""
        return self.target.partition("?")[0]


class BadRequestError(Exception):
    """The bytes are no request that this server accepts. `status` is the reason."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


def read_call(buffer: bytes) -> tuple[DemoRequest, int] | None:
    """Return the first request in a buffer and its length in bytes, None for an incomplete one.

    Raises:
        BadRequestError: no further bytes can complete the request.
    """
    end = buffer.find(b"\r\n\r\n")
    if end < 0 or end > MAX_HEAD_BYTES:
        if len(buffer) > MAX_HEAD_BYTES:
            raise BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        return None
    line_end = buffer.find(b"\r\n")
    method, target, version = _request_line(buffer[:line_end])
    headers = buffer[line_end:end].lower()
    if b"\r\nhost:" not in headers and version == b"HTTP/1.1":
        raise BadRequestError(HTTPStatus.BAD_REQUEST)
    # Nothing here takes a body. Its end is not looked for: the connection closes.
    if b"\r\ncontent-length:" in headers or b"\r\ntransfer-encoding:" in headers:
        raise BadRequestError(HTTPStatus.METHOD_NOT_ALLOWED)
    return DemoRequest(method, target, version == b"HTTP/1.1" and b"\r\nconnection: close" not in headers), end + 4


def _request_line(line: bytes) -> tuple[str, str, bytes]:
    try:
        method, target, version = line.decode("ascii").split(" ")
    except ValueError:
        raise BadRequestError(HTTPStatus.BAD_REQUEST) from None
    if not target.startswith("/"):
        target = _ABSOLUTE.sub("", target, count=1)
    if version not in ("HTTP/1.1", "HTTP/1.0") or not target.startswith("/") or not _TARGET.fullmatch(target):
        raise BadRequestError(HTTPStatus.BAD_REQUEST)
    if method not in METHODS:
        raise BadRequestError(HTTPStatus.NOT_IMPLEMENTED)
    return method, target, version.encode()
