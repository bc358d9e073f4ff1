"""Which fault meets which request of the demo forum, and how it looks to a client on the loopback."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.http_request import DemoRequest
from tests.faulty.faults import Fault, FaultKind, FaultPlan
from tests.faulty.server import FaultyServer
from tests.waiting import eventually

PATH = "/list/1/1"


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer(DemoForum(1)) as server:
        yield server


def get(server: FaultyServer, path: str = PATH) -> tuple[http.client.HTTPResponse, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        connection.request("GET", path)
        with connection.getresponse() as response:
            return response, response.read()


def open_socket(server: FaultyServer, path: str = PATH) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return client


def test_fault_strikes_the_first_requests_of_each_path() -> None:
    plan = FaultPlan(1, [Fault(FaultKind.ERROR, "/post/.*", times=2)])

    struck = [plan.pick(path) is not None for path in ("/post/1", "/post/1", "/post/1", "/post/2", "/list/1/1")]

    assert struck == [True, True, False, True, False]


def test_pattern_matches_the_whole_path() -> None:
    plan = FaultPlan(1, [Fault(FaultKind.ERROR, "/post/1")])

    assert plan.pick("/post/1") is not None
    assert plan.pick("/post/12") is None


def test_first_fault_that_strikes_wins() -> None:
    plan = FaultPlan(1, [Fault(FaultKind.ERROR, "/a", times=1), Fault(FaultKind.TOO_MANY, "/.*")])

    picked = [plan.pick("/a"), plan.pick("/a")]

    assert [fault.kind for fault in picked if fault] == [FaultKind.ERROR, FaultKind.TOO_MANY]


def test_chance_comes_from_the_seed_and_does_not_depend_on_order() -> None:
    paths = [f"/post/{number}" for number in range(400)]
    faults = [Fault(FaultKind.ERROR, "/.*", probability=0.3)]

    forth, back, other = FaultPlan(1, faults), FaultPlan(1, faults), FaultPlan(2, faults)
    struck = {path for path in paths if forth.pick(path)}

    assert struck == {path for path in reversed(paths) if back.pick(path)}
    assert struck != {path for path in paths if other.pick(path)}
    assert 80 < len(struck) < 160


def test_fault_is_read_from_text() -> None:
    fault = Fault.parse("too_many '/post/.*' times=1 retry_after_s=2 probability=0.5 duration_s=3 target=http://x/")

    assert fault == Fault(
        FaultKind.TOO_MANY, "/post/.*", times=1, probability=0.5, retry_after_s=2, duration_s=3.0, target="http://x/"
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "give a kind and a pattern"),
        ("error", "give a kind and a pattern"),
        ("tired /.*", "unknown kind 'tired'; known are too_many"),
        ("error /.* often=1", "unknown setting 'often'; known are times"),
        ("error /.* times=x", "invalid literal"),
        ("error /.* times=0", "leave it out for always"),
        ("error a{99999999999999999999}", "no regular expression"),
        ("error /.* probability=2", "not between 0 and 1"),
        ("error /.* duration_s=-1", "not between 0 and 86400"),
        ("error (", "no regular expression"),
        ("error 'open", "No closing quotation"),
    ],
)
def test_wrong_text_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Fault.parse(text)


@given(st.text() | st.builds("{} {} {}={}".format, st.sampled_from(FaultKind), st.text(), st.text(), st.text()))
def test_any_text_is_a_fault_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(Fault.parse(text), Fault)


@pytest.mark.parametrize(
    ("fault", "status", "header", "value"),
    [
        (Fault(FaultKind.TOO_MANY, PATH, retry_after_s=7), 429, "Retry-After", "7"),
        (Fault(FaultKind.TOO_MANY, PATH), 429, "Retry-After", None),
        (Fault(FaultKind.UNAVAILABLE, PATH, retry_after_s=1), 503, "Retry-After", "1"),
        (Fault(FaultKind.UNAVAILABLE, PATH), 503, "Retry-After", None),
        (Fault(FaultKind.ERROR, PATH), 500, "Retry-After", None),
        (Fault(FaultKind.REDIRECT_LOOP, PATH), 302, "Location", "/list/1/1?again=1"),
        (Fault(FaultKind.REDIRECT_PRIVATE, PATH), 302, "Location", "http://169.254.169.254/latest/meta-data/"),
        (Fault(FaultKind.REDIRECT_PRIVATE, PATH, target="http://10.0.0.1/"), 302, "Location", "http://10.0.0.1/"),
        (Fault(FaultKind.MOVED, PATH), 301, "Location", "/moved/list/1/1"),
    ],
)
def test_wrong_answers(server: FaultyServer, fault: Fault, status: int, header: str, value: str | None) -> None:
    server.set_faults(fault)

    response, _ = get(server)

    assert (response.status, response.headers[header]) == (status, value)
    assert server.log[-1].fault == fault.kind.value


def test_redirect_loop_comes_back_to_where_it_began(server: FaultyServer) -> None:
    server.set_faults(Fault(FaultKind.REDIRECT_LOOP, PATH))

    there = get(server)[0].headers["Location"]
    back = get(server, there)[0].headers["Location"]

    assert back == PATH


def test_moved_page_is_there_under_its_new_address(server: FaultyServer) -> None:
    right = get(server)[1]
    server.set_faults(Fault(FaultKind.MOVED, PATH))

    response, body = get(server, get(server)[0].headers["Location"])

    assert (response.status, body) == (200, right)


def test_changed_markup_has_the_text_and_none_of_the_classes(server: FaultyServer) -> None:
    server.set_faults(Fault(FaultKind.CHANGED_MARKUP, PATH))

    text = get(server)[1].decode()

    assert 'class="v2-threads"' in text
    assert 'class="threads"' not in text
    assert " data-post=" not in text


def test_truncated_body_is_shorter_than_promised_and_ends_the_connection(server: FaultyServer) -> None:
    server.set_faults(Fault(FaultKind.TRUNCATED, PATH))

    with pytest.raises(http.client.IncompleteRead) as caught:
        get(server)

    assert caught.value.expected is not None
    assert abs(len(caught.value.partial) - caught.value.expected) <= 1


def test_hang_up_sends_nothing(server: FaultyServer) -> None:
    server.set_faults(Fault(FaultKind.HANG_UP, PATH))

    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        get(server)


def test_endless_body_goes_on_until_the_client_leaves(server: FaultyServer) -> None:
    server.set_faults(Fault(FaultKind.ENDLESS, PATH))

    client = open_socket(server)
    received = 0
    while received < 5_000_000:
        received += len(client.recv(1_000_000))
    client.close()

    eventually(lambda: server.log)
    assert server.log[0].is_aborted
    assert server.log[0].fault == "endless"


@pytest.mark.parametrize("kind", [FaultKind.SLOW_HEADERS, FaultKind.SLOW_BODY])
def test_slow_answers_are_whole_and_leave_the_connection_usable(server: FaultyServer, kind: FaultKind) -> None:
    right = get(server)[1]
    server.set_faults(Fault(kind, PATH, times=1, duration_s=0.2))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    bodies = []
    for _ in range(2):
        connection.request("GET", PATH)
        bodies.append(connection.getresponse().read())
    connection.close()

    assert bodies == [right, right]
    slow, quick = server.log[-2:]
    assert slow.connection == quick.connection
    assert slow.end - slow.start >= 0.2


@pytest.mark.parametrize("kind", [FaultKind.SLOW_HEADERS, FaultKind.SLOW_BODY])
def test_slow_answer_comes_in_pieces_and_its_abandonment_is_noted(server: FaultyServer, kind: FaultKind) -> None:
    server.set_faults(Fault(kind, PATH, duration_s=4.0))

    client = open_socket(server)
    first = client.recv(65536)
    client.close()

    eventually(lambda: server.log)
    assert (b"\r\n\r\n" in first) == (kind is FaultKind.SLOW_BODY)
    assert server.log[0].is_aborted


def test_a_slow_client_does_not_hold_up_another(server: FaultyServer) -> None:
    server.set_faults(Fault(FaultKind.SLOW_BODY, PATH, duration_s=3600))
    slow = open_socket(server)

    status = get(server, "/list/2/1")[0].status
    slow.close()

    assert status == 200


def test_no_fault_at_all_heals_the_forum(server: FaultyServer) -> None:
    server.set_faults(Fault(FaultKind.ERROR, "/.*"))
    sick = get(server)[0].status

    server.set_faults()

    assert (sick, get(server)[0].status) == (500, 200)


def test_call_knows_its_path_without_the_query() -> None:
    assert DemoRequest("GET", "/a/b?c=/d?", keeps=True).path == "/a/b"
