"""Cookies, where a site file asks for them: sent back to their origin, bounded, with each client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawl_tasks.errors import BadRedirect
from crawl_tasks.fetch.cookie_jar import MOST_COOKIES, SiteCookies, read_cookie_file
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.model import Fetched, Request, Stage
from tests.unit.hostile_server import HostileServer, Visit, page, raw, redirect

Fetch = Callable[..., Fetched]
HERE = "https://forum.example"


@pytest.fixture
def server() -> Iterator[HostileServer]:
    server = HostileServer(otherwise=page())
    yield server
    server.stop()


@pytest.fixture(params=["requests", "curl"])
def fetch(request: pytest.FixtureRequest, server: HostileServer) -> Iterator[Fetch]:
    fetcher = Fetcher(build_client(request.param))

    def one(path: str = "/", site: str = "demo", **policy: object) -> Fetched:
        settings: dict[str, object] = {
            "user_agent": "testbot/1.0",
            "allowed_hosts": frozenset({"127.0.0.1"}),
            "private_hosts": frozenset({server.place}),
            "cookies": True,
            **policy,
        }
        return fetcher.fetch(Request(site, Stage.LIST, "1", server.base + path), FetchPolicy(**settings))  # type: ignore[arg-type]

    yield one
    fetcher.close()


def sent(server: HostileServer) -> list[str | None]:
    return [visit.headers.get("cookie") for visit in server.visits if visit.target != "/robots.txt"]


def test_cookies_are_kept_only_where_the_file_asks(fetch, server):
    server.routes["/set"] = page(Set_Cookie="sid=1; Path=/")

    fetch("/set", cookies=False)
    fetch(cookies=False)
    fetch("/set")
    fetch()
    fetch(site="another")

    assert sent(server) == [None, None, None, "sid=1", None]


def test_several_cookies_of_one_answer_and_a_header_of_the_file(fetch, server):
    lines = b"Set-Cookie: a=1; Expires=Wed, 01 Jan 2110 00:00:00 GMT\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"
    server.routes["/set"] = raw(b"HTTP/1.1 200 OK\r\n" + lines, keep=True)

    got = fetch("/set")
    fetch(headers={"Cookie": "age=18"})

    assert sent(server)[1] == "age=18; a=1; b=2"
    assert got.headers["set-cookie"].split("\n")[1] == "b=2"


def test_cookie_set_on_the_way_is_sent_to_the_same_address_again(fetch, server):
    def gate(visit: Visit) -> None:
        if "seen=1" in visit.headers.get("cookie", ""):
            visit.reply(b"in")
        else:
            visit.reply(b"", "302 Found", Location="/gate", Set_Cookie="seen=1")

    server.routes["/gate"] = gate

    assert fetch("/gate").body == b"in"
    with pytest.raises(BadRedirect, match="a loop"):
        fetch("/gate", cookies=False)


def test_redirect_for_ever_ends(fetch, server):
    server.routes["/gate"] = redirect("/gate")

    with pytest.raises(BadRedirect, match="more than 5 times"):
        fetch("/gate")


def test_no_cookie_leaves_its_origin(fetch, server):
    other = HostileServer(otherwise=page())
    server.routes["/set"] = page(Set_Cookie="sid=1; Path=/; Domain=127.0.0.1")
    server.routes["/away"] = redirect(other.base + "/")

    fetch("/set")
    hosts = frozenset({"127.0.0.1", other.place})
    fetch("/away", allowed_hosts=hosts, private_hosts=hosts | {server.place})
    other.stop()

    assert sent(other) == [None]


def learned(*lines: str, at: float = 0.0, date: str = "") -> SiteCookies:
    cookies = SiteCookies()
    cookies.learn(f"{HERE}/a/b", {"set-cookie": "\n".join(lines), "date": date}, at or time.time())
    return cookies


@pytest.mark.parametrize(
    ("line", "url", "expected"),
    [
        ("a=1", f"{HERE}/a/c", "a=1"),
        ("a=1", f"{HERE}/c", ""),
        ("a=1; Path=/", f"{HERE}/c", "a=1"),
        ("a=1; Path=/; Domain=.example", f"{HERE}/", "a=1"),
        ("a=1; Path=/; Domain=forum.example", "https://www.forum.example/", ""),
        ("a=1; Path=/", "https://forum.example:8443/", ""),
        ("a=1; Path=/", "http://forum.example/", ""),
        ("a=1; Path=/; Secure; HttpOnly; SameSite=Lax", f"{HERE}/", "a=1"),
        ("a=1; Path=/; Max-Age=0", f"{HERE}/", ""),
        ("a=1; Path=/; Expires=Wed, 01 Jan 2020 00:00:00 GMT", f"{HERE}/", ""),
        ("a=" + "x" * 5000, f"{HERE}/a/c", ""),
        ("a=1; Path=/; Max-Age=" + "9" * 400, f"{HERE}/", "a=1"),
        ("a=1; Path=/; Max-Age=-" + "9" * 400, f"{HERE}/", ""),
        ("a=1; Path=/; Max-Age=1e400", f"{HERE}/", "a=1"),
        ("a=1; Path=/; Max-Age=soon; Expires=Wed, 01 Jan 2020 00:00:00 GMT", f"{HERE}/", ""),
        ("a=1; Path=/; Expires=Fri, 31 Dec 9999 23:59:59 GMT", f"{HERE}/", "a=1"),
    ],
)
def test_cookie_by_address(line, url, expected):
    assert learned(line).header(url) == expected


def test_end_of_a_cookie_counts_by_the_clock_that_wrote_it():
    date, later = "Wed, 01 Jan 2020 00:00:00 GMT", "Wed, 01 Jan 2020 01:00:00 GMT"

    cookies = learned(f"a=1; Path=/; Expires={later}", f"b=1; Path=/; Expires={date}", date=date)

    assert cookies.header(f"{HERE}/") == "a=1"


def test_cookies_without_end_are_bounded():
    cookies = SiteCookies()

    for number in range(3 * MOST_COOKIES):
        cookies.learn(f"{HERE}/", {"set-cookie": f"c{number}={number}; Path=/"}, time.time())

    held = cookies.header(f"{HERE}/").split("; ")
    assert len(held) == MOST_COOKIES
    assert f"c{3 * MOST_COOKIES - 1}={3 * MOST_COOKIES - 1}" in held


@pytest.mark.parametrize("origin", [HERE, "http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"])
def test_cookies_survive_in_a_session(origin):
    first, second = SiteCookies(), SiteCookies()
    first.learn(f"{origin}/", {"set-cookie": "a=1; Path=/; Max-Age=60\nb=2; Path=/b"}, time.time())

    second.replace(origin, first.of(origin))

    assert second.header(f"{origin}/b") == first.header(f"{origin}/b") != ""
    assert second.header(f"{origin}/") == "a=1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"name": "sid", "value": "x"}]', "is JSON"),
        ("# Netscape HTTP Cookie File\n", "it is empty"),
        ("elsewhere.example\tFALSE\t/\tFALSE\t0\tsid\tx\n", "1 for other hosts"),
        ("forum.example\tFALSE\t/\tFALSE\t1000\tsid\tx\n", "1 expired"),
        (f"forum.example\tFALSE\t/\tFALSE\t0\tsid\t{'x' * 5000}\n", "over 4096 bytes"),
    ],
)
def test_a_cookie_file_without_a_cookie_for_the_host_says_why(tmp_path: Path, text: str, told: str) -> None:
    (path := tmp_path / "cookies.txt").write_text(text)

    with pytest.raises(OSError, match=told):
        read_cookie_file(str(path), "forum.example")


def test_an_end_that_no_number_holds_is_a_far_one(tmp_path: Path) -> None:
    (path := tmp_path / "cookies.txt").write_text(f"forum.example\tTRUE\t/\tTRUE\t{'9' * 400}\tsid\tabc\n")
    cookies = SiteCookies()

    cookies.replace(HERE, read_cookie_file(str(path), "forum.example"))

    assert cookies.header(f"{HERE}/") == "sid=abc"


@pytest.mark.parametrize("end", ["-1", "0", "4102444800.123456"])
def test_ends_are_read_as_add_ons_of_browsers_write_them(tmp_path: Path, end: str) -> None:
    (path := tmp_path / "cookies.txt").write_text(f"#HttpOnly_.forum.example\tTRUE\t/\tTRUE\t{end}\tsid\tabc\n")

    (cookie,) = read_cookie_file(str(path), "www.forum.example")

    assert (cookie.name, cookie.is_http_only, cookie.expires) == ("sid", True, 4102444800 if "." in end else None)
