"""Where a request may go: every address is checked, and the checked one is connected to."""

from __future__ import annotations

import threading
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.errors import DeadlineExceeded, FetchError, RefusedAddress, Unreachable
from crawl_tasks.fetch.address_guard import AddressGuard, Destination, is_public
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.resolver import Resolver
from crawl_tasks.model import Request, Stage
from crawl_tasks.urls import normalize
from tests.unit.hostile_server import HostileServer, page

PUBLIC = ("8.8.8.8", "1.1.1.1", "114.114.114.114", "192.31.195.255", "172.32.0.1", "100.63.0.1", "223.255.255.255",
          "2606:4700:4700::1111", "2400:3200::1", "2a00:1450:4001:80b::200e")  # fmt: skip

NOT_PUBLIC = (
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.255",
    "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1",
    "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:20::1",
    "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1",
    "fe80::1%lo", "fec0::1", "ff02::1", "2606:4700:4700::1111%1", "not an address", "",
)  # fmt: skip

NAMES = {
    "forum.example": ("8.8.8.8",),
    "two.example": ("8.8.8.8", "1.1.1.1"),
    "six.example": ("2606:4700:4700::1111",),
    "mixed.example": ("8.8.8.8", "10.0.0.1"),
    "inside.example": ("10.0.0.1",),
    "none.example": (),
}  # fmt: skip
ALLOWED = frozenset(
    {*NAMES, "forum.example:8443", "inside.example:8080", "localhost", "forum.local", "a.internal", "metadata",
     "x.localhost", "8.8.8.8", "10.0.0.1", "127.0.0.1", "[::1]", "[2606:4700:4700::1111]", "unknown.example"}
)  # fmt: skip


def lookup(host: str) -> tuple[str, ...]:
    if host in NAMES:
        return NAMES[host]
    raise OSError(f"no such name: {host}")


def check(url: str, *private: str, any_host: bool = False) -> Destination:
    policy = FetchPolicy(user_agent="testbot", allowed_hosts=ALLOWED, private_hosts=frozenset(private))
    return AddressGuard(Resolver(lookup)).check(normalize(url), policy, 5.0, any_host=any_host)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_address_that_may_lead_inside_is_not_public(address):
    assert not is_public(address)


@given(st.ip_addresses())
def test_public_is_never_more_than_python_calls_global(ip):
    assert not is_public(str(ip)) or (ip.is_global and not ip.is_multicast)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://forum.example/", Destination("http", "forum.example", 80, ("8.8.8.8",))),
        ("https://two.example/x", Destination("https", "two.example", 443, ("8.8.8.8", "1.1.1.1"))),
        ("https://forum.example:8443/", Destination("https", "forum.example", 8443, ("8.8.8.8",))),
        ("http://forum.example:443/", Destination("http", "forum.example", 443, ("8.8.8.8",))),
        ("http://8.8.8.8/", Destination("http", "8.8.8.8", 80, ("8.8.8.8",))),
        (
            "http://[2606:4700:4700::1111]/",
            Destination("http", "2606:4700:4700::1111", 80, ("2606:4700:4700::1111",)),
        ),
    ],
)
def test_public_host_of_the_site_is_let_through(url, expected):
    assert check(url) == expected


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://elsewhere.example/", "not a host of this site"),
        ("http://forum.example.elsewhere.example/", "not a host of this site"),
        ("http://forum.example:22/", "port 22"),
        ("http://forum.example:6379/", "port 6379"),
        ("http://mixed.example/", "10.0.0.1"),
        ("http://inside.example/", "10.0.0.1"),
        ("http://inside.example:8080/", "10.0.0.1"),
        ("http://10.0.0.1/", "10.0.0.1"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://①②⑦.⓪.⓪.①/", "127.0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://localhost/", "local network"),
        ("http://LOCALHOST./", "local network"),
        ("http://x.localhost/", "local network"),
        ("http://forum.local/", "local network"),
        ("http://a.internal/", "local network"),
        ("http://metadata/", "local network"),
    ],
)
def test_way_inside_is_refused(url, says):
    with pytest.raises(RefusedAddress, match=says.replace(".", r"\.")):
        check(url)


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://inside.example:8080/", "inside.example:8080"),
        ("http://mixed.example/", "mixed.example:80"),
        ("http://127.0.0.1/", "127.0.0.1:80"),
        ("http://[::1]:9/", "[::1]:9"),
    ],
)
def test_private_address_is_gone_to_where_the_site_names_host_and_port(url, private):
    if "[" in url:
        policy = FetchPolicy(
            user_agent="testbot", allowed_hosts=frozenset({"[::1]"}), private_hosts=frozenset({private})
        )
        found = AddressGuard(Resolver(lookup)).check(url, policy, 5.0)
    else:
        found = check(url, private)

    assert any(not is_public(address) for address in found.addresses)


@pytest.mark.parametrize("private", ["inside.example:81", "10.0.0.1:80", "inside.example", "forum.example:80"])
def test_private_address_under_another_name_or_port_stays_refused(private):
    with pytest.raises(RefusedAddress):
        check("http://inside.example/", private)


def test_robots_may_lead_to_another_host_but_not_inside():
    NAMES["cdn.example"] = ("1.1.1.1",)

    found = check("http://cdn.example/robots.txt", any_host=True)
    del NAMES["cdn.example"]

    assert found.addresses == ("1.1.1.1",)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/", "http://10.0.0.1/", "http://inside.example/", "http://two.example:25/",
        "http://mixed.example/", "http://169.254.169.254/", "http://①②⑦.⓪.⓪.①/", "http://[::1]/", "http://[::]/",
        "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::1]/", "http://[2002:7f00:1::]/",
        "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "http://[fd00:ec2::254]/", "http://[fe80::1]/",
    ],
)  # fmt: skip
def test_no_hop_leads_inside_not_even_where_any_host_is_allowed(url):
    with pytest.raises(RefusedAddress, match=r"not public|local network|port 25"):
        check(url, any_host=True)


@pytest.mark.parametrize("url", ["http://unknown.example/", "http://none.example/"])
def test_name_without_address_is_unreachable(url):
    with pytest.raises(Unreachable, match="example"):
        check(url)


def test_name_is_remembered_for_a_minute_and_failures_are_not():
    now = [0.0]
    asked: list[str] = []

    def counting(host: str) -> tuple[str, ...]:
        asked.append(host)
        return lookup(host)

    resolver = Resolver(counting, lambda: now[0])
    for moment in (0.0, 59.0, 61.0):
        now[0] = moment
        resolver.addresses("forum.example", 5.0)
    for _ in range(2):
        with pytest.raises(Unreachable):
            resolver.addresses("unknown.example", 5.0)

    assert asked == ["forum.example"] * 2 + ["unknown.example"] * 2


def test_slow_resolver_costs_the_attempt_and_is_asked_once():
    asked: list[str] = []
    go_on = threading.Event()

    def slow(host: str) -> tuple[str, ...]:
        asked.append(host)
        go_on.wait(30)
        return ("8.8.8.8",)

    resolver = Resolver(slow)
    for _ in range(3):
        with pytest.raises(DeadlineExceeded):
            resolver.addresses("forum.example", 0.01)
    go_on.set()

    assert resolver.addresses("forum.example", 30.0) == ("8.8.8.8",)
    assert len(asked) == 1


def test_memory_of_names_is_bounded():
    resolver = Resolver(lambda host: ("8.8.8.8",))

    for number in range(4_200):
        resolver._answer(f"{number}.example")

    assert len(resolver._known) <= 4_096


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_connection_goes_to_the_checked_address_whatever_the_name_says_now(name):
    server = HostileServer({"/": page(b"page")})
    place = f"rebound.example:{server.port}"
    policy = FetchPolicy(
        user_agent="testbot", allowed_hosts=frozenset({"rebound.example"}), private_hosts=frozenset({place})
    )
    fetcher = Fetcher(build_client(name), Resolver(lambda _: ("127.0.0.1",)))

    fetched = fetcher.fetch(Request("site", Stage.LIST, "1", f"http://{place}/"), policy)
    fetcher.close()
    server.stop()

    assert fetched.body == b"page"
    assert server.visits[-1].headers["host"] == place


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_open_connection_to_an_address_that_is_no_longer_the_hosts_is_not_used(name):
    server = HostileServer({"/": page(b"page")})
    place = f"moving.example:{server.port}"
    policy = FetchPolicy(
        user_agent="testbot", allowed_hosts=frozenset({"moving.example"}), private_hosts=frozenset({place})
    )
    now = [0.0]
    found = [("127.0.0.1",)]
    fetcher = Fetcher(build_client(name), Resolver(lambda _: found[0], lambda: now[0]))
    request = Request("site", Stage.LIST, "1", f"http://{place}/")

    fetcher.fetch(request, policy)
    found[0], now[0] = ("127.0.0.2",), 100.0
    with pytest.raises(FetchError):
        fetcher.fetch(request, policy)
    fetcher.close()
    server.stop()

    assert server.connections == 1


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_next_address_is_tried_when_one_does_not_answer(name):
    server = HostileServer({"/": page(b"page")})
    place = f"two.example:{server.port}"
    policy = FetchPolicy(
        user_agent="testbot", allowed_hosts=frozenset({"two.example"}), private_hosts=frozenset({place})
    )
    fetcher = Fetcher(build_client(name), Resolver(lambda _: ("127.0.0.2", "127.0.0.1")))

    fetched = fetcher.fetch(Request("site", Stage.LIST, "1", f"http://{place}/"), policy)
    fetcher.close()
    server.stop()

    assert fetched.body == b"page"


def test_every_listed_address_is_one():
    assert all(ip_address(address) for address in PUBLIC)
