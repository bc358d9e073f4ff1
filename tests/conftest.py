"""A private Redis for the whole run, a fresh prefix and emptied queues for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import HealthCheck, settings

from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer
from tests.asked_programs import Asked

# How long an example takes says how busy the machine is, and nothing about us. The examples are the same in every run:
# new ones are for who looks for faults (pytest --hypothesis-profile=searching), not for who lands a change.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("searching", settings.get_profile("untimed"), derandomize=False)
settings.load_profile("untimed")


_FIRST = ("test_fetch_rendering", "test_web_accessibility", "test_docker_alerts")
"""Long files behind many short ones. As the last ones they would run alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in _FIRST)


def pytest_configure(config: pytest.Config) -> None:
    if file := os.environ.get("CRAWL_TEST_ASKED"):
        config.pluginmanager.register(Asked(Path(file)))


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with open_client(redis_server.url, "") as client:
        yield client
        client.flushall()  # the server is the run's own


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path
