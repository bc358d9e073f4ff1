"""Redis memory per queued request and per guarded address, in bytes, at a given number of both."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Request, Stage

SITE = "memory"
CALL = 1000
TERMS: dict[str, str | int] = {
    "window": 1,
    "delay_ms": 0,
    "lease_ms": 60_000,
    "max_attempts": 5,
    "max_backlog": 0,
    "order": "fifo fifo fifo",
    "guard": "exact exact exact",
    "rolling_ms": 86_400_000,
}


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes by Redis' own account, divided by the number of requests."""

    requests: int
    queued_bytes: float
    guarded_bytes: float


def _requests(count: int) -> Iterator[list[Request]]:
    for start in range(0, count, CALL):
        yield [
            Request(SITE, Stage.POST, str(n), f"https://forum.example.org/post/{n}", revision="57")
            for n in range(start, min(start + CALL, count))
        ]


def _used(client: redis.Redis) -> int:
    info = cast(dict[str, int], client.info("memory"))
    return info["used_memory"]


def measure_footprint(count: int) -> MemoryUse:
    """Queue `count` requests on a separate Redis and measure their memory, then the guard's without them."""
    with (
        tempfile.TemporaryDirectory() as directory,
        RedisServer(Path(directory), password=secrets.token_urlsafe(32)) as server,
        redis.Redis.from_url(server.url) as client,
    ):
        # The buffers of the append-only file would count as memory of the requests.
        client.config_set("appendonly", "no")
        # The default of Valkey 8 frees memory later, in the background.
        client.config_set("lazyfree-lazy-user-del", "no")
        frontier = Frontier(client, SITE)
        frontier.sites.publish(SITE, "1", "{}", TERMS, [])
        before = _used(client)
        for batch in _requests(count):
            frontier.admit(SITE, batch)
        full = _used(client)
        # Without the queue, the rest of the growth is the guard's.
        client.delete(f"{SITE}:s:{SITE}:ready:post:5")
        guard = _used(client)
    return MemoryUse(count, (full - guard) / count, (guard - before) / count)
