"""One world for each flow test; that nothing is out of place is its last assertion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl_tasks.local.redis_server import RedisServer
from tests.flow.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    server = RedisServer(tmp_path / "redis")
    server.start()
    world = World(tmp_path, server)
    try:
        yield world
        assert world.findings() == []
    finally:
        world.close()
        server.stop()
