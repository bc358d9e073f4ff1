"""One process fetches a robots.txt, and all others read what it fetched."""

from __future__ import annotations

import time

import pytest
import redis

from crawl_tasks.errors import FetchError, NoTurn, RobotsRefused, RobotsUnavailable, Unreachable
from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.fetch.robots import Robots
from crawl_tasks.fetch.throttle import Clock
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.robots_cache import MOST_CHARACTERS

ORIGIN = "http://forum.example:8080"
POLICY = FetchPolicy(user_agent="testbot/1.0", allowed_hosts=frozenset({"forum.example"}))


class Process:
    """A process that fetches for itself what it does not find; `asked` counts that."""

    def __init__(self, frontier: Frontier, answer: bytes | FetchError) -> None:
        self.answer, self.asked = answer, 0
        self._robots = Robots(self._ask, robots_store=frontier.robots)

    def _ask(self, url: str, policy: FetchPolicy, clock: Clock) -> tuple[int, bytes]:
        self.asked += 1
        if isinstance(self.answer, FetchError):
            raise self.answer
        return 200, self.answer

    def check(self, path: str) -> None:
        self._robots.check(ORIGIN + path, POLICY, Clock(time.monotonic() + 30))


def test_a_file_that_one_process_fetched_holds_for_all(frontier: Frontier) -> None:
    Process(frontier, b"User-agent: *\nDisallow: /a").check("/b")
    second = Process(frontier, b"")

    with pytest.raises(RobotsRefused):
        second.check("/a")

    assert second.asked == 0


def test_a_file_that_is_a_day_old_is_fetched_again(frontier: Frontier, client: redis.Redis) -> None:
    Process(frontier, b"User-agent: *\nDisallow: /a").check("/b")
    [key] = client.keys("test:robots:*")
    assert 0 < client.pttl(key) <= 86_400_000
    client.delete(key)  # as it is after a day
    second = Process(frontier, b"")

    second.check("/a")

    assert second.asked == 1


def test_a_file_that_one_process_cannot_have_is_asked_for_by_the_next(frontier: Frontier) -> None:
    with pytest.raises(RobotsUnavailable):
        Process(frontier, Unreachable("no route")).check("/a")
    second = Process(frontier, b"")

    second.check("/a")

    assert second.asked == 1


def test_a_file_that_would_fill_redis_is_not_shared(frontier: Frontier, client: redis.Redis) -> None:
    Process(frontier, b"# " + b"x" * MOST_CHARACTERS).check("/a")

    assert client.keys("test:robots:*") == []


def test_a_site_that_rests_says_nothing_of_its_robots_txt(frontier: Frontier) -> None:
    process = Process(frontier, NoTurn("the site rests by now"))
    with pytest.raises(NoTurn):
        process.check("/a")
    process.answer = b""

    process.check("/a")

    assert process.asked == 2
