"""Answers of a server that misbehaves, with the error that fits each, and odd answers that hold a whole page."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

from crawl_tasks.errors import (
    AccessDenied,
    BadEncoding,
    BadRedirect,
    BadStatus,
    DeadlineExceeded,
    FetchError,
    Gone,
    RefusedAddress,
    ServerError,
    SlowDown,
    TooLarge,
    Truncated,
    Unreachable,
)
from tests.unit.hostile_server import Visit, not_found, page, raw, redirect

PAGE = b"<html><body>" + b"<p>a post</p>" * 200 + b"</body></html>"
PACKED = gzip.compress(PAGE)
OK = b"HTTP/1.1 200 OK\r\n"


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


GOOD = {
    "plain": page(PAGE),
    "gzip": page(PACKED, Content_Encoding="gzip"),
    "x-gzip in capitals": page(PACKED, Content_Encoding="X-GZIP"),
    "gzip of many members": page(gzip.compress(PAGE[:99]) + gzip.compress(PAGE[99:]), Content_Encoding="gzip"),
    "gzip with padding": page(PACKED + b"\0" * 512, Content_Encoding="gzip"),
    "deflate as the RFC has it": page(zlib.compress(PAGE), Content_Encoding="deflate"),
    "deflate as servers have it": page(zlib.compress(PAGE)[2:-4], Content_Encoding="deflate"),
    "identity": page(PAGE, Content_Encoding="identity"),
    "chunked": raw(OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(PAGE[:7], PAGE[7:]), keep=True),
    "chunked with trailer": raw(
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(PAGE, end=b"0\r\nContent-Encoding: br\r\n\r\n"), keep=True
    ),
    "chunked gzip": raw(
        OK + b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n" + chunked(PACKED[:9], PACKED[9:]),
        keep=True,
    ),
    "until the end of the connection": raw(OK + b"\r\n" + PAGE),
    "HTTP/1.0": raw(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE),
    "no reason phrase": raw(b"HTTP/1.1 200\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE, keep=True),
    "bare line feeds": raw(b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % len(PAGE) + PAGE),
    "a few 100 Continue first": raw(
        b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 3 + OK + b"Content-Length: %d\r\n\r\n" % len(PAGE) + PAGE, keep=True
    ),
    "early hints first": raw(
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + OK + b"Content-Length: %d\r\n\r\n" % len(PAGE) + PAGE,
        keep=True,
    ),
    "a length twice, folded": raw(
        OK + b"Content-Length:\r\n  %d\r\nContent-Length: %d\r\n\r\n" % (len(PAGE), len(PAGE)) + PAGE, keep=True
    ),
    "connection closed after the body": page(PAGE, Connection="close"),
    "no encoding by another name": page(PAGE, Content_Encoding="none"),
    "203": page(PAGE, "203 Non-Authoritative Information"),
}

BAD: dict[str, tuple[Callable[[Visit], None], type[FetchError] | tuple[type[FetchError], ...]]] = {
    "hangs": (Visit.hang, DeadlineExceeded),
    "six encodings": (page(PAGE, Content_Encoding="gzip, gzip, gzip, gzip, gzip, gzip"), BadEncoding),
    "drips the status line": (lambda visit: visit.drip(b"HTTP/1.1 200 OK "), DeadlineExceeded),
    "drips headers": (lambda visit: (visit.send(OK), visit.drip(b"X: aaaa\r\n"))[0], DeadlineExceeded),
    "hangs within the headers": (lambda visit: (visit.send(OK), visit.hang())[0], DeadlineExceeded),
    "drips a body of known length": (
        lambda visit: (visit.send(OK + b"Content-Length: 9999\r\n\r\n"), visit.drip(b"a"))[0],
        DeadlineExceeded,
    ),
    "drips a body until its end": (lambda visit: (visit.send(OK + b"\r\n"), visit.drip(b"a"))[0], DeadlineExceeded),
    "drips chunks": (
        lambda visit: (visit.send(OK + b"Transfer-Encoding: chunked\r\n\r\n"), visit.drip(b"1\r\na\r\n"))[0],
        DeadlineExceeded,
    ),
    "hangs within the body": (
        lambda visit: (visit.send(OK + b"Content-Length: 100\r\n\r\nabc"), visit.hang())[0],
        DeadlineExceeded,
    ),
    "100 Continue for ever": (
        lambda visit: visit.drip(b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
        DeadlineExceeded,
    ),
    "endless body": (
        lambda visit: (visit.send(OK + b"\r\n"), visit.flood(b"a" * 65536))[0],
        TooLarge,
    ),
    "endless chunks": (
        lambda visit: (
            visit.send(OK + b"Transfer-Encoding: chunked\r\n\r\n"),
            visit.flood(b"8000\r\n" + b"a" * 0x8000 + b"\r\n"),
        )[0],
        TooLarge,
    ),
    "one endless chunk": (
        lambda visit: (
            visit.send(OK + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n"),
            visit.flood(b"a" * 65536),
        )[0],
        TooLarge,
    ),
    "says it is too large": (raw(OK + b"Content-Length: 99999999999\r\n\r\n"), TooLarge),
    "large plain body": (page(b"a" * 300_000), TooLarge),
    "gzip bomb": (page(gzip.compress(b"\0" * 50_000_000), Content_Encoding="gzip"), TooLarge),
    "bomb in members": (page(gzip.compress(b"\0" * 2_000_000) * 30, Content_Encoding="gzip"), TooLarge),
    "more members than a page has": (page(gzip.compress(b"") * 2_000, Content_Encoding="gzip"), BadEncoding),
    "endless header lines": (lambda visit: (visit.send(OK), visit.flood(b"X: " + b"a" * 900 + b"\r\n"))[0], TooLarge),
    "endless header line": (lambda visit: (visit.send(OK + b"X: "), visit.flood(b"a" * 9000))[0], TooLarge),
    "80 KB of headers": (raw(OK + b"X: %b\r\n" % (b"a" * 1000) * 80 + b"Content-Length: 0\r\n\r\n"), TooLarge),
    "cut gzip": (page(PACKED[:-12], Content_Encoding="gzip"), Truncated),
    "gzip without its checksum": (page(PACKED[:-8], Content_Encoding="gzip"), Truncated),
    "cut second member": (page(PACKED + PACKED[:50], Content_Encoding="gzip"), Truncated),
    "wrong checksum": (page(PACKED[:-8] + b"\0" * 8, Content_Encoding="gzip"), BadEncoding),
    "no gzip in truth": (page(PAGE, Content_Encoding="gzip"), BadEncoding),
    "brotli unasked": (page(PAGE, Content_Encoding="br"), BadEncoding),
    "packed twice": (page(gzip.compress(PACKED), Content_Encoding="gzip, gzip"), BadEncoding),
    "shorter than promised": (raw(OK + b"Content-Length: 100\r\n\r\nabc"), Truncated),
    "nothing of what was promised": (raw(OK + b"Content-Length: 100\r\n\r\n"), Truncated),
    "chunk cut short": (raw(OK + b"Transfer-Encoding: chunked\r\n\r\n100\r\nabc"), Truncated),
    "last chunk missing": (raw(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), Truncated),
    "chunk size that is none": (raw(OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\nabc"), Truncated),
    "reset within the body": (
        lambda visit: (visit.send(OK + b"Content-Length: 100\r\n\r\nabc"), visit.reset())[0],
        (Truncated, Unreachable),
    ),
    "reset at once": (Visit.reset, Unreachable),
    "closed without a word": (Visit.close, Unreachable),
    "closed within the headers": (raw(OK + b"X: y"), (Unreachable, Truncated)),
    "closed within the headers, with a length of 0": (raw(OK + b"Content-Length: 0\r\nX: y\r\n"), Truncated),
    "closed within the Location": (
        raw(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /ok"),
        (Truncated, Unreachable),
    ),
    "closed within the headers of an error": (
        raw(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"),
        (Truncated, Unreachable),
    ),
    "100 Continue as fast as it can": (
        lambda visit: visit.flood(b"HTTP/1.1 100 Continue\r\n\r\n" * 99),
        TooLarge,
    ),
    "not HTTP": (raw(b"SSH-2.0-OpenSSH_9.0\r\n"), Unreachable),
    "HTTP/0.9": (raw(PAGE), Unreachable),
    "status of letters": (raw(b"HTTP/1.1 abc OK\r\n\r\n"), Unreachable),
    "two lengths": (raw(OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), (Truncated, Unreachable)),
    "206": (page(PAGE, "206 Partial Content", Content_Range="bytes 0-9/100"), BadStatus),
    "304 unasked": (raw(b"HTTP/1.1 304 Not Modified\r\n\r\n", keep=True), BadStatus),
    "300": (page(PAGE, "300 Multiple Choices", Location="/ok"), BadStatus),
    "418": (page(PAGE, "418 Teapot"), BadStatus),
    "999": (page(PAGE, "999 Request denied"), BadStatus),
    "401": (page(PAGE, "401 Unauthorized", WWW_Authenticate="Basic"), AccessDenied),
    "403": (page(PAGE, "403 Forbidden"), AccessDenied),
    "404": (not_found, Gone),
    "410": (page(PAGE, "410 Gone"), Gone),
    "429": (page(PAGE, "429 Too Many Requests"), SlowDown),
    "500": (page(PAGE, "500 Oops"), ServerError),
    "503": (page(PAGE, "503 Busy"), SlowDown),
    "503 with Retry-After": (page(PAGE, "503 Busy", Retry_After="7"), SlowDown),
    "error with an endless body": (
        lambda visit: (visit.send(b"HTTP/1.1 500 Oops\r\n\r\n"), visit.flood(b"a" * 65536))[0],
        ServerError,
    ),
    "error with a cut body": (raw(b"HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\nabc"), ServerError),
    "error that says it is huge": (raw(b"HTTP/1.1 500 Oops\r\nContent-Length: 99999999999\r\n\r\nabc"), ServerError),
    "error with a bomb": (
        page(gzip.compress(b"\0" * 50_000_000), "500 Oops", Content_Encoding="gzip"),
        ServerError,
    ),
    "redirect to itself": (redirect("/"), BadRedirect),
    "redirect without Location": (page(b"", "302 Found"), BadRedirect),
    "redirect to an empty Location": (redirect(""), BadRedirect),
    "redirect to a file": (redirect("file:///etc/passwd"), RefusedAddress),
    "redirect to javascript": (redirect("javascript:alert(1)"), RefusedAddress),
    "redirect with a broken host": (redirect("http://[::1/"), RefusedAddress),
    "redirect with an empty label": (redirect("http://a..b/"), RefusedAddress),
    "redirect with a bad port": (redirect("http://127.0.0.1:99999/"), RefusedAddress),
    "redirect to another private port": (redirect("http://127.0.0.1:1/"), RefusedAddress),
    "redirect to localhost by name": (redirect("http://localhost/"), RefusedAddress),
    "redirect to loopback in decimal": (redirect("http://2130706433/"), RefusedAddress),
    "redirect to IPv6 loopback": (redirect("http://[::1]/"), RefusedAddress),
    "redirect to metadata": (redirect("http://169.254.169.254/latest/"), RefusedAddress),
    "redirect to another host": (redirect("https://elsewhere.example/"), RefusedAddress),
    "redirect with credentials": (redirect("http://user:secret@127.0.0.1/"), RefusedAddress),
    "redirect of 100 KB": (redirect("/" + "a" * 20_000), RefusedAddress),
}
