"""Reads for those who watch: boards and their schedule, queue lengths, Redis' clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import redis

from crawl_tasks.frontier.keys import Keys

PRIORITY_SEPARATOR = "\x06\x16"
PRIORITY_STEPS = (3, 6, 9)
"""kombu keeps a list for each priority step; step 0 has the queue's own name."""

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class BoardState:
    """Where a board stands. `scanned_at_ms` is 0 before the first scan has ended; times are of Redis' clock."""

    board: str
    due_at_ms: int
    scanned_at_ms: int
    open_pages: int
    interval_ms: int


def read_boards(client: redis.Redis, keys: Keys, site: str) -> list[BoardState]:
    """Read the boards of a site, by name."""
    names = sorted(cast("set[bytes]", client.smembers(f"{keys.site(site)}:boards")))  # bounded by the site file
    states: list[BoardState] = []
    for i in range(0, len(names), _CHUNK):
        states += _read_chunk(client, keys, site, [name.decode() for name in names[i : i + _CHUNK]])
    return states


def _read_chunk(client: redis.Redis, keys: Keys, site: str, boards: list[str]) -> list[BoardState]:
    pipe = client.pipeline(transaction=False)
    for board in boards:
        pipe.zscore(keys.boards, f"{site} {board}")
        pipe.hmget(keys.board(site, board), ["scanned_at", "open", "interval_ms"])
    replies = pipe.execute()
    return [
        BoardState(board, int(due or 0), *(int(float(value or 0)) for value in fields))
        for board, due, fields in zip(boards, replies[::2], replies[1::2], strict=True)
    ]


def queue_sizes(client: redis.Redis, queues: Iterable[str]) -> dict[str, int]:
    """Count the messages of each queue over all its priority lists."""
    names = list(queues)
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.llen(name)
        for step in PRIORITY_STEPS:
            pipe.llen(f"{name}{PRIORITY_SEPARATOR}{step}")
    replies = pipe.execute()
    width = 1 + len(PRIORITY_STEPS)
    return {name: sum(replies[i * width : (i + 1) * width]) for i, name in enumerate(names)}


def clock_ms(client: redis.Redis) -> int:
    """Read Redis' clock."""
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000
