"""Requests through a proxy: by either client, to http and https, with a password; what is still checked by us."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl_tasks.errors import ConfigError, DeadlineExceeded, FetchError, RefusedAddress, Unreachable
from crawl_tasks.fetch.address_guard import Destination, Route
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client, build_fetcher
from crawl_tasks.fetch.http_client import ClientRequest, Limits
from crawl_tasks.fetch.requests.tunnel import ProxyRefusedError, open_tunnel
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.model import Request, Stage
from crawl_tasks.proxy import DIRECT, Proxy, ProxyKind, read_proxy
from crawl_tasks.registry.site_registry import site_proxy
from crawl_tasks.sites.loader import parse_site
from tests.frontier.small_crawl import RULES
from tests.unit.hostile_server import HostileServer, page
from tests.unit.small_proxy import SmallProxy
from tests.unit.test_fetch_clients import SecureServer, certificate

__all__ = ["certificate"]

PUBLIC = "8.8.8.8"


def no_names(host: str) -> tuple[str, ...]:
    raise OSError(f"{host} was looked up here")


def public(_: str) -> tuple[str, ...]:
    return (PUBLIC,)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    server = HostileServer({"/": page(b"page")})
    yield server
    server.stop()


@pytest.fixture(params=["requests", "curl"])
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def fetch(
    client: str, url: str, proxy: str, lookup=no_names, times: int = 1, ca_file: str = "", **policy: object
) -> bytes:
    host = url.split("/")[2]
    fetcher = Fetcher(build_client(client, ca_file=ca_file), Resolver(lookup))
    settings = {"robots": False, "deadline_s": 20.0, **policy}
    terms = FetchPolicy("testbot", frozenset({host}), proxy=read_proxy(proxy, "the test"), **settings)
    try:
        return [fetcher.fetch(Request("site", Stage.LIST, "1", url), terms).body for _ in range(times)][-1]
    finally:
        fetcher.close()


@pytest.mark.parametrize("login", ["", "ann:p@ss:word"])
@pytest.mark.parametrize(
    ("kind", "lookup", "asked"),
    [("http", no_names, "forum.example"), ("socks5h", no_names, "forum.example"), ("socks5", public, PUBLIC)],
)
def test_pages_come_through_the_proxy_over_one_connection(client, server, kind, lookup, asked, login):
    secret = "ann:p%40ss%3Aword@" if login else ""

    with SmallProxy(login) as proxy:
        body = fetch(client, f"http://forum.example:{server.port}/", f"{kind}://{secret}{proxy.place}", lookup, times=3)

    assert body == b"page"
    assert proxy.asked == [f"{asked}:{server.port}"]
    assert server.connections == 1
    assert [visit.headers["host"] for visit in server.visits] == [f"forum.example:{server.port}"] * 3


@pytest.mark.parametrize(("kind", "lookup"), [("http", no_names), ("socks5", public)])
def test_tls_is_the_forums_own_through_the_proxy(client, kind, lookup, certificate: Path):
    server = SecureServer(certificate)

    with SmallProxy() as proxy:
        url = f"https://forum.example:{server.port}/"
        body = fetch(client, url, f"{kind}://{proxy.place}", lookup, ca_file=str(certificate))
        with pytest.raises(Unreachable, match=r"(?i)certificate|ssl"):
            fetch(client, url, f"{kind}://{proxy.place}", lookup)
    server.stop()

    assert body == b"page"
    assert set(server.names) == {"forum.example"}


def test_the_proxy_gets_its_login_and_nothing_of_ours_and_the_forum_no_login(client, server):
    with SmallProxy("ann:secret") as proxy:
        url = f"http://forum.example:{server.port}/"
        fetch(client, url, f"http://ann:secret@{proxy.place}", headers={"Cookie": "sid=1"}, origin=url[:-1])

    [head] = proxy.heads
    assert "Cookie" not in head
    assert "testbot" not in head
    assert server.visits[-1].headers["cookie"] == "sid=1"
    assert not [name for name in server.visits[-1].headers if name.startswith("proxy")]


@pytest.mark.parametrize("kind", ["http", "socks5", "socks5h"])
@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "localhost", "a.internal"])
def test_what_is_private_by_name_is_asked_of_no_proxy(client, kind, host):
    with SmallProxy() as proxy, pytest.raises(RefusedAddress):
        fetch(client, f"http://{host}/", f"{kind}://{proxy.place}")

    assert proxy.asked == []


def test_behind_socks5_every_address_that_a_name_has_is_checked_here(client):
    with SmallProxy() as proxy, pytest.raises(RefusedAddress, match=r"10\.0\.0\.1"):
        fetch(client, "http://forum.example/", f"socks5://{proxy.place}", lambda _: (PUBLIC, "10.0.0.1"))

    assert proxy.asked == []


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("http", b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\npage"),
        ("http", b"HTTP/1.1 502 Bad Gateway\r\n\r\n"),
        ("http", b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"),
        ("http", b"not HTTP at all\r\n\r\n"),
        ("http", b""),
        ("http", b"X" * 300_000),
        ("socks5h", b"\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"),
        ("socks5h", b"\x05\x00\x00"),
        ("socks5h", b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
)
def test_a_proxy_that_does_not_lead_there_is_no_answer_of_the_forum(client, kind, answer):
    with SmallProxy(answer=answer) as proxy, pytest.raises(FetchError) as caught:
        fetch(
            client,
            "http://forum.example/",
            f"{kind}://ann:hidden@{proxy.place}" if kind == "http" else f"{kind}://{proxy.place}",
        )

    assert type(caught.value) is not RefusedAddress
    assert caught.value.fate.value == "retry"
    assert caught.value.status == 0
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("proxy", "said", "told"),
    [
        ("http://p.example:1", b"HTTP/1.1 407 No\r\n\r\n", "answered '407'"),
        ("http://p.example:1", b"X" * 20_000, "did not answer in full"),
        ("http://p.example:1", b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "more than it was asked for"),
        ("socks5h://p.example:1", b"\x05\x02", "another way to log in"),
        ("socks5h://p.example:1", b"\x05\x00\x05\x02\x00\x01" + bytes(6), "does not allow it"),
        ("socks5h://ann:x@p.example:1", b"\x05\x02\x01\x01" + bytes(10), "refused user or password"),
    ],
)
def test_a_proxy_is_not_taken_for_a_way_because_it_answers(proxy, said, told):
    ours, theirs = socket.socketpair()

    with ours, theirs:
        theirs.sendall(said)
        with pytest.raises(ProxyRefusedError, match=told):
            open_tunnel(ours, read_proxy(proxy, "the test"), "forum.example", 80)


def test_a_proxy_that_resets_a_tunnel_as_it_opens_costs_an_attempt_and_no_page(client, server):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reset() -> None:
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = listener.accept()
                    sock.recv(4096)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    sock.close()

        threading.Thread(target=reset, daemon=True).start()
        proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"

        with pytest.raises(Unreachable):
            fetch(client, f"http://forum.example:{server.port}/", proxy)


def test_a_proxy_that_drips_costs_the_attempts_time_and_no_more(client, server):
    server.routes["forum.example:80"] = lambda visit: visit.drip(b"HTTP/1.1 200 OK ")

    with pytest.raises(DeadlineExceeded):
        fetch(client, "http://forum.example/", f"http://{server.place}", deadline_s=0.3)


@pytest.mark.parametrize("kind", ["http", "socks5h"])
def test_a_wrong_password_is_told_without_it(client, kind):
    with SmallProxy("ann:secret") as proxy, pytest.raises(Unreachable) as caught:
        fetch(client, "http://forum.example/", f"{kind}://ann:hidden@{proxy.place}")

    assert "hidden" not in str(caught.value)


def test_a_proxy_that_says_nothing_costs_the_attempts_time_and_no_more(client):
    listener = SmallProxy()  # takes connections, and serves none
    with pytest.raises(DeadlineExceeded):
        fetch(client, "http://forum.example/", f"http://{listener.place}", deadline_s=0.3)
    with listener:
        pass


def test_a_tunnel_of_one_user_is_not_lent_to_another(client, server):
    fetcher = Fetcher(build_client(client), Resolver(no_names))
    url = f"http://forum.example:{server.port}/"
    host = f"forum.example:{server.port}"

    with SmallProxy() as proxy:
        for user in ("ann", "bob", "ann"):
            through = read_proxy(f"http://{user}:x@{proxy.place}", "the test")
            terms = FetchPolicy("testbot", frozenset({host}), robots=False, proxy=through)
            fetcher.fetch(Request("site", Stage.LIST, "1", url), terms)
        fetcher.close()

    assert len(set(proxy.heads)) == len(proxy.heads) == 2


def test_what_one_request_was_to_reach_is_not_what_the_next_is(client, server):
    sender, url = build_client(client), f"http://forum.example:{server.port}/"

    with SmallProxy() as proxy:
        way = Route(read_proxy(f"http://{proxy.place}", "the test"), ("127.0.0.1",))
        for addresses in (PUBLIC,), ("1.1.1.1",), (), (PUBLIC,):
            there = Destination("http", "forum.example", server.port, addresses, way)
            deadline = time.monotonic() + 20
            sender.send(ClientRequest(url, {}, deadline, Limits(99, 99), there))
    sender.close()

    assert [place.partition(":")[0] for place in proxy.asked][:3] == [PUBLIC, "1.1.1.1", "forum.example"]
    assert set(proxy.asked[3:]) <= {f"{PUBLIC}:{server.port}"}


def test_the_environment_takes_no_site_from_its_proxy(client, server, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("NO_PROXY", "*")

    with SmallProxy() as proxy:
        fetch(client, f"http://forum.example:{server.port}/", f"http://{proxy.place}")

    assert len(proxy.asked) == 1


def test_robots_txt_is_asked_for_through_the_proxy_too(client, server):
    with SmallProxy() as proxy:
        fetch(client, f"http://forum.example:{server.port}/", f"http://{proxy.place}", robots=True)

    assert [visit.target for visit in server.visits] == ["/robots.txt", "/"]
    assert len(proxy.asked) == 1


def test_the_installations_proxy_holds_for_sites_that_name_none(client, server):
    host = f"forum.example:{server.port}"
    request = Request("site", Stage.LIST, "1", f"http://{host}/")
    direct = FetchPolicy("testbot", frozenset({host}), robots=False, proxy=DIRECT)

    with SmallProxy() as proxy:
        fetcher = build_fetcher(client, proxy=f"http://{proxy.place}")
        fetcher.fetch(request, FetchPolicy("testbot", frozenset({host}), robots=False))
        with pytest.raises(Unreachable, match=r"forum\.example"):  # its name is looked up here
            fetcher.fetch(request, direct)
        fetcher.close()

    assert proxy.asked == [host]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", DIRECT),
        ("direct", DIRECT),
        ("http://proxy.example:3128", Proxy(ProxyKind.HTTP, "proxy.example", 3128)),
        ("socks5://ann:p%3Aw@[::1]:1080/", Proxy(ProxyKind.SOCKS5, "::1", 1080, "ann", "p:w")),
        ("socks5h://ann@10.0.0.1:1080", Proxy(ProxyKind.SOCKS5H, "10.0.0.1", 1080, "ann")),
    ],
)
def test_an_address_is_read(text, expected):
    assert read_proxy(text, "CRAWL_PROXY") == expected


@pytest.mark.parametrize(
    "text",
    [
        "proxy.example:3128",
        "hidden",
        "https://ann:hidden@proxy.example:3128",
        "http://ann:hidden@proxy.example",
        "http://ann:hidden@proxy.example:0",
        "http://ann:hidden@proxy.example:99999",
        "http://ann:hidden%0d%0aX@proxy.example:1",
        f"http://ann:{'hidden' * 50}@proxy.example:1",
        "http://ann:hidden@proxy.example:1/path",
        "http://ann:hidden@@proxy.example:1",
        "http://a b:hidden@proxy.example:1",
    ],
)
def test_what_is_no_proxy_is_refused_without_being_shown(text):
    with pytest.raises(ConfigError, match="CRAWL_PROXY") as caught:
        read_proxy(text, "CRAWL_PROXY")

    assert "hidden" not in str(caught.value)


def test_a_password_is_in_no_text_of_a_proxy():
    proxy = read_proxy("http://ann:hidden@proxy.example:3128", "CRAWL_PROXY")

    assert str(proxy) == "http://proxy.example:3128"
    assert "hidden" not in repr(FetchPolicy("testbot", frozenset(), proxy=proxy))


@pytest.mark.parametrize(
    ("line", "variables", "expected"),
    [
        ("", {}, None),
        ("proxy: direct", {}, DIRECT),
        ("proxy: http://proxy.example:3128", {}, Proxy(ProxyKind.HTTP, "proxy.example", 3128)),
        ("proxy: FORUM_PROXY", {"FORUM_PROXY": "socks5://a:b@p:1"}, Proxy(ProxyKind.SOCKS5, "p", 1, "a", "b")),
    ],
)
def test_a_site_file_names_its_proxy_or_the_variable_that_holds_it(line, variables, expected):
    assert site_proxy(parse_site(f"{RULES}{line}\n", "demo.yaml"), variables) == expected


@pytest.mark.parametrize("value", ["", "hidden"])
def test_a_variable_without_a_proxy_stops_the_site_and_is_not_shown(value):
    site = parse_site(f"{RULES}proxy: FORUM_PROXY\n", "demo.yaml")

    with pytest.raises(ConfigError, match="site demo: FORUM_PROXY") as caught:
        site_proxy(site, {"FORUM_PROXY": value})

    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "value", ["http://ann:hidden@proxy.example:3128", "CRAWL_REDIS_URL", "https://p:1", "http://p"]
)
def test_a_site_file_holds_no_password_and_names_no_other_variable(value):
    with pytest.raises(ConfigError, match="proxy"):
        parse_site(f"{RULES}proxy: {value}\n", "demo.yaml")
