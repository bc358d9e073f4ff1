"""Every way we know for a server to misbehave, with each client: an error that fits, in time, nothing leaks over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate

import pytest

from crawl_tasks.errors import (
    BadRedirect,
    DeadlineExceeded,
    RobotsUnavailable,
    ServerError,
    Unreachable,
)
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.requests.watchdog import Watchdog
from crawl_tasks.model import Fetched, Request, Stage
from tests.unit.hostile_server import HostileServer, Visit, page, raw, redirect
from tests.unit.misbehaviour import BAD, GOOD, OK, PACKED, PAGE

Fetch = Callable[..., Fetched]


@pytest.fixture
def server() -> Iterator[HostileServer]:
    server = HostileServer()
    yield server
    server.stop()


@pytest.fixture(params=["requests", "curl"])
def fetch(request: pytest.FixtureRequest, server: HostileServer) -> Iterator[Fetch]:
    fetcher = Fetcher(build_client(request.param))

    def one(path: str = "/", **policy: object) -> Fetched:
        settings = {
            "user_agent": "testbot/1.0 (+https://example.com)",
            "allowed_hosts": frozenset({"127.0.0.1"}),
            "private_hosts": frozenset({server.place}),
            "deadline_s": 20.0,
            **policy,
        }
        return fetcher.fetch(Request("site", Stage.LIST, "1", server.base + path), FetchPolicy(**settings))

    yield one
    fetcher.close()


@pytest.mark.parametrize("answer", GOOD.values(), ids=GOOD.keys())
def test_whole_page_is_fetched(server, fetch, answer):
    server.routes["/"] = answer

    fetched = [fetch() for _ in range(2)]

    assert [page.body for page in fetched] == [PAGE, PAGE]


@pytest.mark.parametrize("fetch", ["requests"], indirect=True)
def test_a_body_that_stops_is_late_even_where_the_watchdog_is_later(
    server: HostileServer, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.routes["/"] = BAD["hangs within the body"][0]
    monkeypatch.setattr(Watchdog, "watch", lambda *_: None)

    with pytest.raises(DeadlineExceeded):
        fetch(deadline_s=0.4, robots=False)


@pytest.mark.parametrize(("answer", "error"), BAD.values(), ids=BAD.keys())
def test_misbehaviour_ends_in_an_error_that_fits(server, fetch, answer, error):
    server.routes.update({"/": answer, "/ok": page(PAGE)})
    slow = error is DeadlineExceeded

    with pytest.raises(error) as failed:
        fetch(deadline_s=0.4 if slow else 20.0, robots=not slow, max_wire_bytes=200_000, max_body_bytes=1_500_000)

    assert "secret" not in str(failed.value)
    assert len(str(failed.value)) < 1_000
    assert fetch("/ok").body == PAGE


FORGED = OK + b"Content-Length: 6\r\n\r\nforged"


@pytest.mark.parametrize("surplus", [FORGED, FORGED[:20], b"\r\n", b"x"], ids=["response", "half", "line end", "byte"])
def test_connection_with_bytes_after_the_response_is_not_used_again(server, fetch, surplus):
    server.routes["/"] = raw(OK + b"Content-Length: 4\r\n\r\npage" + surplus, keep=True)
    server.routes["/ok"] = page(PAGE)

    bodies = [fetch(path, robots=False).body for path in ("/", "/ok", "/ok")]

    assert bodies == [b"page", PAGE, PAGE]
    assert server.connections == 2


@pytest.mark.parametrize("surplus", [FORGED, FORGED[:20], b"x"], ids=["response", "half", "byte"])
def test_answer_sent_before_it_was_asked_for_is_not_taken(server, fetch, surplus):
    read, sent = threading.Event(), threading.Event()

    def answer_and_more(visit):
        visit.reply(b"page")
        read.wait(60)
        visit.send(surplus)
        sent.set()

    server.routes.update({"/": answer_and_more, "/ok": page(PAGE)})

    first = fetch("/", robots=False).body
    read.set()
    sent.wait(60)
    later = [fetch("/ok", robots=False).body for _ in range(3)]

    assert (first, later) == (b"page", [PAGE] * 3)
    assert server.paths() == ["/", "/ok", "/ok", "/ok"]
    assert server.connections == 2


def test_connection_is_used_again(server, fetch):
    server.routes["/"] = page(PAGE)

    for _ in range(5):
        fetch()

    assert server.connections == 1


def test_connection_is_used_again_after_an_error_page(server, fetch):
    server.routes.update({"/": page(b"busy" * 1000, "500 Oops"), "/ok": page(PAGE)})

    with pytest.raises(ServerError):
        fetch()
    fetch("/ok")

    assert server.connections == 1


def test_long_error_page_is_not_read_to_its_end(server, fetch):
    server.routes.update({"/": page(b"busy" * 30_000, "500 Oops"), "/ok": page(PAGE)})

    with pytest.raises(ServerError):
        fetch(robots=False)
    fetch("/ok", robots=False)

    assert server.connections == 2


def test_idle_connection_closed_by_the_server_costs_no_attempt(server, fetch):
    def answer_and_close(visit):
        visit.reply(PAGE)
        visit.close()

    server.routes["/"] = answer_and_close

    assert [fetch().body for _ in range(3)] == [PAGE] * 3


def test_server_that_closes_a_used_connection_on_asking_is_asked_once_more(server, fetch):
    def close_on_second(visit):
        if sum(other.connection == visit.connection for other in server.visits) > 2:
            visit.close()
        else:
            visit.reply(PAGE)

    server.routes["/"] = close_on_second

    bodies = [fetch().body for _ in range(4)]

    assert bodies == [PAGE] * 4


def test_redirects_are_followed_to_their_end(server, fetch):
    server.routes.update({"/": redirect("a?b=c", 301), "/a": redirect(f"{server.base}/ok#x", 308), "/ok": page(PAGE)})

    fetched = fetch()

    assert (fetched.url, fetched.body) == (f"{server.base}/ok", PAGE)
    assert server.paths() == ["/", "/a?b=c", "/ok"]


def test_location_in_raw_utf8_is_read_as_utf8(server, fetch):
    server.routes.update(
        {
            "/": raw("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /中\r\n\r\n".encode(), keep=True),
            "/%E4%B8%AD": page(PAGE),
        }
    )

    assert fetch().url == f"{server.base}/%E4%B8%AD"


def test_redirects_are_counted(server, fetch):
    server.routes.update({f"/{number}": redirect(f"/{number + 1}") for number in range(9)})

    with pytest.raises(BadRedirect, match="more than 5"):
        fetch("/0")

    assert len(server.paths()) == 6


def test_loop_of_redirects_is_seen_at_once(server, fetch):
    server.routes.update({"/a": redirect("/b"), "/b": redirect("/a")})

    with pytest.raises(BadRedirect, match="loop"):
        fetch("/a")

    assert server.paths() == ["/a", "/b"]


def test_page_that_redirects_to_itself_once_is_read(server, fetch):
    def repaired(visit):
        visit.reply(PAGE) if len(server.paths()) > 1 else visit.reply(b"", "302 Found", Location="/t")

    server.routes["/t"] = repaired

    assert fetch("/t").body == PAGE
    assert server.paths() == ["/t", "/t"]


def test_page_that_redirects_to_itself_for_ever_is_asked_for_twice(server, fetch):
    server.routes["/a"] = redirect("/a")

    with pytest.raises(BadRedirect, match="loop"):
        fetch("/a")

    assert server.paths() == ["/a", "/a"]


def test_redirects_share_one_deadline(server, fetch):
    def slowly(visit):
        server.stopped.wait(0.25)
        visit.reply(b"", "302 Found", Location=f"/{len(server.visits)}")

    server.routes.update({f"/{number}": slowly for number in range(9)})

    with pytest.raises(DeadlineExceeded):
        fetch("/0", deadline_s=0.6, robots=False)

    assert len(server.paths()) <= 3


def test_a_server_that_never_answers_is_given_up_at_the_deadline(server, fetch):
    server.routes["/"] = Visit.hang

    with pytest.raises(DeadlineExceeded):
        fetch(deadline_s=0.3, robots=False)


def test_nothing_answers_at_the_port(server, fetch):
    server.stop()

    with pytest.raises(Unreachable):
        fetch(robots=False)
    with pytest.raises(RobotsUnavailable, match=r"refused|connect"):
        fetch()


def test_cookies_are_not_sent_back(server, fetch):
    server.routes["/"] = page(PAGE, Set_Cookie="sid=1; Path=/")

    for _ in range(2):
        fetch()

    assert all("cookie" not in visit.headers for visit in server.visits)


def test_environment_names_no_proxy_to_us(server, fetch, monkeypatch):
    server.routes["/"] = page(PAGE)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert fetch().body == PAGE


def test_request_says_who_asks_and_what_it_reads(server, fetch):
    server.routes["/"] = page(PAGE)

    fetch(headers={"Accept-Language": "zh"})

    headers = server.visits[-1].headers
    assert headers["host"] == server.place
    assert headers["user-agent"] == "testbot/1.0 (+https://example.com)"
    assert headers["accept-encoding"] == "gzip, deflate"
    assert headers["accept-language"] == "zh"
    assert not {"connection", "cookie", "authorization", "referer"} - {"connection"} & headers.keys()


@pytest.mark.parametrize("name", ["Accept", "accept"])
def test_what_a_site_says_it_accepts_takes_the_place_of_our_own(server, fetch, name):
    server.routes["/"] = page(PAGE)

    fetch(headers={name: "application/json"})

    assert server.visits[-1].headers["accept"] == "application/json"


def test_address_is_sent_as_it_was_checked(server, fetch):
    target = "/a%2Fb//c/;x=1/%7C?a[]=%5C&b==&%E4%B8%AD=~"
    server.routes["/a%2Fb//c/;x=1/%7C"] = page(PAGE)

    fetch(target)

    assert server.paths() == [target]


def test_secret_headers_stay_with_their_origin(server, fetch):
    other = HostileServer({"/ok": page(PAGE)})
    server.routes["/"] = redirect(f"{other.base}/ok")

    fetch(
        headers={"Cookie": "sid=secret", "X-Key": "secret", "Accept-Language": "zh"},
        private_hosts=frozenset({server.place, other.place}),
    )
    other.stop()

    assert [visit.headers.get("x-key") for visit in server.visits if visit.target == "/"] == ["secret"]
    assert all("secret" not in str(visit.headers) for visit in other.visits)
    assert other.visits[-1].headers["accept-language"] == "zh"


def test_moment_and_sizes_are_those_of_the_response(server, fetch):
    made_s = int(time.time()) - 7200
    headers = {"Date": formatdate(made_s, usegmt=True), "Age": "7200"}
    server.routes["/"] = page(PACKED, Content_Encoding="gzip", X_A="1", **headers)

    fetched = fetch()

    assert (fetched.at_s, fetched.age_s) == (made_s, 7200.0)
    assert (fetched.status, fetched.wire_bytes, len(fetched.body)) == (200, len(PACKED), len(PAGE))
    assert fetched.headers["x-a"] == "1"
