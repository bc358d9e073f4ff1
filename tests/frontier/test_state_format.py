"""The format of what Redis holds: a crawl of another one is refused with one line."""

from __future__ import annotations

import pytest
import redis

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.state_format import FORMAT

SITE = "test:s:demo"


def test_a_crawl_of_this_format_is_taken(frontier: Frontier) -> None:
    frontier.check_format()


def test_a_crawl_of_a_later_format_is_refused(frontier: Frontier, client: redis.Redis) -> None:
    client.hset(SITE, "format", FORMAT + 1)

    with pytest.raises(ConfigError, match=f"site demo in format {FORMAT + 1}, this program knows {FORMAT};"):
        frontier.check_format()


def test_a_crawl_of_before_the_first_release_is_refused(frontier: Frontier, client: redis.Redis) -> None:
    client.hdel(SITE, "format")

    with pytest.raises(ConfigError, match=r"^Redis holds site demo of a version before 0.2, .*, or an empty Redis$"):
        frontier.check_format()


def test_a_site_whose_hash_is_lost_is_left_to_the_check(frontier: Frontier, client: redis.Redis) -> None:
    client.rename(SITE, "elsewhere")

    frontier.check_format()

    client.rename("elsewhere", SITE)
