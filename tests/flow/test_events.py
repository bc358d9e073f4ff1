"""Celery's events and Flower tell the same of a page as the ledger does."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from celery import Celery

from crawl_tasks.local.redis_server import free_port
from crawl_tasks.queues import STORE_ITEMS
from tests.flow.hanging_functions import GO_ON
from tests.flow.test_hung_workers import is_over, publish
from tests.flow.world import CELERY, World
from tests.waiting import eventually

LEASE_MS = 12_000
ENDS = ("task-succeeded", "task-failed", "task-retried")


@contextmanager
def events_of(url: str) -> Iterator[list[dict[str, object]]]:
    """Collect the events of all workers, as any monitor of Celery's does."""
    events: list[dict[str, object]] = []
    with Celery(broker=url, set_as_current=False) as app, app.connection() as connection:
        receiver = app.events.Receiver(connection, handlers={"*": events.append})
        thread = threading.Thread(target=lambda: receiver.capture(limit=None, timeout=None), daemon=True)
        thread.start()
        yield events
        receiver.should_stop = True
        thread.join(timeout=10)


def flowers(port: int, state: str) -> int:
    """Return the number of page tasks that Flower shows in a state."""
    address = f"http://127.0.0.1:{port}/api/tasks?limit=100000&state={state}"
    with urllib.request.urlopen(address, timeout=10) as answer:
        return sum(task["name"].startswith("crawl_tasks.fetch_") for task in json.load(answer).values())


def test_a_page_has_the_same_state_in_events_in_flower_and_in_the_ledger(world: World) -> None:
    world.forum()
    broken, circular, faulty = (post["post_id"] for post in world.truth()["posts"][:3])
    faults = (f"changed_markup /post/{broken}", f"redirect_loop /post/{circular}", f"error /post/{faulty} times=2")
    world.forum(*(word for fault in faults for word in ("--fault", fault)))
    port = free_port()
    world.environment |= {"FLOWER_UNAUTHENTICATED_API": "true"}
    world.start("flower", *CELERY, "flower", f"--port={port}")
    eventually(lambda: "Connected to" in world.log_of("flower") or world.ended("flower"))

    with events_of(world.server.url) as events:
        world.worker("all", "list,detail,store,control", "-E")
        world.start("beat", *CELERY, "beat")
        world.crawl()
        counts = world.count_requests()
        eventually(lambda: reported(events, "task-succeeded", "done") == counts.done - 5)

    assert (counts.parked, counts.dead, counts.fields["failed:server_error"]) == (1, 1, "2")
    assert reported(events, "task-failed", "parked: parse: ") == 1
    assert reported(events, "task-failed", "dead: redirect: ") == 1
    assert reported(events, "task-failed", "") == 2
    assert reported(events, "task-retried", "delayed: server_error: ") == 2
    names = {str(event["name"]) for event in events if event["type"] == "task-received"}
    assert names == {"crawl_tasks.fetch_list", "crawl_tasks.fetch_post", "crawl_tasks.fetch_comment", STORE_ITEMS}
    # On a machine that is very busy a page may fail by a deadline too: then the ledger has that failure as well.
    failed = sum(int(count) for field, count in counts.fields.items() if field.startswith("failed:"))
    retried = reported(events, "task-retried", "")
    assert retried == failed - 2, [event for event in events if event["type"] == "task-retried"]
    assert reported(events, "task-succeeded", "gone") == 5
    eventually(lambda: flowers(port, "SUCCESS") >= counts.done)
    assert (flowers(port, "FAILURE"), flowers(port, "RETRY"), flowers(port, "STARTED")) == (2, retried, 0)


@pytest.mark.parametrize(
    ("options", "told", "later"),
    [
        (("-c", "8"), 2, 2),
        pytest.param(("-P", "prefork", "-c", "4"), 0, 2, marks=pytest.mark.long),
        pytest.param(("-P", "prefork", "-c", "4", "--time-limit", "15"), 2, 2, marks=pytest.mark.long),
    ],
    ids=["threads", "processes", "processes with a time limit"],
)
def test_a_page_that_hangs_has_failed_once_in_events_and_in_the_ledger(
    world: World, options: tuple[str, ...], told: int, later: int
) -> None:
    publish(world, "hangs")

    with events_of(world.server.url) as events:
        world.worker("list", "list,store", "-E")
        world.worker("detail", "detail", "-E", *options)
        world.frontier.produce()
        eventually(lambda: is_over(world) and reported(events, "task-failed", "") == told)
        (world.directory / GO_ON).touch()
        counts = world.count_requests()
        eventually(lambda: not unended(events) and reported(events, "task-succeeded", "done") >= counts.done - 5)

    assert (counts.parked, counts.imbalance(), max(world.fetched().values())) == (2, "", 1)
    assert reported(events, "task-failed", "") == later
    assert reported(events, "task-retried", "") == 0
    ends = Counter(str(event["uuid"]) for event in events if event["type"] in ENDS)
    assert max(ends.values()) == 1


def unended(events: list[dict[str, object]]) -> set[str]:
    """Return the tasks that began and did not end."""
    began = {str(event["uuid"]) for event in events if event["type"] == "task-started"}
    return began - {str(event["uuid"]) for event in events if event["type"] in ENDS}


def reported(events: list[dict[str, object]], kind: str, text: str) -> int:
    """Return the number of events of a kind whose exception or result has a text."""
    said = [str(event.get("exception", event.get("result"))) for event in events if event["type"] == kind]
    return sum(text in words for words in said)
