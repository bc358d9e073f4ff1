"""Monitoring reads: boards and schedules, processes, queue lengths, Redis' clock and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import redis

from crawl_tasks.frontier.entry import read_entry
from crawl_tasks.frontier.histogram import AGES_S, Histogram, unpacked
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.model import Request
from crawl_tasks.queues import RENDER_QUEUE

PRIORITY_SEPARATOR = "\x06\x16"
PRIORITY_STEPS = (3, 6, 9)
"""The priority steps of kombu, each with a list. Step 0 has the queue's own name."""

_CHUNK = 200
_BOARD_FIELDS = [
    *("scanned_at", "open", "interval_ms", "min_ms", "max_ms", "fixed_ms"),
    *("gone_at", "ages", "held", "history", "expected", "pace"),
]
_MOST_PROCESSES = 1000
_MOST_FORGOTTEN = 1000
NO_AGES = unpacked(AGES_S, "")


@dataclass(frozen=True, slots=True)
class BoardState:
    """The state of a board. Times are of Redis' clock, and `scanned_at_ms` is 0 before the end of the first scan.

    `rate_h` is the mean number of new items an hour by the priced schedule, `expected_h` that number until the next
    scan, and `lag_s` the mean time of the last scans behind that schedule. They are 0 by another one.
    `fixed_ms` is an operator's interval, else 0. `gone_at_ms` is the time since which the forum calls the board's first
    page gone, else 0. A held board has no `due_at_ms`. `ages` are the seconds from posting
    to storing of the board's posts and comments.
    """

    board: str
    due_at_ms: int
    scanned_at_ms: int
    open_pages: int
    interval_ms: int
    least_ms: int = 0
    most_ms: int = 0
    fixed_ms: int = 0
    gone_at_ms: int = 0
    is_held: bool = False
    ages: Histogram = NO_AGES
    rate_h: float = 0.0
    expected_h: float = 0.0
    lag_s: float = 0.0

    @property
    def gap_s(self) -> float:
        """Return the expected seconds between two scans, as they were of late."""
        return max(0.001, self.interval_ms / 1000 + self.lag_s)


@dataclass(frozen=True, slots=True)
class Process:
    """A process with its queues, alive at `at_ms` (Redis' clock), the time of the last heartbeat.

    Its first heartbeat came at `born_ms`, 0 for one that is older than a quarter of an hour. Its clock is `ahead_ms`
    before Redis' own. `birth` tells it from another process of this name.
    """

    name: str
    queues: tuple[str, ...]
    at_ms: int
    start_key: str = ""
    version: str = ""
    ahead_ms: int = 0
    birth: str = ""
    born_ms: int = 0


@dataclass(frozen=True, slots=True)
class ProcessHealth:
    """The births and deaths of processes, and the looks of a sender of alerts.

    `births` are the first heartbeats of the last quarter of an hour, in ms, of processes that have not ended in order,
    by name and birth. `starts` counts all processes so far. A sender looked for alerts at `alerts_at_ms`, 0 for none
    that was or that ended in order, and looks every `alerts_every_ms`. No receiver has taken its messages since
    `alerts_unsent_at_ms`, 0 where they are taken.
    """

    births: Mapping[str, int] = field(default_factory=dict)
    starts: int = 0
    alerts_at_ms: int = 0
    alerts_every_ms: int = 0
    alerts_unsent_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Health:
    """The state that all sites share, at one moment.

    `counters` are histograms over all sites. `produced_at_ms` is the last time of a look for due boards, 0 for never.
    `starts` counts start entries: claimed, new, known, refused. `claims` are entries that workers hold now.
    `forgotten` are at most a thousand boards that were due long ago without a look: site, due time in ms.
    `rejected` is the number of pages with rejected items.
    `halted` is the reason why all sites stand still. `only` are the sites of a `run`, for which all others stand
    still. `eviction` is Redis' policy for a full memory.
    `oldest_item_at_ms` is the commit of the page that waits longest for the store, 0 for none. `outbox_max` is the
    number of waiting pages from which on nothing is fetched. `refusal` is the reason why Redis takes no writes.
    `process_health` tell of processes that began and died.
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
    rejected: int = 0
    halted: str = ""
    only: tuple[str, ...] = ()
    eviction: str = ""
    oldest_item_at_ms: int = 0
    outbox_max: int = 0
    refusal: str = ""
    process_health: ProcessHealth = ProcessHealth()


def read_health(client: redis.Redis, keys: Keys, queues: Iterable[str], late_ms: int) -> Health:
    """Return the state that all sites share, in three round trips."""
    now = clock_ms(client)
    pipe = client.pipeline(transaction=False)
    pipe.hgetall(keys.stats)
    pipe.xlen(keys.outbox)
    pipe.zrange(keys.alive, 0, _MOST_PROCESSES, withscores=True)
    pipe.hgetall(keys.serves)
    pipe.zrange(keys.boards, 0, now - late_ms, byscore=True, offset=0, num=_MOST_FORGOTTEN, withscores=True)
    pipe.info("memory", "persistence", "replication")
    pipe.hgetall(keys.starts)
    pipe.zcard(keys.claims)
    pipe.xlen(keys.rejected)
    pipe.get(keys.halt)
    pipe.smembers(keys.only)
    pipe.hgetall(keys.reads)
    pipe.xrange(keys.outbox, count=1)
    pipe.hgetall(keys.facts)
    pipe.zrange(keys.births, 0, _MOST_PROCESSES, withscores=True)
    stats, outbox, alive, serves, forgotten, info, starts, claims, rejected, halted, only, *rest = pipe.execute()
    reads, oldest, facts, births = rest
    counters = {name.decode(): int(value) for name, value in stats.items()}
    sizes = queue_sizes(client, queues)
    # Most installations draw no pages, and need no worker for that.
    if not sizes.get(RENDER_QUEUE) and not any(RENDER_QUEUE in text.decode().split(",") for text in serves.values()):
        sizes.pop(RENDER_QUEUE, None)
    born = {name.decode(): int(at) for name, at in births}
    numbers = ("worker_starts", "alerts_at", "alerts_every", "alerts_unsent_at")
    process_health = ProcessHealth(born, *(counters.pop(name, 0) for name in numbers))
    return Health(
        at_ms=now,
        produced_at_ms=counters.pop("produced_at", 0),
        counters=counters,
        queues=sizes,
        outbox=outbox,
        processes=tuple(
            _process(
                name.decode(), int(at), [fields.get(name, b"").decode() for fields in (serves, reads, facts)], born
            )
            for name, at in alive
        ),
        process_health=process_health,
        forgotten=tuple((name.decode().partition(" ")[0], int(due)) for name, due in forgotten),
        memory_bytes=info["used_memory"],
        max_memory_bytes=info.get("maxmemory", 0),
        starts={name.decode(): int(count) for name, count in starts.items()},
        claims=claims,
        rejected=rejected,
        halted=(halted or b"").decode(),
        only=tuple(sorted(name.decode() for name in only)),
        eviction=info.get("maxmemory_policy", ""),
        # The number before the dash of an entry's id is Redis' clock at its commit.
        oldest_item_at_ms=int(oldest[0][0].partition(b"-")[0]) if oldest else 0,
        refusal=write_refusal(info),
    )


def _process(name: str, at_ms: int, texts: Sequence[str], born: Mapping[str, int]) -> Process:
    queues, start_key, facts = texts
    ahead_ms, birth, version = (facts or "0  ").split(" ", 2)
    born_ms = born.get(f"{name} {birth}", 0)
    return Process(name, tuple(queues.split(",")), at_ms, start_key, version, int(ahead_ms), birth, born_ms)


def write_refusal(info: Mapping[str, object]) -> str:
    """Return the reason why a Redis with such an INFO refuses writes, or an empty text."""
    if info.get("role") == "slave" and info.get("slave_read_only"):
        return "it is a read-only replica"
    if info.get("aof_last_write_status", "ok") != "ok":
        return "it cannot write its append-only file, as with a full disk"
    if info.get("rdb_last_bgsave_status", "ok") != "ok":
        return "it cannot save a snapshot, as with a full disk"
    used = int(str(info["used_memory"])) - int(str(info.get("mem_not_counted_for_evict", 0)))
    if 0 < int(str(info.get("maxmemory", 0))) <= used and info.get("maxmemory_policy") == "noeviction":
        return "its memory is full (maxmemory)"
    return ""


def read_changes(client: redis.Redis, keys: Keys) -> tuple[str, Mapping[bytes, bytes]]:
    """Return the id of the server's run, and the number of changes of each site."""
    pipe = client.pipeline(transaction=False)
    pipe.info("server")
    pipe.hgetall(keys.changes)
    server, changes = pipe.execute()
    return str(server.get("run_id")), changes


def read_boards(scripts: Scripts, site: str) -> list[BoardState]:
    """Return the boards of a site, by name."""
    texts: set[bytes] = set()
    cursor = b"0"
    while True:
        reply = scripts.call(Verb.LIST_BOARDS, site, cursor, _CHUNK, *_BOARD_FIELDS)
        cursor = cast(bytes, reply[1])
        texts.update(cast("list[bytes]", reply[2:]))
        if cursor == b"0":
            break
    # A set that changes meanwhile may show a board twice, with other values.
    boards = {text.partition(b"\0")[0]: text for text in texts}
    return [_board_state(*boards[name].decode().split("\0")) for name in sorted(boards)]


def _board_state(board: str, due: str, *fields: str) -> BoardState:
    *times, ages, held, history, expected, pace = fields
    scanned, open_pages, interval, least, most, fixed, gone_at = (int(float(value or 0)) for value in times)
    rate = history.split()[4] if history else "0"  # scan.lua
    return BoardState(
        board,
        int(float(due or 0)),
        scanned,
        open_pages,
        interval,
        least,
        most,
        fixed_ms=fixed,
        gone_at_ms=gone_at,
        is_held=bool(held),
        ages=unpacked(AGES_S, ages) if ages else NO_AGES,
        rate_h=float(rate),
        expected_h=float(expected or rate),
        lag_s=float(pace.split()[0]) * 3600 if pace else 0.0,
    )


def read_in_hand(client: redis.Redis, keys: Keys, site: str, most: int) -> list[Request]:
    """Return the requests that workers hold now, by the deadline of the lease."""
    rids = cast("list[bytes]", client.zrange(f"{keys.site(site)}:leased", 0, most - 1))
    if not rids:
        return []
    held = cast("list[bytes | None]", client.hmget(f"{keys.site(site)}:open", rids))
    return [
        # The token of the lease is before the entry.
        read_entry(site, rid + b" " + text.partition(b" ")[2])[2]
        for rid, text in zip(rids, held, strict=True)
        if text is not None
    ]


def queue_sizes(client: redis.Redis, queues: Iterable[str]) -> dict[str, int]:
    """Return the number of messages of each queue over all priority lists."""
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
    """Return Redis' clock in ms."""
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000
