"""From the wire to the page: what comes out is what went in, or an error."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.errors import BadEncoding, TooLarge, Truncated
from crawl_tasks.fetch.body import decode
from crawl_tasks.fetch.http_client import Limits, RawResponse, check_ended, check_head

LIMITS = Limits(wire_bytes=1 << 20, body_bytes=1 << 20)
PACKERS = {
    "": lambda body: body,
    "identity": lambda body: body,
    "gzip": gzip.compress,
    " GZip ": gzip.compress,
    "deflate": zlib.compress,
}


@given(st.binary(max_size=5_000), st.sampled_from(sorted(PACKERS)))
def test_packed_body_comes_back(body, encoding):
    assert decode(PACKERS[encoding](body), encoding, LIMITS) == body


@given(st.binary(max_size=5_000))
def test_deflate_as_servers_have_it_comes_back_too(body):
    assert decode(zlib.compress(body)[2:-4], "deflate", LIMITS) == body


@given(st.lists(st.binary(min_size=1, max_size=500), min_size=1, max_size=5))
def test_members_come_back_in_their_order(parts):
    assert decode(b"".join(map(gzip.compress, parts)), "gzip", LIMITS) == b"".join(parts)


@given(st.binary(min_size=1, max_size=500), st.data())
def test_body_cut_anywhere_is_never_taken_for_whole(body, data):
    packed = gzip.compress(body)
    kept = data.draw(st.integers(1, len(packed) - 1))

    with pytest.raises((Truncated, BadEncoding)):
        decode(packed[:kept], "gzip", LIMITS)


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "identity", "br", "zstd", "gzip, gzip"]))
def test_any_bytes_give_a_body_or_an_error_of_ours(wire, encoding):
    try:
        body = decode(wire, encoding, LIMITS)
    except (Truncated, BadEncoding, TooLarge):
        return

    assert len(body) <= LIMITS.body_bytes


@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
@pytest.mark.parametrize(("size", "fits"), [(1_000, True), (1_001, False)])
def test_limit_is_exact(encoding, size, fits):
    wire = PACKERS[encoding](b"a" * size)
    limits = Limits(wire_bytes=10_000, body_bytes=1_000)

    if fits:
        assert len(decode(wire, encoding, limits)) == size
    else:
        with pytest.raises(TooLarge):
            decode(wire, encoding, limits)


def test_far_more_than_went_in_is_refused_within_the_limit():
    wire = gzip.compress(b"\0" * 5_000_000)

    with pytest.raises(TooLarge, match="unpack"):
        decode(wire, "gzip", Limits(wire_bytes=1 << 20, body_bytes=1 << 30))


def test_bomb_takes_no_more_memory_than_the_limit():
    wire = gzip.compress(b"\0" * 50_000_000)
    tracemalloc.start()

    with pytest.raises(TooLarge):
        decode(wire, "gzip", LIMITS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 4 * LIMITS.body_bytes


@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
def test_body_over_the_limit_is_cut_where_that_is_asked_for(encoding):
    body = bytes(range(256)) * 10

    assert decode(PACKERS[encoding](body), encoding, Limits(10_000, 1_000, cut=True)) == body[:1_000]


def test_stream_that_we_cut_ourselves_gives_its_beginning():
    body = b"".join(b"Disallow: /%d\n" % number for number in range(5_000))
    wire = gzip.compress(body)[:2_000]

    begun = decode(wire, "gzip", Limits(wire_bytes=2_000, body_bytes=1 << 20, cut=True))

    assert begun
    assert body.startswith(begun)


def test_stream_that_was_cut_short_of_our_limit_is_refused_even_so():
    with pytest.raises(Truncated):
        decode(gzip.compress(b"a" * 1_000)[:-9], "gzip", Limits(2_000, 2_000, cut=True))


def test_too_many_headers_are_refused():
    check_head(LIMITS.header_bytes, LIMITS)
    with pytest.raises(TooLarge, match="headers"):
        check_head(LIMITS.header_bytes + 1, LIMITS)


@pytest.mark.parametrize(
    ("status", "headers", "wire", "whole"),
    [
        (200, {}, b"x", True),
        (200, {}, b"", False),
        (200, {"content-length": "0"}, b"", True),
        (200, {"transfer-encoding": "chunked"}, b"", True),
        (204, {}, b"", True),
        (404, {}, b"", True),
    ],
)
def test_nothing_until_the_end_of_the_connection_is_no_page(status, headers, wire, whole):
    response = RawResponse(status, headers, wire)

    if whole:
        assert check_ended(response) is response
    else:
        with pytest.raises(Truncated):
            check_ended(response)


TEXTS = (b"<p>a page</p>", "<p>größer</p>".encode("latin-1"), "<p>灯泡</p>".encode("gbk"), "<p>灯</p>".encode("utf-16"))


@pytest.mark.parametrize(
    "encoding", ["none", "None", "utf-8", "UTF8", "binary", "8bit", "text/html", "identity, none", "*", "x"]
)
@pytest.mark.parametrize("body", TEXTS)
def test_a_word_that_names_no_encoding_is_passed_over_as_in_browsers(encoding, body):
    assert decode(body, encoding, LIMITS) == body


@pytest.mark.parametrize("encoding", ["none", "utf-8", "x"])
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, lambda body: zlib.compress(body)[2:-4]])
def test_a_packed_body_under_such_a_word_is_no_page(encoding, pack):
    with pytest.raises(BadEncoding):
        decode(pack(bytes(range(32, 127)) * 30 + b"<p>text</p>" * 200), encoding, LIMITS)


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, br", "gzip, gzip"])
def test_an_encoding_that_was_not_asked_for_is_refused_though_the_body_is_plain(encoding):
    with pytest.raises(BadEncoding):
        decode(b"<p>a page</p>", encoding, LIMITS)


def test_words_beside_an_encoding_that_say_nothing_are_passed_over():
    assert decode(gzip.compress(b"<p>a page</p>"), "identity, gzip", LIMITS) == b"<p>a page</p>"
