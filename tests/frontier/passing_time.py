"""Time passes for a ledger: what is planned for later becomes due at once."""

from __future__ import annotations

import re
from collections.abc import Callable

import redis

from crawl_tasks.model import Stage


def at_once(client: redis.Redis, key: str) -> None:
    for member in client.zrange(key, 0, -1):
        client.zadd(key, {member: 0})


def end_delays(client: redis.Redis, site: str) -> None:
    at_once(client, f"{site}:delayed")


def end_gate(client: redis.Redis, site: str) -> None:
    client.hset(site, "next_at", 0)


def end_messages(client: redis.Redis, site: str) -> None:
    for stage in Stage:
        for rid, at in client.zrange(f"{site}:released:{stage}", 0, -1, withscores=True):
            client.zadd(f"{site}:released:{stage}", {rid: at - 20_000})


def end_probes(client: redis.Redis, site: str) -> None:
    for stage in Stage:
        if said := client.hget(site, f"breaker:{stage}"):
            client.hset(site, f"breaker:{stage}", re.sub(rb"^(\d+) \d+", rb"\1 1", said))


def end_boards(client: redis.Redis, site: str) -> None:
    for key in client.scan_iter(f"{site}:board:*"):
        if client.hexists(key, "full_due"):
            client.hset(key, "full_due", 0)
    at_once(client, "test:boards")
    at_once(client, "test:fulls")


ENDS: dict[str, Callable[[redis.Redis, str], None]] = {
    "delays": end_delays,
    "gate": end_gate,
    "messages": end_messages,
    "probes": end_probes,
    "boards": end_boards,
}
"""What can be waited for; `site` is the site's key."""
