"""The response body: content decoding, within limits and only for a complete stream."""

from __future__ import annotations

import zlib

from crawl_tasks.errors import BadEncoding, TooLarge, Truncated
from crawl_tasks.fetch.http_client import Limits

ACCEPTED = "gzip, deflate"

# HTML shrinks 5 to 50 times, while deflate can reach 1,032. Below the first number nobody is hurt.
_HARMLESS_BYTES = 1 << 20
_MAX_RATIO = 200
# RFC 1952 lets a gzip stream have any number of members. Empty ones of 20 bytes each would cost time without end.
_MAX_MEMBERS = 1_000
_PACKINGS = frozenset(
    ("gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz", "bzip2", "xz")
)
_PACKED = (b"\x1f\x8b", b"\x1f\x9d", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"x\x9c", b"x\xda")
_LOOK = 1024
_FEW_CONTROLS = 50
_TEXT = bytes(code for code in range(256) if code >= 32 or code in b"\0\t\n\v\f\r\x1b")
_PIECE = 64 << 10
_GZIP = 31
_ZLIB = 15
_RAW = -15


def decode(wire: bytes, encoding: str, limits: Limits) -> bytes:
    """Return a body with its content encoding undone.

    Raises:
        TooLarge: the decoded body is over the limit, or over the allowed ratio to the bytes received.
        Truncated: the stream ends before its end.
        BadEncoding: the encoding is not one that was asked for, or the bytes are not in that encoding.
    """
    words = [word for part in encoding.split(",") if (word := part.strip().lower()) not in ("", "identity")]
    if not wire or not words:
        return _within(wire, limits)
    named = words[0] if len(words) == 1 else ""
    if named in ("gzip", "x-gzip"):
        return _inflate(wire, _GZIP, limits)
    if named == "deflate":
        return _inflate(wire, _ZLIB if _has_zlib_header(wire) else _RAW, limits)
    # Browsers pass over words that name no encoding, such as `none` or `utf-8`.
    if not _PACKINGS.intersection(words) and not _looks_packed(wire):
        return _within(wire, limits)
    raise BadEncoding(f"the body is encoded as {encoding[:60]!r}; we asked for {ACCEPTED}")


def _within(body: bytes, limits: Limits) -> bytes:
    if len(body) <= limits.body_bytes:
        return body
    if limits.cut:
        return body[: limits.body_bytes]
    raise TooLarge(f"the body has more than {limits.body_bytes} bytes")


def _looks_packed(wire: bytes) -> bool:
    """Return whether a body is packed after all, by the first bytes or by control characters that no text has."""
    if wire.startswith(_PACKED):
        return True
    sample = wire[:_LOOK]
    # UTF-16 has a NUL in each letter of its markup, and no other control character.
    return len(sample.translate(None, _TEXT)) * _FEW_CONTROLS > len(sample)


def _has_zlib_header(wire: bytes) -> bool:
    """Return whether `deflate` means zlib (RFC 9110, 8.4.1.2) and not the raw stream that some servers send."""
    return wire[0] & 0x0F == 8 and int.from_bytes(wire[:2], "big") % 31 == 0


def _inflate(wire: bytes, window: int, limits: Limits) -> bytes:
    """Return all members of a stream, unpacked. Bytes behind the last member are padding."""
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
    raise BadEncoding(f"the gzip stream has more than {_MAX_MEMBERS} members")


def _member(wire: bytes, start: int, window: int, limit: int, *, into: bytearray) -> tuple[int, bool]:
    """Unpack one member, up to one byte over the limit. Return the next one's start and whether this is complete."""
    inflater = zlib.decompressobj(window)
    while start < len(wire) and not inflater.eof and len(into) <= limit:
        piece = wire[start : start + _PIECE]
        try:
            into += inflater.decompress(piece, limit + 1 - len(into))
        except zlib.error as error:
            raise BadEncoding(f"the body is not packed as its Content-Encoding says: {error}") from error
        start += len(piece) - len(inflater.unconsumed_tail) - len(inflater.unused_data)
    return start, inflater.eof and len(into) <= limit
