"""Reads for those who watch: boards and their schedule, processes, queue lengths, Redis' clock and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import redis

from crawl_tasks.frontier.entry import read_entry
from crawl_tasks.frontier.histogram import AGES_S, Histogram, unpacked
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.model import Request

PRIORITY_SEPARATOR = "\x06\x16"
PRIORITY_STEPS = (3, 6, 9)
"""kombu keeps a list for each priority step; step 0 has the queue's own name."""

_CHUNK = 500
_BOARD_FIELDS = ["scanned_at", "open", "interval_ms", "min_ms", "max_ms", "fixed_ms", "ages", "held"]
_MOST_PROCESSES = 1000
_MOST_FORGOTTEN = 1000
NO_AGES = unpacked(AGES_S, "")


@dataclass(frozen=True, slots=True)
class BoardState:
    """Where a board stands. `scanned_at_ms` is 0 before the first scan has ended; times are of Redis' clock.

    `fixed_ms` is the interval that an operator gave, else 0; one who is held has no `due_at_ms`. `ages` are the
    seconds from posting to storing of its posts.
    """

    board: str
    due_at_ms: int
    scanned_at_ms: int
    open_pages: int
    interval_ms: int
    least_ms: int = 0
    most_ms: int = 0
    fixed_ms: int = 0
    is_held: bool = False
    ages: Histogram = NO_AGES


@dataclass(frozen=True, slots=True)
class Process:
    """A process that said at `at_ms` (Redis' clock) that it lives, and the queues it serves."""

    name: str
    queues: tuple[str, ...]
    at_ms: int


@dataclass(frozen=True, slots=True)
class Vitals:
    """What concerns all sites, at one moment.

    `counters` are histograms over all sites. `produced_at_ms` is when due boards were last looked for, 0 for never.
    `starts` counts start entries: claimed, new, known, refused; `claims` are in hand.
    `forgotten` are boards that were due long ago and that nobody has looked at: site, since when. At most a thousand.
    `shelved` pages could not be stored and are laid aside.
    `halted` is why all sites stand still. `eviction` is what Redis throws away when its memory is full.
    """

    at_ms: int
    counters: Mapping[str, int]
    queues: Mapping[str, int]
    outbox: int
    processes: tuple[Process, ...]
    produced_at_ms: int
    forgotten: tuple[tuple[str, int], ...]
    memory_bytes: int
    max_memory_bytes: int
    starts: Mapping[str, int]
    claims: int
    shelved: int = 0
    halted: str = ""
    eviction: str = ""
    is_store_behind: bool = False


def read_vitals(client: redis.Redis, keys: Keys, queues: Iterable[str], late_ms: int) -> Vitals:
    """Look at everything that is not one site's, in three round trips."""
    now = clock_ms(client)
    pipe = client.pipeline(transaction=False)
    pipe.hgetall(keys.stats)
    pipe.xlen(keys.outbox)
    pipe.zrange(keys.alive, 0, _MOST_PROCESSES, withscores=True)
    pipe.hgetall(keys.serves)
    pipe.zrange(keys.boards, 0, now - late_ms, byscore=True, offset=0, num=_MOST_FORGOTTEN, withscores=True)
    pipe.info("memory")
    pipe.hgetall(keys.starts)
    pipe.zcard(keys.claims)
    pipe.xlen(keys.shelf)
    pipe.get(keys.halt)
    stats, outbox, alive, serves, forgotten, memory, starts, claims, shelved, halted = pipe.execute()
    counters = {name.decode(): int(value) for name, value in stats.items()}
    return Vitals(
        at_ms=now,
        produced_at_ms=counters.pop("produced_at", 0),
        counters=counters,
        queues=queue_sizes(client, queues),
        outbox=outbox,
        processes=tuple(
            Process(name.decode(), tuple(serves.get(name, b"").decode().split(",")), int(at)) for name, at in alive
        ),
        forgotten=tuple((name.decode().partition(" ")[0], int(due)) for name, due in forgotten),
        memory_bytes=memory["used_memory"],
        max_memory_bytes=memory.get("maxmemory", 0),
        starts={name.decode(): int(count) for name, count in starts.items()},
        claims=claims,
        shelved=shelved,
        halted=(halted or b"").decode(),
        eviction=memory.get("maxmemory_policy", ""),
    )


def read_changes(client: redis.Redis, keys: Keys) -> tuple[str, Mapping[bytes, bytes]]:
    """Read the name of the server's run, and of each site how often it changed."""
    pipe = client.pipeline(transaction=False)
    pipe.info("server")
    pipe.hgetall(keys.changes)
    server, changes = pipe.execute()
    return str(server.get("run_id")), changes


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
        pipe.hmget(keys.board(site, board), _BOARD_FIELDS)
    replies = pipe.execute()
    return [
        _board_state(board, due, fields) for board, due, fields in zip(boards, replies[::2], replies[1::2], strict=True)
    ]


def _board_state(board: str, due: float | None, fields: list[bytes | None]) -> BoardState:
    *times, ages, held = fields
    scanned, open_pages, interval, least, most, fixed = (int(float(value or 0)) for value in times)
    return BoardState(
        board,
        int(due or 0),
        scanned,
        open_pages,
        interval,
        least,
        most,
        fixed_ms=fixed,
        is_held=held is not None,
        ages=unpacked(AGES_S, (ages or b"").decode()),
    )


def read_in_hand(client: redis.Redis, keys: Keys, site: str, most: int) -> list[Request]:
    """Read the requests that workers hold now, those first whose lease ends first."""
    rids = cast("list[bytes]", client.zrange(f"{keys.site(site)}:leased", 0, most - 1))
    if not rids:
        return []
    held = cast("list[bytes | None]", client.hmget(f"{keys.site(site)}:open", rids))
    return [
        read_entry(site, rid + b" " + text.partition(b" ")[2])[2]  # the lease's token stands before the entry
        for rid, text in zip(rids, held, strict=True)
        if text is not None
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
