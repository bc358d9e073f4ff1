"""The messages that the scripts write, held against what Celery itself publishes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import redis
from celery import Celery
from celery.beat import Scheduler
from kombu import Connection
from kombu.exceptions import DecodeError
from kombu.message import Message as AnyMessage
from kombu.transport import virtual

from crawl_tasks.broker.message import Message, readable
from crawl_tasks.celery import CONTROL_MOST, build_app
from crawl_tasks.frontier.envelope import hint_templates
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.queues import FETCH_POST, QUEUES
from crawl_tasks.settings import Settings
from tests.frontier.by_hand import posts
from tests.waiting import eventually

LEFT_OUT = {"shadow", "group_index", "origin", "replaced_task_nesting", "stamped_headers", "stamps", "compression"}
"""Headers that Celery writes and a worker does without."""


@pytest.fixture
def published(redis_server: RedisServer, client: redis.Redis) -> dict[str, object]:
    app = build_app(Settings(redis_url=redis_server.url))
    app.send_task(
        FETCH_POST, kwargs={"site": "demo", "rid": 1}, argsrepr="demo post http://127.0.0.1/post/1", ignore_result=True
    )
    app.close()
    message: dict[str, object] = json.loads(client.rpop("post"))
    return message


def body_of(message: dict) -> list:
    raw = message["body"]
    return json.loads(base64.b64decode(raw) if message["properties"]["body_encoding"] == "base64" else raw)


def test_a_hint_is_what_celery_publishes_but_for_what_a_worker_does_without(
    published: dict, frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("demo", posts(1))
    hint = json.loads(client.rpop("post"))

    assert body_of(hint) == body_of(published)
    assert {k: hint[k] for k in ("content-type", "content-encoding")} == {
        k: published[k] for k in ("content-type", "content-encoding")
    }
    assert set(published["headers"]) - set(hint["headers"]) <= LEFT_OUT
    assert set(hint["headers"]) - set(published["headers"]) == {"crawl_at", "headers"}
    own = {"id", "root_id", "headers", "crawl_at", "kwargsrepr"}
    for name in set(hint["headers"]) - own:
        assert (name, hint["headers"][name]) == (name, published["headers"][name])
    assert set(hint["properties"]) == set(published["properties"]) - {"reply_to", "argsrepr"}
    for name in ("delivery_mode", "delivery_info", "priority"):
        assert (name, hint["properties"][name]) == (name, published["properties"][name])


def test_a_hint_is_read_as_kombu_reads_it(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(1))
    hint = readable(client.rpop("post"))
    with Connection("memory://") as connection:
        channel = connection.channel()

        ours, theirs = Message(hint, channel), virtual.Message(hint, channel)

    names = {*AnyMessage.__slots__, *vars(theirs)} - {"__dict__", "body", "errors"}
    assert {name: getattr(ours, name) for name in names} == {name: getattr(theirs, name) for name in names}
    assert ours.payload == theirs.payload == [[], {"site": "demo", "rid": 1}, theirs.payload[2]]
    assert not ours.errors


@pytest.mark.parametrize("body", ["", "{", b"\xff"])
def test_a_hint_whose_body_is_no_json_is_what_celery_calls_undecodable(body: str | bytes) -> None:
    hint = json.loads(hint_templates()["post"].replace("@AT@", "1"))

    message = Message(hint | {"body": body})

    with pytest.raises(DecodeError):
        message.decode()


def foreign(body: str) -> bytes:
    """Return a message of a task as anybody may put it on a queue."""
    return json.dumps(
        {
            "body": body,
            "content-type": "application/json",
            "headers": {"task": FETCH_POST, "id": "x"},
            "properties": {"delivery_tag": "t", "delivery_info": {"routing_key": "post"}},
        }
    ).encode()


CALL = {"task": FETCH_POST, "args": [], "kwargs": {}, "options": {}, "subtask_type": None, "immutable": False}


@pytest.mark.parametrize(
    "links",
    [
        {"callbacks": [5]},
        {"errbacks": [{"args": []}]},
        {"chain": [{"task": 5}]},
        {"chord": CALL},
        {"callbacks": [CALL | {"subtask_type": "chord"}]},
    ],
)
def test_a_message_that_calls_next_what_celery_cannot_is_refused(links: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        readable(foreign(json.dumps([[], {}, links])))


@pytest.mark.parametrize(
    "body",
    [
        [[], {}, {}],
        [[], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}],
        [[], {}, {"callbacks": [CALL]}],
        [[{"subtask_type": "chord"}], {}, {}],  # an argument, which calls nothing
    ],
)
def test_a_message_that_calls_what_is_a_task_or_nothing_is_taken(body: list[object]) -> None:
    assert readable(foreign(json.dumps(body)))["body"] == json.dumps(body)


@pytest.mark.parametrize(
    "change",
    [{"task": "os.system"}, {"task": "celery.chord_unlock"}, {"body": json.dumps([[], {}, {"callbacks": [CALL]}])}],
)
def test_a_forged_mark_of_the_frontier_is_refused(change: dict[str, str]) -> None:
    hint = json.loads(hint_templates()["post"].replace("@AT@", "1"))
    readable(json.dumps(hint).encode())
    hint["body"] = change.get("body", hint["body"])
    hint["headers"]["task"] = change.get("task", hint["headers"]["task"])

    with pytest.raises(ValueError, match="marked as a message of the frontier"):
        readable(json.dumps(hint).encode())


def test_every_queue_has_its_own_routing_key(redis_server: RedisServer) -> None:
    app = build_app(Settings(redis_url=redis_server.url))

    assert {queue.name: queue.routing_key for queue in app.amqp.queues.values()} == {name: name for name in QUEUES}


def test_a_hint_survives_any_address_the_urls_module_lets_through(frontier: Frontier) -> None:
    for template in hint_templates().values():
        filled = re.sub(r"@[A-Z]+@", "1", template)

        assert json.loads(json.loads(filled)["body"])[2]["callbacks"] is None


@pytest.fixture
def beat(
    redis_server: RedisServer, client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Scheduler]:
    """The scheduler as `celery beat` makes it."""
    monkeypatch.chdir(tmp_path)
    app = build_app(Settings(redis_url=redis_server.url, state_dir=tmp_path, produce_every_s=0.5))
    beat = app.Beat(quiet=True)
    service = beat.Service(app, scheduler_cls=beat.scheduler_cls, schedule_filename=beat.schedule)
    yield service.get_scheduler()
    app.close()


def test_beat_goes_on_when_its_clock_is_set_back_and_writes_no_file(
    beat: Scheduler, client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat.tick()
    assert client.llen("control") == 1  # at once
    client.delete("control")

    monkeypatch.setattr(Celery, "now", lambda _: datetime.now(UTC) - timedelta(hours=1))

    eventually(lambda: beat.tick() and client.llen("control"))
    assert not list(tmp_path.iterdir())


def test_what_beat_sends_is_good_for_workers_with_any_clock_and_never_piles_up(
    beat: Scheduler, client: redis.Redis
) -> None:
    for _ in range(CONTROL_MOST + 5):
        beat.apply_async(beat.schedule["produce"], advance=False)

    assert client.llen("control") == CONTROL_MOST
    beat.app.send_task("a.task.of.somebody")  # no route: it shares the queue of beat
    assert client.llen("control") == CONTROL_MOST + 1
    assert json.loads(client.lindex("control", 0))["headers"]["expires"] is None
