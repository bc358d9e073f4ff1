"""What besides the wire belongs to a client: TLS, the watchdog, the policy's headers, who is made by name."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest

from crawl_tasks.errors import SettingsError, TooLarge, Unreachable
from crawl_tasks.fetch.address_guard import Destination
from crawl_tasks.fetch.curl.client import CurlClient
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.fetcher import build_client
from crawl_tasks.fetch.http_client import Client, ClientRequest, Limits
from crawl_tasks.fetch.requests.client import RequestsClient
from crawl_tasks.fetch.requests.watchdog import Watchdog
from crawl_tasks.settings import Settings
from tests.serving import signed_for
from tests.unit.hostile_server import HostileServer, page
from tests.waiting import eventually

LIMITS = Limits(wire_bytes=1 << 20, body_bytes=1 << 20)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for forum.example, signed by itself, with its key."""
    return signed_for(2, tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize("name", get_args(Settings.model_fields["http_client"].annotation))
def test_each_client_that_the_settings_offer_is_made(name: str) -> None:
    client = build_client(name)

    assert client.__class__.__name__.lower() == f"{name}client"
    client.close()


class SecureServer:
    """Answers every request over TLS, and notes the names it was asked for."""

    def __init__(self, certificate: Path) -> None:
        self.names: list[str | None] = []
        self.handshakes = 0
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        context.sni_callback = lambda _, name, __: self.names.append(name)
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError), self._context.wrap_socket(sock, server_side=True) as secure:
            self.handshakes += 1
            while secure.recv(65536):
                secure.sendall(ANSWER)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@pytest.fixture
def secure_server(certificate: Path) -> Iterator[SecureServer]:
    server = SecureServer(certificate)
    yield server
    server.stop()


def client_of(name: str, ca_file: Path | None) -> Client:
    return build_client(name, ca_file="" if ca_file is None else str(ca_file))


def ask(client: Client, host: str, port: int) -> bytes:
    there = Destination("https", host, port, ("127.0.0.1",))
    url = f"https://{host}:{port}/"
    return client.send(ClientRequest(url, {}, time.monotonic() + 20, LIMITS, there)).wire


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_no_header_of_a_request_goes_with_the_next(name):
    server, client = HostileServer({"/": page(b"page")}), build_client(name)
    wanted = [{"Cookie": "sid=secret", "X-A": "1"}, {"X-A": "1"}, {}, {"X-A": "2"}, {"X-A": ""}, {"X-A": "2"}]

    for headers in wanted:
        ask_plainly(client, server, headers, LIMITS)
    client.close()
    server.stop()

    came = [{key: visit.headers[key] for key in ("cookie", "x-a") if key in visit.headers} for visit in server.visits]
    assert came == [{key.lower(): value for key, value in headers.items()} for headers in wanted]
    assert server.connections == 1


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_each_request_has_its_own_limits(name):
    server, client = HostileServer({"/": page(b"a" * 100_000)}), build_client(name)
    small, cut = Limits(99_999, 99_999), Limits(1_000, 1_000, cut=True)

    sizes = [len(ask_plainly(client, server, {}, limits)) for limits in (LIMITS, cut, LIMITS)]
    with pytest.raises(TooLarge):
        ask_plainly(client, server, {}, small)
    sizes.append(len(ask_plainly(client, server, {}, LIMITS)))
    client.close()
    server.stop()

    assert sizes == [100_000, 1_000, 100_000, 100_000]


def ask_plainly(client: Client, server: HostileServer, headers: dict[str, str], limits: Limits) -> bytes:
    there = Destination("http", "127.0.0.1", server.port, ("127.0.0.1",))
    deadline = time.monotonic() + 20
    return client.send(ClientRequest(server.base + "/", headers, deadline, limits, there)).wire


@pytest.mark.parametrize(("name", "most"), [("requests", 300), ("curl", 600)])
def test_hundreds_of_polite_sites_are_not_connected_to_anew_for_each_page(name, most):
    server, client = HostileServer({"/": page(b"page")}), build_client(name)

    def ask_host(number: int) -> bytes:
        there = Destination("http", f"f{number}.example", server.port, ("127.0.0.1",))
        deadline = time.monotonic() + 20
        return client.send(ClientRequest(f"http://{there.host}:{server.port}/", {}, deadline, LIMITS, there)).wire

    with ThreadPoolExecutor(4) as threads:
        bodies = [body for _ in range(3) for body in threads.map(ask_host, range(300))]
    connections = server.connections
    client.close()
    server.stop()

    assert bodies == [b"page"] * 900
    assert connections <= most


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_trusted_certificate_is_taken_under_the_hosts_own_name(name, secure_server, certificate):
    client = client_of(name, certificate)

    bodies = [ask(client, "forum.example", secure_server.port) for _ in range(3)]
    client.close()

    assert bodies == [b"page"] * 3
    assert secure_server.names == ["forum.example"]


@pytest.mark.parametrize("name", ["requests", "curl"])
@pytest.mark.parametrize("host", ["forum.example", "other.example"])
def test_wrong_certificate_is_refused(name, host, secure_server, certificate):
    trusted = certificate if host == "other.example" else None
    client = client_of(name, trusted)

    with pytest.raises(Unreachable, match=r"(?i)certificate|ssl"):
        ask(client, host, secure_server.port)
    client.close()


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_certificate_that_has_expired_is_refused_even_where_it_is_trusted(name, tmp_path):
    expired = signed_for(-1, tmp_path)
    server, client = SecureServer(expired), client_of(name, expired)

    with pytest.raises(Unreachable, match=r"(?i)expired"):
        ask(client, "forum.example", server.port)
    client.close()
    server.stop()


def test_certificates_to_trust_are_looked_for_before_anything_is_fetched():
    with pytest.raises(SettingsError, match="CRAWL_CA_FILE: there is no file"):
        build_client("requests", ca_file="/nowhere.pem")


@pytest.mark.parametrize("name", ["requests", "curl"])
def test_server_that_speaks_no_tls_is_unreachable(name):
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        sock, _ = listener.accept()
        with sock:
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 4)

    thread = threading.Thread(target=answer)
    thread.start()
    client = client_of(name, None)

    with pytest.raises(Unreachable):
        ask(client, "forum.example", listener.getsockname()[1])
    client.close()
    thread.join()
    listener.close()


def test_watchdog_ends_a_read_that_would_last_for_ever():
    ours, theirs = socket.socketpair()

    with ours, theirs, Watchdog().guard(time.monotonic() + 0.05) as attempt:
        attempt.hold(ours)
        read = ours.recv(1)

    assert read == b""
    assert attempt.expired


def test_watchdog_ends_a_socket_that_comes_after_the_deadline():
    ours, theirs = socket.socketpair()

    with ours, theirs, Watchdog().guard(time.monotonic() - 1) as attempt:
        eventually(lambda: attempt.expired)
        attempt.hold(ours)
        read = ours.recv(1)

    assert read == b""


def test_watchdog_leaves_alone_what_ended_in_time():
    ours, theirs = socket.socketpair()

    with Watchdog().guard(time.monotonic() + 3_600) as early:
        early.hold(ours)
    early.expire()  # as the watchdog does at the deadline
    theirs.sendall(b"x")

    assert not early.expired
    assert ours.recv(1) == b"x"
    ours.close()
    theirs.close()


def test_watchdog_serves_an_earlier_deadline_that_comes_later():
    watchdog = Watchdog()

    with watchdog.guard(time.monotonic() + 3_600) as late, watchdog.guard(time.monotonic() + 0.02) as early:
        eventually(lambda: early.expired)

    assert not late.expired


def test_no_descriptor_stays_open():
    watchdog = Watchdog()
    ours, theirs = socket.socketpair()

    with watchdog.guard(time.monotonic() + 60) as attempt:
        for _ in range(3):
            attempt.hold(ours)
    ours.close()

    assert theirs.recv(1) == b""
    theirs.close()


def test_client_is_made_by_name():
    assert isinstance(build_client("requests"), RequestsClient)
    assert isinstance(build_client("curl"), CurlClient)
    with pytest.raises(SettingsError, match="wget"):
        build_client("wget")


@pytest.mark.parametrize(
    ("origin", "first", "expected"),
    [
        ("https://forum.example", "https://forum.example", {"Cookie", "Accept-Language"}),
        ("http://forum.example", "http://forum.example", {"Accept-Language"}),
        ("https://forum.example:8443", "https://forum.example", {"Accept-Language"}),
        ("https://www.forum.example", "https://forum.example", {"Accept-Language"}),
    ],
)
def test_secrets_go_to_the_sites_origin_only(origin, first, expected):
    policy = FetchPolicy(
        user_agent="testbot",
        allowed_hosts=frozenset(),
        headers={"Cookie": "sid=secret", "Accept-Language": "zh"},
        origin="https://forum.example",
    )

    assert policy.headers_for(origin, first).keys() == expected


@pytest.mark.parametrize(("first", "expected"), [("https://forum.example", {"Cookie"}), ("", set())])
def test_without_an_origin_secrets_go_to_that_of_the_page(first, expected):
    policy = FetchPolicy(user_agent="testbot", allowed_hosts=frozenset(), headers={"Cookie": "sid=secret"})

    assert policy.headers_for("https://forum.example", first).keys() == expected
