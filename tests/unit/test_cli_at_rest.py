"""Commands beside no crawl: the Redis of the state directory runs for the command's own time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.embedded import EmbeddedRedis, is_at_rest, running_url
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.model import State
from tests.frontier.by_hand import TERMS, lease, posts, released


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory whose crawl has ended with a page that is given up."""
    with (
        Interrupts() as interrupts,
        EmbeddedRedis(tmp_path / ".crawl", interrupts) as server,
        open_client(server.url, "") as client,
    ):
        frontier = Frontier(client, "crawl")
        frontier.sites.publish("demo", "v1", "{}", TERMS, [])
        frontier.admit("demo", posts(1))
        frontier.fail(lease(frontier, released(client)[0]), Verdict(State.DEAD, "server_error", "answered 500"))
    assert is_at_rest(tmp_path / ".crawl")
    return tmp_path


def started(home: Path, *arguments: str) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("CRAWL_")}
    return subprocess.Popen(
        [sys.executable, "-m", "crawl_tasks", *arguments],
        cwd=home,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def output_of(home: Path, *arguments: str) -> str:
    return started(home, *arguments).communicate()[0]


def test_what_failed_is_listed_and_retried_after_the_crawl_has_ended(home: Path) -> None:
    listed = output_of(home, "failed", "list")
    retried = output_of(home, "failed", "retry", "--site", "demo")
    status = output_of(home, "status")

    assert "server_error answered 500" in listed
    assert "1 page" in retried
    assert "demo: 1 open, 0 done (0 gone), 0 parked, 0 dead" in status
    assert running_url(home / ".crawl") is None
    assert is_at_rest(home / ".crawl")


def test_that_no_crawl_runs_is_no_alarm(home: Path) -> None:
    checked, status = output_of(home, "check"), output_of(home, "status")

    for text in (checked, status):
        assert "no crawl is running" in text
        assert "no worker serves" not in text
        assert "beat is silent" not in text


def test_two_commands_at_once_take_turns(home: Path) -> None:
    both = [started(home, "status") for _ in range(2)]

    assert all("demo: 0 open, 0 done (0 gone), 0 parked, 1 dead" in one.communicate()[0] for one in both)


def test_a_command_that_stays_has_no_redis_of_its_own(home: Path) -> None:
    assert "does not answer" in output_of(home, "status", "--watch", "--json")
