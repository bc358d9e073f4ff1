"""Every way we know for a server to misbehave, with each client: an error that fits, in time, nothing leaks over."""

from __future__ import annotations

import gzip
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from email.utils import formatdate

import pytest

from crawl_tasks.errors import (
    AccessDenied,
    BadEncoding,
    BadRedirect,
    BadStatus,
    DeadlineExceeded,
    FetchError,
    Gone,
    RefusedAddress,
    RobotsUnavailable,
    ServerError,
    SlowDown,
    TooLarge,
    Truncated,
    Unreachable,
)
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.requests.watchdog import Watchdog
from crawl_tasks.model import Fetched, Request, Stage
from tests.unit.hostile_server import HostileServer, Visit, not_found, page, raw, redirect

PAGE = b"<html><body>" + b"<p>a post</p>" * 200 + b"</body></html>"
PACKED = gzip.compress(PAGE)
OK = b"HTTP/1.1 200 OK\r\n"

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
