"""Other projects that use Celery on the same Redis or in the same environment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep

import kombu
import pytest

from tests.flow.test_versions import message
from tests.flow.world import World
from tests.waiting import eventually

PRINT_ADDRESSES = """
from crawl_tasks.celery import app
print([app.connection_for_write().as_uri(), app.connection_for_read().as_uri(), app.backend.as_uri()])
"""


@contextmanager
def message_at_hand(url: str, queue: str) -> Iterator[None]:
    """Hold a message of a queue of others with stock kombu: taken, and not yet acknowledged."""
    options = {"visibility_timeout": 3600}
    with kombu.Connection(url, transport="kombu.transport.redis:Transport", transport_options=options) as connection:
        messages = connection.SimpleQueue(queue)
        messages.put({"order": 7})
        messages.get(timeout=10)
        yield


def test_what_workers_of_others_have_at_hand_is_left_to_them(world: World) -> None:
    world.forum()
    with message_at_hand(world.environment["CRAWL_REDIS_URL"], "orders"):
        # As old as a task of an hour, for which its own project has a longer limit than ours.
        (tag,) = world.client.zrange("unacked_index", 0, -1)
        world.client.zadd("unacked_index", {tag: 1.0})
        known = world.truth()["posts"][0]["post_id"]
        ours = json.dumps(message(world.client, world, site="demo", post_id=known))

        world.worker("all", "detail,store")
        for _ in range(2):
            # kombu looks for old messages at the start and every so often.
            sleep(1.5)
            world.client.lpush("post", ours)
            eventually(lambda: world.fetched()[f"/post/{known}"])
        eventually(world.is_idle)

        assert world.client.hkeys("unacked") == [tag]
        assert world.client.llen("orders") == 0


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CELERY_BROKER_URL", "redis://nobody:secret@192.0.2.1/0", "CRAWL_REDIS_URL names the Redis"),
        ("CELERY_BROKER_READ_URL", "amqp://192.0.2.1//", "CRAWL_REDIS_URL names the Redis"),
        pytest.param(
            "CELERY_BROKER_WRITE_URL", "amqp://192.0.2.1//", "CRAWL_REDIS_URL names the Redis", marks=pytest.mark.long
        ),
        pytest.param("CELERY_RESULT_BACKEND", "redis://192.0.2.1/1", "is not used here", marks=pytest.mark.long),
        ("CELERY_CONFIG_MODULE", "another.project.celeryconfig", "is not used here"),
        pytest.param("CELERY_LOADER", "another.project:Loader", "is not used here", marks=pytest.mark.long),
    ],
)
def test_no_variable_of_another_project_leads_messages_elsewhere(
    world: World, name: str, value: str, says: str
) -> None:
    def addresses(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PRINT_ADDRESSES],
            env=world.environment | environment,
            capture_output=True,
            text=True,
            check=True,
        )

    led = addresses(**{name: value})

    assert led.stdout == addresses().stdout
    assert led.stderr.count("\n") == 1
    assert led.stderr.startswith(f"crawl_tasks: {name} ")
    assert says in led.stderr
    assert "secret" not in led.stderr
