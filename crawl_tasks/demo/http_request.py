"""HTTP request parsing: bytes from a client into a request, as much of HTTP/1.1 as a crawler speaks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

MAX_HEAD_BYTES = 32_768
MAX_BODY_BYTES = 1_048_576
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"})
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,12})[ \t]*(?=\r\n|$)")
_TOKEN = re.compile(rb"(?i)\r\nx-demo-token:[ \t]*([!-~]*)")
_TARGET = re.compile(r"[!-~]+")
_ABSOLUTE = re.compile(r"(?i)http://[^/?]*")


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """One request. `target` is path and query. `keeps` means that the connection stays open afterwards."""

    method: str
    target: str
    keeps: bool
    token: str = ""
    body: bytes = b""

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
    raw = buffer[line_end:end]
    headers = raw.lower()
    if b"\r\nhost:" not in headers and version == b"HTTP/1.1":
        raise BadRequestError(HTTPStatus.BAD_REQUEST)
    keeps = version == b"HTTP/1.1" and b"\r\nconnection: close" not in headers
    # The usual request: without a body, nothing else needs a search.
    if method in ("GET", "HEAD") and b"content-length" not in headers and b"transfer-encoding" not in headers:
        token = _TOKEN.search(raw) if b"x-demo-token" in headers else None
        return DemoRequest(method, target, keeps, token[1].decode() if token else ""), end + 4
    stop = end + 4 + _body_length(headers)
    if len(buffer) < stop:
        return None
    token = _TOKEN.search(raw)
    return DemoRequest(method, target, keeps, token[1].decode() if token else "", buffer[end + 4 : stop]), stop


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


def _body_length(headers: bytes) -> int:
    if b"\r\ntransfer-encoding:" in headers:
        raise BadRequestError(HTTPStatus.NOT_IMPLEMENTED)
    found = _LENGTH.findall(headers)
    # RFC 9112, 6.3: lengths that contradict each other would put the next request in the wrong place.
    if len(found) != headers.count(b"\r\ncontent-length:") or len(set(found)) > 1:
        raise BadRequestError(HTTPStatus.BAD_REQUEST)
    length = int(found[0]) if found else 0
    if length > MAX_BODY_BYTES:
        raise BadRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return length
