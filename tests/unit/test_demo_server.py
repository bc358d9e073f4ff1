"""The demo forum's server: HTTP on kept connections, the journal, the command line."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.http_request import MAX_HEAD_BYTES, BadRequestError, DemoRequest, read_call
from tests.faulty.faults import Fault
from tests.faulty.server import FaultyServer
from tests.threaded_forum import ThreadedForum
from tests.waiting import PATIENCE_S, eventually

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def forum() -> DemoForum:
    return DemoForum(1)


@pytest.fixture
def server(forum: DemoForum) -> Iterator[ThreadedForum]:
    with ThreadedForum(forum) as server:
        yield server


def ask(server: ThreadedForum, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path)
    response = connection.getresponse()
    answer = response.status, dict(response.headers), response.read()
    connection.close()
    return answer


def exchange(server: ThreadedForum, sent: bytes) -> bytes:
    """Send raw bytes and read until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(sent)
        received = b""
        while piece := client.recv(65536):
            received += piece
    return received


def test_response_has_date_length_and_charset(server: ThreadedForum, forum: DemoForum) -> None:
    status, headers, body = ask(server, "GET", "/list/1/1")

    assert status == 200
    assert abs(int(headers.pop("Age")) + forum.now - time.time()) < 60
    assert headers == {
        "Content-Type": "text/html; charset=utf-8",
        "Date": forum.date,
        "Content-Length": str(len(body)),
    }
    assert body == forum.render("/list/1/1").body


def test_many_requests_share_one_connection(server: ThreadedForum, forum: DemoForum) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for path in forum.truth().paths:
        connection.request("GET", path)
        assert connection.getresponse().read() == forum.render(path).body
    connection.close()

    assert [entry.path for entry in server.log] == list(forum.truth().paths)
    assert {entry.connection for entry in server.log} == {1}


def test_calls_in_one_packet_are_answered_in_order(server: ThreadedForum) -> None:
    first = b"GET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    received = exchange(server, first * 2 + last)

    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.rindex(b"HTTP/1.1 200 OK") < received.index(b"HTTP/1.1 404 Not Found")
    assert b"Connection: close" in received


def test_call_in_single_bytes_is_understood(server: ThreadedForum) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\n":
            client.sendall(bytes([byte]))

        assert client.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")


def test_http_1_0_is_answered_and_closed(server: ThreadedForum) -> None:
    assert exchange(server, b"GET /robots.txt HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")


def test_head_is_a_get_without_its_body(server: ThreadedForum) -> None:
    got, asked = ask(server, "GET", "/list/1/1"), ask(server, "HEAD", "/list/1/1")

    assert asked == (got[0], got[1], b"")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST /list/1/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", 405),
        (b"DELETE /list/1/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 405),
        (b"BREW /list/1/1 HTTP/1.1\r\nHost: x\r\n\r\n", 501),
        (b"GET /list/1/1 HTTP/1.1\r\n\r\n", 400),
        (b"GET  /list/1/1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET list HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /list/1/1 HTTP/2.0\r\nHost: x\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * (MAX_HEAD_BYTES + 1), 431),
    ],
)
def test_what_is_no_get_is_refused_and_the_connection_closed(server: ThreadedForum, sent: bytes, status: int) -> None:
    assert exchange(server, sent).startswith(f"HTTP/1.1 {status} ".encode())


def test_absolute_target_is_read() -> None:
    sent = b"GET http://127.0.0.1:1/list/1/1?a=b HTTP/1.1\r\nHost: x\r\n\r\n"

    assert read_call(sent + b"rest") == (DemoRequest("GET", "/list/1/1?a=b", keeps=True), len(sent))


def test_part_of_a_call_is_not_yet_a_call() -> None:
    assert read_call(b"GET / HTTP/1.1\r\nHost: x\r\n") is None
    with pytest.raises(BadRequestError):
        read_call(b"GET / HTTP/1.1\r\nX\r\n\r\n")


@given(
    st.binary()
    | st.lists(
        st.sampled_from([b"GET", b"POST", b" ", b"/", b"HTTP/1.1", b"\r\n", b"Host: x", b"Content-Length: ", b"1"])
    )
    .map(b"".join)
    .map(lambda head: head + b"\r\n\r\n")
)
def test_any_bytes_are_a_call_or_not_yet_one_or_refused(data: bytes) -> None:
    with suppress(BadRequestError):
        found = read_call(data)
        assert found is None or (found[0].target.startswith("/") and 0 < found[1] <= len(data))


def test_only_loopback_is_bound(server: ThreadedForum) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}"
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.2", server.port), timeout=60):
        pass


def test_robots_txt_keeps_strangers_out_of_private_and_names_a_delay_if_told() -> None:
    plain, slow = DemoForum(1), DemoForum(1, crawl_delay_s=2.5)

    text = plain.render("/robots.txt").body.decode()

    assert text == "User-agent: *\nAllow: /list\nAllow: /post\nAllow: /comment\nDisallow: /private\n"
    assert slow.render("/robots.txt").body.decode() == f"{text}Crawl-delay: 2.5\n"


def test_latency_holds_each_response_and_no_other_connection(forum: DemoForum) -> None:
    with ThreadedForum(forum, latency_ms=300) as server:
        threads = [threading.Thread(target=ask, args=(server, "GET", "/list/1/1")) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        log = server.log

    assert all(entry.end - entry.start >= 0.3 for entry in log)
    assert max(entry.in_flight for entry in log) > 1
    assert sorted(entry.number for entry in log) == list(range(1, 9))


def test_client_that_leaves_before_its_answer_is_noted(forum: DemoForum) -> None:
    with ThreadedForum(forum, latency_ms=60_000) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(b"GET /list/1/1 HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: server.log)

        entry = server.log[0]

    assert (entry.path, entry.status, entry.is_aborted) == ("/list/1/1", 0, True)


def test_log_file_has_a_line_for_each_request_while_the_server_runs(forum: DemoForum, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ThreadedForum(forum, log_file=log) as server:
        for path in ("/list/1/1", "/nothing?"):
            ask(server, "GET", path)

        rows = [json.loads(line) for line in log.read_text().splitlines()]

    assert [(row["path"], row["status"], row["method"], row["in_flight"]) for row in rows] == [
        ("/list/1/1", 200, "GET", 1),
        ("/nothing?", 404, "GET", 1),
    ]
    assert [row["connection"] for row in rows] == [1, 2]
    assert all(row["start"] <= row["end"] for row in rows)


def test_stopped_server_frees_its_port_and_can_be_followed(forum: DemoForum) -> None:
    with ThreadedForum(forum) as first:
        idle = socket.create_connection(("127.0.0.1", first.port), timeout=60)

    with ThreadedForum(forum, port=first.port) as second:
        status = ask(second, "GET", "/robots.txt")[0]
    idle.close()

    assert status == 200


def test_taken_port_is_reported(server: ThreadedForum, forum: DemoForum) -> None:
    with pytest.raises(OSError, match="address already in use"), ThreadedForum(forum, port=server.port):
        pass


def test_mutation_while_serving_changes_pages_and_date() -> None:
    with ThreadedForum(DemoForum(1)) as server:
        before = ask(server, "GET", "/list/1/1")
        news = server.mutate()
        after = ask(server, "GET", "/list/1/1")
        post = ask(server, "GET", f"/post/{news.posts[0]}")

    assert before[1]["Date"] != after[1]["Date"] == post[1]["Date"]
    assert before[2] != after[2]
    assert post[0] == 200


def test_faults_and_truth_change_while_serving(tmp_path: Path) -> None:
    truth_file = tmp_path / "truth.json"
    with FaultyServer(DemoForum(1), truth_file=truth_file) as server:
        assert json.loads(truth_file.read_text())["generation"] == 1
        news = server.mutate()
        server.set_faults(Fault.parse("error /list/1/1 times=1"))
        statuses = [ask(server, "GET", "/list/1/1")[0] for _ in range(2)]
        log = server.log

    assert (len(news.posts), len(news.comments), len(news.edited)) == (5, 3, 1)
    assert json.loads(truth_file.read_text())["generation"] == 2
    assert statuses == [500, 200]
    assert [(row.path, row.status) for row in log] == [("/list/1/1", 500), ("/list/1/1", 200)]


def test_command_serves_announces_and_ends_cleanly_on_sigterm(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("port", "truth", "log")}
    command = [sys.executable, "-m", "tests.faulty", "--port", "0", "--seed", "5", "--generation", "2"]
    command += ["--fault", "error /list/1/1 times=1"]
    command += [
        part
        for name, file in files.items()
        for part in (f"--{name}-file" if name == "port" else f"--{name}", str(file))
    ]

    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    eventually(files["port"].exists)
    connection = http.client.HTTPConnection("127.0.0.1", int(files["port"].read_text()), timeout=60)
    statuses = []
    for _ in range(2):
        connection.request("GET", "/list/1/1")
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=PATIENCE_S)
    connection.close()

    assert statuses == [500, 200]
    assert (process.returncode, errors) == (0, "")
    assert output.startswith(f"demo forum at http://127.0.0.1:{files['port'].read_text().strip()}/ (generation 2, ")
    assert json.loads(files["truth"].read_text()) == json.loads(DemoForum(5, generation=2).truth().to_json())
    assert len(files["log"].read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (["--fault", "tired /.*"], 2, "unknown kind 'tired'; known are too_many"),
        (["--size", "huge"], 2, "invalid choice"),
        (["--log", "/nonexistent/log"], 3, "/nonexistent/log"),
    ],
)
def test_command_says_what_is_wrong_with_its_options(options: list[str], code: int, complaint: str) -> None:
    command = [sys.executable, "-m", "tests.faulty", "--port", "0", *options]

    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S, check=False)

    assert result.returncode == code
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr
