"""Pages behind a login that do not say who asked for them: when the check page is due, and which pages it proves."""

from __future__ import annotations

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Request, SessionCheck, Stage
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.frontier.small_crawl import RULES


class Reader:
    """Notes pages of a session, and looks at the check page whenever it is due."""

    def __init__(self, frontier: Frontier) -> None:
        self.frontier, self.token = frontier, "1"
        self._pages = 0
        publish_site(frontier, parse_site(RULES, "demo.yaml"), contact="https://crawl.example")

    def note(self) -> SessionCheck | None:
        self._pages += 1
        page = Request("demo", Stage.POST, str(self._pages), f"https://forum.example/post/{self._pages}")
        return self.frontier.logins.note_pending(page, self.token)

    def read(self, pages: int) -> list[int]:
        """Note so many pages, and return at which of them the check page was looked at."""
        checks = []
        for number in range(1, pages + 1):
            if (due := self.note()) is not None:
                checks.append(number)
                self.frontier.logins.note_check("demo", self.token, due, is_member=True)
        return checks

    def end(self) -> int:
        """End the session, and return the number of pages that are read again."""
        again = self.frontier.logins.note_check("demo", self.token, None, is_member=False)
        self.token += "1"
        return again


def test_a_solid_session_costs_one_check_in_two_hundred_pages(frontier: Frontier) -> None:
    assert Reader(frontier).read(650) == [200, 400, 600]


def test_a_session_behind_one_that_ended_unseen_is_checked_closely_at_first(frontier: Frontier) -> None:
    reader = Reader(frontier)
    reader.read(150)

    again = reader.end()
    after = reader.read(700)
    reader.end()
    later = reader.read(3)

    assert again == 150
    assert after == [1, 3, 7, 15, 31, 63, 127, 255, 455, 655]
    assert later == [1, 3]


def test_pages_that_come_while_the_check_page_is_asked_for_are_noted(frontier: Frontier, client: redis.Redis) -> None:
    reader = Reader(frontier)
    due = [reader.note() for _ in range(204)]
    first = next(one for one in due if one is not None)

    reader.frontier.logins.note_check("demo", "1", first, is_member=True)
    again = reader.end()

    assert [one is not None for one in due] == [False] * 199 + [True] + [False] * 4
    # The check proved the pages before it. Those that came beside it wait for the next one.
    assert again == 4


def test_a_check_that_no_worker_ended_is_due_again(frontier: Frontier, client: redis.Redis) -> None:
    reader = Reader(frontier)
    for _ in range(200):
        reader.note()
    early = reader.note()

    client.hset("test:s:demo:session", "check_until", 1)

    assert early is None
    assert reader.note() is not None
