"""Writes down what a crawl leaves in Redis half-way: `python -m tests.wire.record > tests/wire/DATE.json`.

Recorded once with the code of that day and kept, so that later code is held to what it may find.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import redis

from crawl_tasks.celery import build_app
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Lease, Stage, State
from crawl_tasks.queues import FETCH_POST
from crawl_tasks.settings import Settings
from tests.frontier.small_crawl import RULES, SmallCrawl, SmallForum, small_forum

PORT = "PORT"
POSTS = [str(number) for number in range(1, 9)]
ASKED = ("50", "51", "52")  # by a message, by a start entry, by one that was in hand


def fill(forum: SmallForum) -> None:
    """Write the forum's pages."""
    forum.board("1", 1, *(f"{number} 1" for number in POSTS))
    forum.board("2", 1, "60 0")
    for number in (*POSTS, *ASKED, "60"):
        forum.thread(number, f"c{number} text", more="<div class=pages><a href=x>2</a></div>")
        forum.pages[f"/comment/{number}/2"] = (
            f"<div class=c data-id=d{number}><b class=who>bo</b><p class=say>more</div>"
        )


def half_way(client: redis.Redis, url: str, forum: SmallForum) -> None:
    """Crawl until a request stands in every state there is."""
    frontier = Frontier(client, "test")
    crawl = SmallCrawl(client, frontier, forum)
    crawl.publish("boards: [1, 2]\n", RULES.replace("window: 50", "window: 6"))
    client.zadd("test:boards", {"demo 2": 1 << 50})  # the other one is due some day
    frontier.produce()
    take(client, Stage.LIST)
    crawl.pages.process("demo", 1)
    rids = [int(rid) for rid in client.zrange("test:s:demo:released:post", 0, -1)]
    crawl.pages.process("demo", rids[0])
    ends = (
        Verdict(State.DELAYED, "unreachable", "no route", 1000),
        Verdict(State.PARKED, "parse", "no title"),
        Verdict(State.DEAD, "status", "answered 418"),
    )
    for rid, verdict in zip(rids[1:], ends, strict=False):
        lease = frontier.lease("demo", rid)
        assert isinstance(lease, Lease)
        frontier.fail(lease, verdict)
    frontier.lease("demo", rids[4])
    app = build_app(Settings(redis_url=url))
    app.send_task(FETCH_POST, kwargs={"site": "demo", "post_id": ASKED[0]})
    app.close()
    client.rpush("test:start", json.dumps({"site": "demo", "post": ASKED[2]}))
    frontier.start_queue.claim("test:start", "", 1)
    client.rpush("test:start", json.dumps({"site": "demo", "post": ASKED[1]}))


def take(client: redis.Redis, stage: Stage) -> None:
    """Take a stage's messages, as a worker does."""
    client.delete(stage.value)


def state_of(client: redis.Redis, port: int) -> dict[str, object]:
    """Read all keys that do not expire; the forum's port becomes a word."""
    readers = {
        "string": client.get, "hash": client.hgetall, "set": lambda key: sorted(client.smembers(key)),
        "list": lambda key: client.lrange(key, 0, -1), "stream": lambda key: [row for _, row in client.xrange(key)],
        "zset": lambda key: dict(client.zrange(key, 0, -1, withscores=True)),
    }  # fmt: skip
    found = {
        key: [kind, readers[kind](key)]
        for key in sorted(client.scan_iter())
        if client.ttl(key) == -1 and (kind := client.type(key))
    }
    return json.loads(json.dumps(found, ensure_ascii=False).replace(f":{port}", f":{PORT}"))


def main() -> None:
    """Record on stdout."""
    with tempfile.TemporaryDirectory() as directory, small_forum() as forum:
        server = RedisServer(Path(directory))
        server.start()
        fill(forum)
        with redis.Redis.from_url(server.url, decode_responses=False) as client:
            half_way(client, server.url, forum)
        with redis.Redis.from_url(server.url, decode_responses=True) as client:
            state = state_of(client, int(forum.url.rpartition(":")[2]))
        server.stop()
    sys.stdout.write(json.dumps(state, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
