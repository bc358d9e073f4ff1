"""What an earlier version left in Redis half-way is ended by this one; what a later one wrote is read."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import redis

from crawl_tasks.broker.message import readable
from crawl_tasks.errors import SiteError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.entry import read_entry
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.model import Forum, Post, Reach, Stage, State, Sweep
from crawl_tasks.schedule.start_requests import StartRequests
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.site_json import dump_site, read_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import OutboxConsumer
from crawl_tasks.worker.task_message import TaskMessage
from tests.frontier.small_crawl import SmallCrawl, small_forum
from tests.store.rows import dump
from tests.unit.good_site import GOOD
from tests.wire.record import ASKED, PORT, POSTS, fill

RECORDED = sorted(Path(__file__).parent.glob("*.json"))


def restore(client: redis.Redis, recorded: Path, port: str) -> None:
    """Put a recorded state into an empty Redis."""
    for key, (kind, value) in json.loads(recorded.read_text("utf-8").replace(f":{PORT}", f":{port}")).items():
        if kind == "string":
            client.set(key, value)
        elif kind == "hash":
            client.hset(key, mapping=value)
        elif kind == "set":
            client.sadd(key, *value)
        elif kind == "list":
            client.rpush(key, *value)
        elif kind == "zset":
            client.zadd(key, value)
        else:
            for row in value:
                client.xadd(key, row)


def ask_of(message: bytes, stage: Stage) -> TaskMessage:
    """Read a message as a worker does."""
    payload = readable(message)
    body = payload["body"]
    if payload["properties"].get("body_encoding") == "base64":
        body = base64.b64decode(body)
    kwargs = json.loads(body)[1]
    return TaskMessage(kwargs["site"], stage, rid=kwargs.get("rid"), key=kwargs.get("post_id"))


def end(crawl: SmallCrawl, client: redis.Redis) -> None:
    """Work and tick until nothing is open."""
    while Inspector(crawl.frontier).count_requests("demo").open:
        crawl.frontier.tick("me")
        for stage in Stage:
            for message in client.rpop(stage.value, 1000) or ():
                crawl.pages.handle(ask_of(message, stage))
        for key in client.scan_iter("test:s:demo:delayed"):
            for entry in client.zrange(key, 0, -1):
                client.zadd(key, {entry: 0})


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.stem)
def test_a_crawl_that_an_earlier_version_began_is_ended(client: redis.Redis, tmp_path: Path, recorded: Path) -> None:
    with small_forum() as forum, Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        fill(forum)
        restore(client, recorded, forum.url.rpartition(":")[2])
        frontier = Frontier(client, "test")
        before = Inspector(frontier).count_requests("demo")
        crawl = SmallCrawl(client, frontier, forum)

        StartRequests(frontier, "test:start").drain()
        end(crawl, client)
        for state in (State.DEAD, State.PARKED):
            assert Admin(frontier).failed.requests.retry(Selection("demo", state)) == 1
        end(crawl, client)
        OutboxConsumer(frontier, lambda: store, batch=100, worth=1).run()

        assert (before.leased, before.delayed, before.parked, before.dead, before.imbalance()) == (1, 1, 1, 1, "")
        assert Inspector(frontier).count_requests("demo").imbalance() == ""
        assert {str(row[1]) for row in dump(store)["posts"]} >= {*POSTS, *ASKED}
        assert {str(row[2]) for row in dump(store)["comments"]} >= {f"{c}{n}" for c in "cd" for n in POSTS}
        assert (frontier.outbox.size(), Admin(frontier).failed.items.size(), client.llen("test:refused")) == (0, 0, 0)
        assert len(set(forum.asked)) == len(forum.asked)


def test_an_entry_of_a_later_version_is_read_without_what_it_added() -> None:
    reach = json.dumps([*Reach(1, 2, "", 3), "later"])
    entry = f'7 post 5 1 http://127.0.0.1/post/9 ["9",2,"r",{reach},{{"later":1}}]'

    rid, attempt, request = read_entry("demo", entry.encode())

    assert (rid, attempt, request.key, request.page, request.reach) == (7, 1, "9", 2, Reach(1, 2, "", 3))


def test_items_of_a_later_version_are_read_without_what_it_added() -> None:
    trail = ["3", '7 post 5 1 u ["9",1,""]']
    row = [
        "demo",
        [[*Forum("f"), "later"]],
        [[*Post("9", 1.0), "later"]],
        [],
        [["9", 5.0, "w", 1, 2, 6.0, False, 7.0, 8.0, True, "later"]],
        [],
        "v",
        [["later"]],
        trail,
    ]

    items = read_items(json.dumps(row).encode())

    assert (items.posts, items.forums, items.swept) == (
        (Post("9", 1.0),),
        (Forum("f"),),
        (Sweep("9", 5.0, "w", 1, 2, 6.0, False, 7.0, 8.0, True),),
    )
    assert [visit.key for visit in items.visits] == ["9"]


def test_a_site_of_a_later_version_is_read_without_what_it_added(caplog: pytest.LogCaptureFixture) -> None:
    site = parse_site(GOOD, "f.yaml")
    tree = json.loads(dump_site(site))
    tree["later"] = {"a": 1}
    tree["gate"]["later_s"] = 5
    tree["boards"][1]["later"] = True
    tree["list"]["fields"]["post_id"]["later"] = "x"

    read = read_site(json.dumps(tree))

    assert read == site
    assert "later version's keys" in caplog.text


def test_a_site_with_a_wrong_value_is_refused_all_the_same() -> None:
    tree = json.loads(dump_site(parse_site(GOOD, "f.yaml"))) | {"later": 1, "timezone": "Mars/North"}

    with pytest.raises(SiteError, match="published site: "):
        read_site(json.dumps(tree))
