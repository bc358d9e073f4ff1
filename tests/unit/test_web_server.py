"""The exporter's HTTP: one request, one answer; guesses are few; whoever hangs holds up nobody."""

from __future__ import annotations

import select
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import redis

from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.store.item_reader import ItemReader
from crawl_tasks.web.actions import Actions
from crawl_tasks.web.http_server import THREADS, HttpAnswer, HttpRequest, WebServer
from crawl_tasks.web.item_pages import ItemPages
from crawl_tasks.web.login import WRONG_A_MINUTE, AttemptLimit, Login
from crawl_tasks.web.server import ExporterServer
from crawl_tasks.web.snapshot_cache import SnapshotCache
from tests.serving import NO_DATABASE, serving

PASSWORD = "correct-horse-battery"
LOCAL = "Host: localhost"


@pytest.fixture
def server(client: redis.Redis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from exporter(client, PASSWORD)


def exporter(client: redis.Redis, password: str) -> Iterator[str]:
    frontier = Frontier(client, "test")
    items = ItemPages(ItemReader("sqlite:////nowhere/none.db", None))  # type: ignore[arg-type]
    snapshots, actions = SnapshotCache(lambda: take_snapshot(frontier)), Actions(Cells([frontier]), NO_DATABASE)
    with serving(ExporterServer(("127.0.0.1", 0), snapshots, actions, Login(password), items=items)) as url:
        yield url


def connect(url: str) -> socket.socket:
    place = urllib.parse.urlsplit(url)
    return socket.create_connection((str(place.hostname), int(str(place.port))), timeout=30)


def say(url: str, *lines: str, body: bytes = b"") -> bytes:
    """Send a request as it stands; return all that comes until the server closes."""
    with connect(url) as visitor:
        visitor.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        received = b""
        try:
            while piece := visitor.recv(65536):
                received += piece
        except ConnectionError:  # closed with bytes of ours unread
            pass
        return received


INNER = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/login", "/posts", "/nowhere"])
@pytest.mark.parametrize("how", ["length", "chunked", "both", "two lengths", "larger than the limit"])
def test_a_request_for_a_page_with_a_body_gets_one_answer_and_an_end(
    server: str, method: str, path: str, how: str
) -> None:
    length = f"Content-Length: {len(INNER)}"
    headers, body = {
        "length": ([length], INNER),
        "chunked": (["Transfer-Encoding: chunked"], b"%x\r\n%s\r\n0\r\n\r\n" % (len(INNER), INNER)),
        "both": ([length, "Transfer-Encoding: chunked"], INNER),
        "two lengths": ([length, "Content-Length: 0"], INNER),
        "larger than the limit": (["Content-Length: 70000"], INNER * 2000),
    }[how]

    answer = say(server, f"{method} {path} HTTP/1.1", LOCAL, *headers, body=body)

    assert answer.count(b"HTTP/1.1 ") <= 1
    assert answer.startswith(b"HTTP/1.1 400 ") or how == "larger than the limit"
    assert b"200" not in answer.partition(b"\r\n")[0]


def test_a_second_request_of_a_connection_is_not_answered(server: str) -> None:
    answer = say(server, "GET /healthz HTTP/1.1", LOCAL, body=INNER)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["GET /healthz HTTP/1.1", "Host: ["], (400, 421)),
        (["GET /healthz HTTP/1.1", "Host: ]["], (400, 421)),
        (["GET /healthz HTTP/1.1", "Host: [::1"], (400, 421)),
        (["GET /healthz HTTP/1.1", "Host: a b"], (400, 421)),
        (["GET /healthz HTTP/1.1", "Host: a@b"], (400, 421)),
        (["GET /healthz HTTP/1.1", "Host: x,evil.example"], (400, 421)),
        (["GET /healthz HTTP/1.1", "Host: x", "Host: evil.example"], (400, 421)),
        (["GET /healthz HTTP/1.1", "Host:"], (400, 421)),
        (["GET /healthz HTTP/1.1"], (400, 421)),
        (["POST /login HTTP/1.1", LOCAL, "Content-Length: " + "9" * 5000], (400,)),
        (["POST /login HTTP/1.1", LOCAL, "Content-Length: -1"], (400,)),
        (["POST /login HTTP/1.1", LOCAL, "Content-Length: 1e3"], (400,)),
        (["POST /login HTTP/1.1", LOCAL, "Content-Length: +5"], (400,)),
        (["POST /login HTTP/1.1", LOCAL, "Transfer-Encoding: gzip"], (400, 501)),
        (["POST /login HTTP/1.1", LOCAL, "Transfer-Encoding: chunked", "Content-Length: 3"], (400,)),
        (["GET /healthz HTTP/1.1", LOCAL, "X: " + "x" * 20_000], (400, 431)),
        (["GET /" + "x" * 20_000 + " HTTP/1.1", LOCAL], (400, 414)),
        (["GET /healthz HTTP/2.0", LOCAL], (400, 505)),
        (["GET  HTTP/1.1", LOCAL], (400,)),
        (["nonsense", LOCAL], (400,)),
        (["GET //[ HTTP/1.1", LOCAL], (404,)),
        (["GET http://[/metrics HTTP/1.1", LOCAL], (400, 404)),
        (["DELETE / HTTP/1.1", LOCAL], (405,)),
        (["GET /healthz HTTP/1.1", LOCAL, "Cookie: crawl_session=\xff\xfe; ="], (200,)),
    ],
    ids=lambda value: " | ".join(value)[:50] if isinstance(value, list) else "",
)
def test_odd_requests_are_answered_by_their_status_and_no_traceback(
    server: str, lines: list[str], status: tuple[int, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    answer = say(server, *lines)

    if len("".join(lines)) < 16_000:
        assert int(answer.split(b" ")[1]) in status, answer[:200]
    assert b" 200 " not in answer.partition(b"\r\n")[0] or 200 in status
    assert "Traceback" not in capfd.readouterr().err


def test_no_header_names_the_program_and_its_version(server: str) -> None:
    for lines in (["GET / HTTP/1.1", LOCAL], ["GET /none HTTP/1.1", LOCAL], ["DELETE / HTTP/1.1", LOCAL]):
        head = say(server, *lines).partition(b"\r\n\r\n")[0].lower()
        assert b"python" not in head
        assert b"\r\nserver:" not in head


# -- passwords -------------------------------------------------------------------------------------------------


def guess(url: str, word: str, *, hangs_up: bool = False) -> int:
    body = f"password={word}".encode()
    with connect(url) as visitor:
        head = f"POST /login HTTP/1.1\r\n{LOCAL}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        visitor.sendall(head + body)
        return 0 if hangs_up else int(visitor.recv(50).split(b" ")[1])


def test_a_password_is_looked_at_ten_times_a_minute_whether_visitors_wait_or_hang_up(server: str) -> None:
    with ThreadPoolExecutor(40) as pool:
        list(pool.map(lambda number: guess(server, f"guess-{number}", hangs_up=number % 2 == 0), range(400)))

    assert guess(server, PASSWORD) == 429  # also the right one: an answer tells nothing about a password
    assert guess(server, "wrong") == 429


def test_of_wrong_passwords_ten_a_minute_are_looked_at() -> None:
    now = [0.0]
    login = Login(PASSWORD, lambda: now[0])
    looked_at = 0
    for second in range(600):
        now[0] = float(second)
        for _ in range(20):
            try:
                login.enter("wrong")
                looked_at += 1
            except AttemptLimit:
                continue

    assert looked_at == 10 * WRONG_A_MINUTE


def test_right_passwords_are_not_counted(server: str) -> None:
    assert {guess(server, PASSWORD) for _ in range(3 * WRONG_A_MINUTE)} == {303}


def test_a_wrong_and_a_refused_password_take_no_time_that_tells_them_apart() -> None:
    """No visitor waits in a thread: a thousand hung-up logins would fill the exporter."""
    login, before = Login(PASSWORD), time.thread_time()
    for _ in range(1000):
        try:
            login.enter("wrong")
        except AttemptLimit:
            continue

    assert time.thread_time() - before < 1  # not a wait of a second each


@pytest.mark.parametrize(("proto", "is_secure"), [("https", True), ("HTTPS", True), ("http", False), ("", False)])
def test_a_cookie_is_secure_where_a_proxy_came_by_tls(server: str, proto: str, is_secure: bool) -> None:
    body = f"password={PASSWORD}"
    more = [f"X-Forwarded-Proto: {proto}"] if proto else []

    answer = say(
        server, "POST /login HTTP/1.1", LOCAL, *more, f"Content-Length: {len(body)}", body=body.encode()
    ).decode()

    [cookie] = [line for line in answer.split("\r\n") if line.lower().startswith("set-cookie")]
    assert ("; Secure" in cookie) == is_secure
    assert "HttpOnly; SameSite=Strict" in cookie


# -- forwarded requests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        ["GET /posts HTTP/1.1", LOCAL, "X-Forwarded-For: 203.0.113.7"],
        ["GET /posts HTTP/1.1", LOCAL, "x-forwarded-host: status.example"],
        ["GET /posts HTTP/1.1", LOCAL, "X-Forwarded-Anything: x"],
        ["GET /posts HTTP/1.1", LOCAL, "Forwarded: for=203.0.113.7"],
        ["GET /posts HTTP/1.1", LOCAL, "X-Real-IP: 203.0.113.7"],
        ["GET /posts HTTP/1.1", LOCAL, "Via: 1.1 proxy"],
        ["GET /posts HTTP/1.0", "Host: 127.0.0.1:9817"],  # nginx without any further line
        ["GET /posts HTTP/1.1", "Host: exporter"],  # nginx with `upstream exporter`
        ["GET /posts HTTP/1.1", "Host: 10.0.0.5"],
        ["GET /posts HTTP/1.1", "Host: 203.0.113.7:80"],
    ],
    ids=lambda lines: " ".join(lines[1:]) + lines[0][-4:],
)
def test_a_forwarded_request_is_no_request_of_this_machine(client: redis.Redis, lines: list[str]) -> None:
    for url in exporter(client, ""):
        own = say(url, "GET /posts HTTP/1.1", "Host: 127.0.0.1:9817")
        forwarded = say(url, *lines)

    assert own.split(b" ")[1] == b"503"  # the pages are shown: there is only no database
    assert forwarded.split(b" ")[1] == b"403"


# -- crowds ----------------------------------------------------------------------------------------------------


def test_whoever_hangs_holds_up_neither_metrics_nor_pages(server: str) -> None:
    with ExitStack() as stack:
        hanging = [stack.enter_context(connect(server)) for _ in range(900)]
        for number, visitor in enumerate(hanging):
            try:
                visitor.sendall(b"GET / HTTP/1.1\r\nX: " if number % 2 else b"POST /login HTTP/1.1\r\nHost: x\r\n")
            except ConnectionError:  # the oldest are closed already
                continue

        answers = [say(server, f"GET {path} HTTP/1.1", LOCAL)[:13] for path in ("/metrics", "/healthz", "/")]

    assert answers == [b"HTTP/1.1 200 "] * 3


def test_pages_that_take_long_hold_up_no_probe_and_are_bounded() -> None:
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def answer(request: HttpRequest) -> HttpAnswer:
        if request.target == "/slow":
            begun.release()
            go_on.wait(60)
        return HttpAnswer("ok\n")

    with serving(WebServer(("127.0.0.1", 0), answer)) as url, ExitStack() as stack:
        slow = [stack.enter_context(connect(url)) for _ in range(THREADS + 260)]
        for visitor in slow:
            visitor.sendall(f"GET /slow HTTP/1.1\r\n{LOCAL}\r\n\r\n".encode())
        for _ in range(THREADS):
            assert begun.acquire(timeout=30)
        probes = [say(url, f"GET {path} HTTP/1.1", LOCAL) for path in ("/metrics", "/healthz")]
        answered, _, _ = select.select(slow, [], [], 30)
        refused = {visitor.recv(13) for visitor in answered}
        threads = sum(thread.name.startswith("page") for thread in threading.enumerate())
        go_on.set()

    assert [answer[:13] for answer in probes] == [b"HTTP/1.1 200 "] * 2
    assert refused == {b"HTTP/1.1 503 "}
    assert threads == THREADS


def test_a_page_that_cannot_be_made_is_answered(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("crawl_tasks.web.server.overview", fail)

    assert say(server, "GET / HTTP/1.1", LOCAL).startswith(b"HTTP/1.1 500 ")
