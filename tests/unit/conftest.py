"""The command line beside a Redis on which the site `tiny` is published."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis
from click.testing import Result

from crawl_tasks.cli.exits import Exit
from crawl_tasks.local.redis_server import RedisServer
from tests.unit.command_line import Command, run, site_text, write_site


class Pace:
    """Notes what a throttle is asked for."""

    waited_s = 0.0

    def __init__(self) -> None:
        self.said: list[str] = []

    def begin(self) -> None:
        self.said.append("begin")

    def confirm(self) -> None:
        self.said.append("confirm")

    def sent(self, at: float) -> None:
        self.said.append("sent")


@pytest.fixture
def pace() -> Pace:
    return Pace()


@pytest.fixture
def command(tmp_path: Path, redis_server: RedisServer, client: redis.Redis) -> Command:
    """Run a command where the site `tiny` with boards 1 and b2 is published."""
    write_site(tmp_path, site_text())

    def go(*arguments: str) -> Result:
        return run(*arguments, home=tmp_path, redis_url=redis_server.url)

    assert go("sites", "check").exit_code == Exit.OK
    return go
