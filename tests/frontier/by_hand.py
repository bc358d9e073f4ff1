"""The ledger worked by hand: requests by the handful, leased and taken off their queues one by one."""

from __future__ import annotations

import json

import redis

from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.model import Items, Lease, Parsed, Request, Stage

TERMS: dict[str, str | int] = {
    "window": 4,
    "delay_ms": 0,
    "lease_ms": 30_000,
    "max_attempts": 3,
    "max_backlog": 1000,
    "order": "fifo fifo fifo",
    "guard": "rolling exact exact",
    "rolling_ms": 86_400_000,
}

NOTHING = Parsed(Items("demo"))


def post(number: int, revision: str = "", priority: int = 5) -> Request:
    return Request(
        "demo", Stage.POST, str(number), f"http://127.0.0.1/post/{number}", revision=revision, priority=priority
    )


def posts(count: int, start: int = 1) -> list[Request]:
    return [post(number) for number in range(start, start + count)]


def board(name: str, interval_ms: int = 60_000, least: int = 1, most: int = 600_000) -> BoardTerms:
    first = Request("demo", Stage.LIST, name, f"http://127.0.0.1/list/{name}/1", revision="@SCAN@")
    return BoardTerms(name, line_of(first), interval_ms, least, most)


def released(client: redis.Redis, queue: str = "post") -> list[int]:
    """Take the messages of a queue, oldest first, and give the requests they name."""
    rids = []
    while (message := client.rpop(queue)) is not None:
        rids.append(json.loads(json.loads(message)["body"])[1]["rid"])
    return rids


def lease(frontier: Frontier, rid: int) -> Lease:
    got = frontier.lease("demo", rid)
    assert isinstance(got, Lease), got
    return got


def end_delays(client: redis.Redis) -> None:
    """Make all delayed requests due."""
    for entry in client.zrange("test:s:demo:delayed", 0, -1):
        client.zadd("test:s:demo:delayed", {entry: 0})


def take_list(frontier: Frontier, client: redis.Redis) -> Lease:
    return lease(frontier, released(client, "list")[0])
