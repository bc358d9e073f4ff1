"""Step 5, fetch: from the bytes on the wire to the bytes of the page, within limits and only when whole."""

from __future__ import annotations

import zlib

from crawl_tasks.errors import TooLarge, Truncated, Undecodable
from crawl_tasks.fetch.client import Limits

ACCEPTED = "gzip, deflate"

# HTML packs 5 to 50 times; deflate can do 1,032. Below the first number nobody is hurt.
_HARMLESS_BYTES = 1 << 20
_MAX_RATIO = 200
_MAX_MEMBERS = 1_000
_PIECE = 64 << 10
_GZIP = 31
_ZLIB = 15
_RAW = -15


def decode(wire: bytes, encoding: str, limits: Limits) -> bytes:
    """Undo the content encoding.

    Raises:
        TooLarge: more comes out than the limit allows, or far more than went in.
        Truncated: the stream ends before its end.
        Undecodable: an encoding we did not ask for, or not in fact that encoding.
    """
    named = encoding.strip().lower()
    if not wire or named in ("", "identity"):
        return _within(wire, limits)
    if named in ("gzip", "x-gzip"):
        return _inflate(wire, _GZIP, limits)
    if named == "deflate":
        return _inflate(wire, _ZLIB if _has_zlib_header(wire) else _RAW, limits)
    raise Undecodable(f"the body is encoded as {encoding[:60]!r}; we asked for {ACCEPTED}")


def _within(body: bytes, limits: Limits) -> bytes:
    if len(body) <= limits.body_bytes:
        return body
    if limits.cut:
        return body[: limits.body_bytes]
    raise TooLarge(f"the body has more than {limits.body_bytes} bytes")


def _has_zlib_header(wire: bytes) -> bool:
    """Tell deflate as the RFC means it from the raw stream that some servers send."""
    return wire[0] & 0x0F == 8 and int.from_bytes(wire[:2], "big") % 31 == 0


def _inflate(wire: bytes, window: int, limits: Limits) -> bytes:
    """Unpack all members of a stream; what follows the last one is padding."""
    limit = min(limits.body_bytes, max(_HARMLESS_BYTES, _MAX_RATIO * len(wire)))
    body = bytearray()
    start = 0
    for _ in range(_MAX_MEMBERS):
        start, whole = _member(wire, start, window, limit, into=body)
        if not whole and limits.cut and (len(body) > limit or len(wire) >= limits.wire_bytes):
            return bytes(body[:limit])
        if len(body) > limit:
            raise TooLarge(f"{len(wire)} packed bytes unpack to more than {limit}")
        if not whole:
            raise Truncated("the packed body ends in its middle: the connection was cut, or a cache is broken")
        if window != _GZIP or wire[start : start + 2] != b"\x1f\x8b":
            return bytes(body)
    raise Undecodable(f"the gzip stream has more than {_MAX_MEMBERS} members")


def _member(wire: bytes, start: int, window: int, limit: int, *, into: bytearray) -> tuple[int, bool]:
    """Unpack one member, at most one byte over the limit; say where the next one begins and if this one is whole."""
    inflater = zlib.decompressobj(window)
    while start < len(wire) and not inflater.eof and len(into) <= limit:
        piece = wire[start : start + _PIECE]
        try:
            into += inflater.decompress(piece, limit + 1 - len(into))
        except zlib.error as error:
            raise Undecodable(f"the body is not packed as its Content-Encoding says: {error}") from error
        start += len(piece) - len(inflater.unconsumed_tail) - len(inflater.unused_data)
    return start, inflater.eof and len(into) <= limit
