"""What a page is known by to its server, and how it is asked whether it changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawl_tasks.errors import BadStatus
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.revalidation import conditions, validator_of
from crawl_tasks.model import Fetched, Items, Parsed, Request, Stage
from tests.unit.hostile_server import HostileServer, Visit, raw, redirect

URL = "http://forum.example/list/1/1"
SCAN = Request("site", Stage.LIST, "1", URL, revision="7")
POST = Request("site", Stage.POST, "1", "http://forum.example/post/1")
DATE = "Sat, 21 Nov 2026 12:00:00 GMT"
LONG_AGO = "Sat, 21 Nov 2026 11:00:00 GMT"
JUST_NOW = "Sat, 21 Nov 2026 11:59:30 GMT"


def page(url: str = URL, **headers: str) -> Fetched:
    return Fetched(url, 200, {name.replace("_", "-"): value for name, value in headers.items()}, b"page", 0.0)


def read(*children: Request) -> Parsed:
    return Parsed(Items("site"), children)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"etag": '"abc"'}, '"abc" -'),
        ({"etag": 'W/"abc"'}, 'W/"abc" -'),
        ({"etag": '"abc"', "last_modified": LONG_AGO, "date": DATE}, f'"abc" {LONG_AGO}'),
        ({"last_modified": LONG_AGO, "date": DATE}, f"- {LONG_AGO}"),
        ({"last_modified": JUST_NOW, "date": DATE}, ""),
        ({"last_modified": LONG_AGO}, ""),
        ({"last_modified": "yesterday", "date": DATE}, ""),
        ({"last_modified": "Xyz, 41 Abc 2026 11:00:00 GMT", "date": DATE}, ""),
        ({"etag": "abc"}, ""),
        ({"etag": '""'}, ""),
        ({"etag": '"a b"'}, ""),
        ({"etag": '"a", "b"'}, ""),
        ({"etag": '"a\r\nX: y"'}, ""),
        ({"etag": '"' + "a" * 201 + '"'}, ""),
        ({}, ""),
    ],
)
def test_a_page_is_known_by_what_its_server_can_compare(headers, expected):
    assert validator_of(SCAN, page(**headers), read(POST)) == expected


@pytest.mark.parametrize(
    ("request_", "url", "children", "is_known"),
    [
        (SCAN, URL, (POST,), True),
        (SCAN, URL, (POST, Request("site", Stage.LIST, "1", URL, 2, revision="7", only_if_new=True)), True),
        (SCAN, URL, (POST, Request("site", Stage.LIST, "1", URL, 2, revision="7")), False),
        (SCAN, URL, (Request("site", Stage.LIST, "1", URL, 2, revision="changed"),), True),
        (SCAN, URL, (), False),
        (SCAN, "http://forum.example/elsewhere", (POST,), False),
        (Request("site", Stage.LIST, "1", URL, 2, revision="7"), URL, (POST,), False),
        (POST, POST.address, (POST,), False),
    ],
)
def test_only_a_first_page_whose_sameness_says_all_is_known(request_, url, children, is_known):
    assert (validator_of(request_, page(url, etag='"abc"'), read(*children)) != "") == is_known


@pytest.mark.parametrize(
    ("validator", "expected"),
    [
        ("", {}),
        ('"abc" -', {"If-None-Match": '"abc"'}),
        (f"- {LONG_AGO}", {"If-Modified-Since": LONG_AGO}),
        (f'"abc" {LONG_AGO}', {"If-None-Match": '"abc"', "If-Modified-Since": LONG_AGO}),
    ],
)
def test_a_server_is_asked_by_both(validator, expected):
    assert conditions(validator) == expected


@pytest.fixture
def server() -> Iterator[HostileServer]:
    server = HostileServer()
    yield server
    server.stop()


@pytest.fixture(params=["requests", "curl"])
def fetcher(request: pytest.FixtureRequest) -> Iterator[Fetcher]:
    fetcher = Fetcher(build_client(request.param))
    yield fetcher
    fetcher.close()


def fetch(fetcher: Fetcher, server: HostileServer, path: str, validator: str) -> Fetched:
    policy = FetchPolicy("testbot", frozenset({"127.0.0.1"}), private_hosts=frozenset({server.place}))
    return fetcher.fetch(Request("site", Stage.LIST, "1", server.base + path), policy, validator)


UNCHANGED = raw(b'HTTP/1.1 304 Not Modified\r\nETag: "abc"\r\n\r\n', keep=True)


def test_an_unchanged_page_has_no_body_and_its_connection_is_used_again(server, fetcher):
    server.routes["/"] = UNCHANGED

    first, second = (fetch(fetcher, server, "/", '"abc" -') for _ in range(2))

    assert (first.status, first.is_unchanged, first.body, first.wire_bytes) == (304, True, b"", 0)
    assert second.is_unchanged
    assert [visit.headers.get("if-none-match") for visit in server.visits[-2:]] == ['"abc"', '"abc"']
    assert server.connections == 1


def test_a_redirect_is_not_asked_whether_it_changed_and_cannot_say_so(server, fetcher):
    server.routes |= {"/": redirect("/there"), "/there": UNCHANGED}

    with pytest.raises(BadStatus, match="304"):
        fetch(fetcher, server, "/", '"abc" -')

    assert "if-none-match" not in server.visits[-1].headers


def test_a_page_that_changed_comes_whole(server, fetcher):
    def changed(visit: Visit) -> None:
        visit.reply(b"new", ETag='"def"')

    server.routes["/"] = changed

    fetched = fetch(fetcher, server, "/", '"abc" -')

    assert (fetched.status, fetched.is_unchanged, fetched.body) == (200, False, b"new")
