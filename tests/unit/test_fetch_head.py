"""What stands before a body, as both clients hand it over."""

from __future__ import annotations

import pytest

from crawl_tasks.fetch.http_client import read_head

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("raw", "status", "headers"),
    [
        (OK + b"\r\n", 200, {}),
        (OK + b"Content-Type: text/html\r\nX:  y z \r\n\r\n", 200, {"content-type": "text/html", "x": "y z"}),
        (OK + b"Vary: A\r\nX-Y: 1\r\nvary: B\r\nVARY:\r\n\r\n", 200, {"vary": "A, B, ", "x-y": "1"}),
        (b"HTTP/1.1 404\nA: b\r\nC:d\n\n", 404, {"a": "b", "c": "d"}),
        (b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 2 + OK + b"A: b\r\n\r\n", 200, {"a": "b"}),
        (OK + b"A: b\r\n\r\nA: trailer\r\nContent-Encoding: br\r\n\r\n", 200, {"a": "b"}),
        (OK + b"A: b\r\n\r\nA: trailer without end", 200, {"a": "b"}),
        (
            OK + b"Via: HTTP/1.1 404 Not Found\r\nA: HTTP/2\r\n\r\n",
            200,
            {"via": "HTTP/1.1 404 Not Found", "a": "HTTP/2"},
        ),
        (OK + b"A: \xe4\xb8\xad\x85\x0bz\r\nno colon\r\n\r\n", 200, {"a": "\xe4\xb8\xad\x85\x0bz", "no colon": ""}),
        (OK + b"A: b\r\n  c\r\n\td\r\nE:\r\n f\r\n\r\n", 200, {"a": "b c d", "e": "f"}),
        (OK + b"Set-Cookie: a=1\r\nset-cookie: b=2\r\n\r\n", 200, {"set-cookie": "a=1\nb=2"}),
        ("HTTP/1.1 ²00 OK\r\n\r\n".encode("latin-1"), 0, {}),
        (b"HTTP/1.1\r\n\r\n", 0, {}),
    ],
)
def test_the_last_head_is_read(raw, status, headers):
    assert read_head(raw) == (status, headers)
    assert read_head(bytearray(raw)) == (status, headers)


@pytest.mark.parametrize(
    "raw",
    [b"", OK, OK + b"A: b\r\n", OK + b"A: b\r\n\r", b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Location: /ok"],
)
def test_a_head_without_end_is_none(raw):
    assert read_head(raw) is None
