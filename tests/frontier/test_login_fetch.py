"""Pages of a session: which of them a check proves, which are read again, and the requests that a page costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from crawl_tasks.errors import Gone, PageError, ServerError
from crawl_tasks.fetch.login_fetch import Answer, LoginFetch
from crawl_tasks.fetch.login_sessions import LoginPolicy, Send, Session, Sessions, Sign
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Fetched, HttpRequest, Request, Stage
from crawl_tasks.model.own_counters import take_counted
from tests.frontier.by_hand import lease, released
from tests.frontier.test_login import KEY

BASE = "https://forum.example"


def asked(number: int) -> Request:
    return Request("demo", Stage.POST, str(number), f"{BASE}/post/{number}")


class Forum:
    """A forum whose pages say nothing of who asked, but 404 (a guest) and 201 (a member).

    It has no server: a test acts between a request and its answer, as another thread of the worker would.
    """

    def __init__(self, frontier: Frontier, client: redis.Redis) -> None:
        self.frontier, self.client = frontier, client
        self.fetch = LoginFetch(Sessions(frontier.logins, KEY))
        self._seen: set[str] = set()
        self._ended: set[str] = set()
        self.statuses: dict[str, list[int]] = {}
        """The next statuses of pages, 200 where none is left."""
        self.on_visit: dict[str, Callable[[], object]] = {}
        """Runs after a page was answered and before its answer is here: the work of other threads."""
        self.on_check: Callable[[], object] = lambda: None
        """The same for the check page."""
        self.asked: list[str] = []
        self.login = LoginPolicy(
            name="first",
            origin=BASE,
            log_in=lambda send: {},
            cookies=lambda: (),
            check=HttpRequest(f"{BASE}/me", {}),
            is_member=lambda page: page.body == b"ann",
            signs=lambda page, stage: {404: Sign.GUEST, 201: Sign.MEMBER}.get(page.status, Sign.NONE),
            secrets=lambda: (),
            most_a_day=10,
        )

    def read(self, number: int) -> Fetched:
        request = asked(number)

        def visit(session: Session) -> Answer:
            self.asked.append(request.key)
            statuses = self.statuses.get(request.key, [])
            status = statuses.pop(0) if statuses else 200
            self.on_visit.pop(request.key, lambda: None)()
            failure = {404: Gone, 502: ServerError}.get(status)
            body = session.token.encode()
            return Fetched(request.address, status, {}, body, 0.0), failure(f"{status}") if failure else None

        return self.fetch.fetch(request, self.login, visit, self._send)

    def _send(self, session: Session) -> Send:
        def send(http: HttpRequest) -> Fetched:
            self.asked.append("check")
            is_member = session.token != "" and session.token not in self._ended
            on_check, self.on_check = self.on_check, lambda: None
            on_check()
            self._seen.add(session.token)
            return Fetched(http.url, 200, {}, b"ann" if is_member else b"guest", 0.0)

        return send

    def log_out(self) -> None:
        self._ended |= self._seen

    def ended_unseen(self) -> None:
        """Have pages held against the check page after the first, and then after 2, 4, 8 more."""
        self.client.hset("test:s:demo:session", "ended_unseen", 1)

    def read_again(self) -> list[str]:
        """Return the pages that were entered to be read again, once."""
        return [lease(self.frontier, rid).request.key for rid in released(self.client)]


@pytest.fixture
def forum(frontier: Frontier, client: redis.Redis) -> Forum:
    return Forum(frontier, client)


def test_a_page_that_comes_after_the_end_of_its_session_is_asked_for_again_by_the_new_one(forum: Forum) -> None:
    first = forum.read(1).body
    forum.on_visit["3"] = lambda: (forum.log_out(), forum.read(4))
    forum.statuses["4"] = [404, 201]

    late = forum.read(3).body

    assert first != late
    assert forum.asked.count("3") == 2


def test_the_check_of_a_session_says_nothing_of_the_pages_of_another(forum: Forum) -> None:
    forum.ended_unseen()
    forum.read(1)
    forum.read(2)
    forum.log_out()
    forum.login = replace(forum.login, name="another file")

    forum.read(3)

    assert forum.read_again() == ["2"]


def test_pages_since_the_last_check_are_read_again_after_the_end_of_a_session(forum: Forum) -> None:
    forum.ended_unseen()
    for number in (1, 2, 3, 4):
        forum.read(number)
    forum.log_out()
    forum.statuses["5"] = [404]

    forum.read(5)

    assert (forum.read_again(), forum.read_again()) == (["4"], [])


def test_a_check_proves_no_page_that_came_after_it_was_asked_for(forum: Forum) -> None:
    forum.ended_unseen()
    forum.read(1)
    forum.read(2)
    # The pages of other threads meanwhile are not held against a check of their own.
    forum.on_check = lambda: (forum.read(4), forum.read(5), forum.log_out())
    forum.read(3)
    forum.statuses["6"] = [404]

    forum.read(6)

    assert forum.read_again() == ["4", "5"]


def test_a_page_that_is_noted_by_a_process_that_dies_is_read_again(forum: Forum) -> None:
    forum.ended_unseen()
    forum.read(1)
    forum.read(2)
    forum.log_out()
    forum.fetch = LoginFetch(Sessions(forum.frontier.logins, KEY))

    forum.read(3)

    assert forum.read_again() == ["2"]


def test_the_page_whose_check_is_due_is_read_at_once_and_not_later_too(forum: Forum) -> None:
    forum.ended_unseen()
    forum.read(1)
    forum.read(2)
    forum.log_out()

    forum.read(3)

    assert forum.read_again() == ["2"]
    assert forum.asked.count("3") == 2


def test_a_thread_that_is_gone_costs_six_requests(forum: Forum) -> None:
    forum.read(1)
    forum.asked.clear()
    forum.statuses["2"] = [404] * 9
    for _ in range(2):
        with pytest.raises(PageError):
            forum.read(2)

    assert forum.asked == ["2", "check", "2", "2", "2", "check"]


def test_a_server_that_fails_in_between_is_no_session_that_flaps(forum: Forum) -> None:
    forum.read(1)
    take_counted()
    forum.statuses["2"] = [404, 502]

    with pytest.raises(ServerError):
        forum.read(2)

    assert "flapping_sessions" not in take_counted().get("demo", {})
