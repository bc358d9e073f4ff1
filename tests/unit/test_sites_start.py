"""What start entries of other programs mean, and what is said of those that mean nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.errors import ConfigError, FetchError
from crawl_tasks.model import Reach, Request, Stage
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.start_entry import read_entry, request_of_entry
from tests.unit.good_site import GOOD

SITE = parse_site(GOOD, "forum.yaml")
ADDRESSES = Addresses(SITE)
BASE = "https://forum.example"


def meant(entry: object, of_key: str = "forum") -> Request:
    raw = entry if isinstance(entry, bytes) else json.dumps(entry).encode()
    return request_of_entry(read_entry(raw, of_key), SITE, ADDRESSES, "start7")


@pytest.mark.parametrize(
    ("entry", "request_"),
    [
        ({"board": 1}, Request("forum", Stage.LIST, "1", f"{BASE}/list/1/1", revision="start7")),
        ({"board": "1", "page": 3}, Request("forum", Stage.LIST, "1", f"{BASE}/list/1/3", 3, "start7")),
        ({"post": "42", "priority": 9}, Request("forum", Stage.POST, "42", f"{BASE}/post/42", priority=9)),
        ({"post": 42, "revision": 5}, Request("forum", Stage.POST, "42", f"{BASE}/post/42", revision="5")),
        ({"post": 42, "stage": "comment", "page": 2}, Request("forum", Stage.COMMENT, "42", f"{BASE}/comment/42/2", 2)),
        ({"url": f"{BASE}/post/42"}, Request("forum", Stage.POST, "42", f"{BASE}/post/42")),
        ({"url": "/post/42", "stage": "post"}, Request("forum", Stage.POST, "42", f"{BASE}/post/42")),
        ({"site": "forum", "post": 1}, Request("forum", Stage.POST, "1", f"{BASE}/post/1")),
        ({"post": 1, "priority": 10**9}, Request("forum", Stage.POST, "1", f"{BASE}/post/1", priority=9)),
        ({"post": 1, "priority": -3}, Request("forum", Stage.POST, "1", f"{BASE}/post/1", priority=0)),
        ({"post_id": 1, "meta": {}, "board": None}, Request("forum", Stage.POST, "1", f"{BASE}/post/1")),
        ({"post": 1, "dont_filter": True}, Request("forum", Stage.POST, "1", f"{BASE}/post/1", is_again=True)),
        (
            {"forum_id": 1, "max_page": 3, "meta": {"job": 7}},
            Request("forum", Stage.LIST, "1", f"{BASE}/list/1/1", revision="start7", reach=Reach(3, meta='{"job":7}')),
        ),
        (f"{BASE}/comment/42/2\n".encode(), Request("forum", Stage.COMMENT, "42", f"{BASE}/comment/42/2", 2)),
        (f"\ufeff {BASE}/post/42 ".encode(), Request("forum", Stage.POST, "42", f"{BASE}/post/42")),
    ],
)  # fmt: skip
def test_an_entry_means_a_request(entry: object, request_: Request) -> None:
    assert meant(entry) == request_


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (b"", "is empty"),
        ({"post": 1, "callback": "x", "task": "rm"}, "unknown 'callback', 'task'; known are .*max_page.*start_request"),
        ({"post": 1, "post_id": 2}, "post is given by two names"),
        ({"post": 1, "pages": 2}, "pages must be 1 to 100000, and be of a board"),
        ({"url": f"{BASE}/post/42", "pages": 2}, "pages is the number of list pages, and this is a post"),
        ({"post": 1, "dont_filter": "yes"}, "dont_filter is neither true nor false"),
        ({"post": 1, "meta": [1]}, "meta is no object"),
        ({"post": 1, "meta": {"a": "x" * 2000}}, "meta is 2008 characters"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "not JSON"),
        (b'{"post": NaN}', "not JSON"),
        (b'{"post": 1,}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' * 100_000, "not JSON"),
        (b'{"post": ' + b"9" * 5000 + b"}", "not JSON|no id"),
        (b"[]", "a JSON list, not an object"),
        (b'"x"', "a JSON str, not an object"),
        (b"null", "no address"),
        ({}, "must name one of board, post, url; it names none"),
        ({"post": 1, "board": 2}, "it names board, post"),
        ({"post": True}, "post is no id"),
        ({"post": 1.5}, "post is no id"),
        ({"post": ["1"]}, "post is no id"),
        ({"post": "a b"}, "post is no id"),
        ({"post": "x" * 201}, "post is no id"),
        ({"url": {"$ref": "x"}}, "url is no text"),
        ({"url": "https://elsewhere.example/post/1"}, "is no address of site forum"),
        ({"url": "javascript:alert(1)"}, "address|scheme"),
        ({"url": f"{BASE}/post/1", "stage": "list"}, "is no list address of site forum"),
        ({"post": 1, "site": "other"}, "is for site 'other', but stands in the key of forum"),
        ({"post": 1, "site": 5}, "names no site"),
        ({"post": 1, "stage": "thread"}, "stage is none of list, post, comment"),
        ({"post": 1, "stage": ["post"]}, "stage is none of"),
        ({"post": 1, "page": 2}, "do not fit a post"),
        ({"board": 1, "stage": "comment"}, "do not fit a list"),
        ({"board": 1, "page": 0}, "page must be 1 to"),
        ({"board": 1, "page": "2"}, "page is no whole number"),
        ({"post": 1, "priority": "high"}, "priority is no whole number"),
        ({"post": 1, "revision": "two words"}, "revision is no text"),
    ],
)
def test_an_entry_that_means_nothing_is_refused_with_the_reason(entry: object, said: str) -> None:
    with pytest.raises((ConfigError, FetchError), match=said):
        meant(entry)


def test_an_entry_of_the_common_key_must_name_its_site() -> None:
    with pytest.raises(ConfigError, match="names no site"):
        read_entry(b'{"post": 1}', "")

    assert read_entry(b'{"post": 1, "site": "forum"}', "").site == "forum"


SAMPLES = [
    b'{"site": "forum", "board": "1", "page": 2, "priority": 5}',
    b'{"post": 42, "revision": "3", "stage": "comment"}',
    b'{"url": "https://forum.example/post/42", "meta": {"depth": [1, 2]}}',
    b"https://forum.example/comment/42/3",
    '{"url": "https://forum.example/post/\u5e16\u5b50", "priority": -1}'.encode(),
]
PIECES = [
    b"\x00",
    b"\xff",
    b"\\ud800",
    b"null",
    b"1e999",
    b"9" * 400,
    b"[[",
    b"{",
    b'"',
    b"\\",
    b"../",
    b"%00",
    b"#",
    b" ",
]


@given(
    st.sampled_from(SAMPLES),
    st.lists(
        st.tuples(st.integers(0, 80), st.integers(0, 6), st.sampled_from(PIECES) | st.binary(max_size=3)), max_size=4
    ),
)
def test_whatever_happens_to_an_entry_it_is_read_or_refused(
    sample: bytes, damage: list[tuple[int, int, bytes]]
) -> None:
    for at, length, piece in damage:
        sample = sample[:at] + piece + sample[at + length :]

    try:
        request = meant(sample, "")
    except (ConfigError, FetchError):
        return

    assert request.address.isascii()
    assert " " not in request.address
    assert 0 <= request.priority <= 9
