"""What watching costs at a size: `python tests/bench/watch_bench.py [sites] [boards]`.

Generates an installation (every site with counters of a long crawl, a tenth of the boards overdue), then takes and
writes snapshots as the exporter does, and prints CPU of this process and of Redis, and the time a scrape takes.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from pathlib import Path

import redis

from crawl_tasks.frontier.frontier import BoardTerms, Frontier
from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Stage
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.web.families import exposition
from crawl_tasks.web.metrics import FAMILIES

ROUNDS = 20
SCRAPE_EVERY_S = 15
TERMS: dict[str, str | int] = {
    "window": 4,
    "delay_ms": 1000,
    "lease_ms": 30_000,
    "max_attempts": 3,
    "max_backlog": 1000,
    "order": "fff",
    "guard": "ree",
    "rolling_ms": 86_400_000,
    "levels:list": "75",
    "levels:post": "5",
    "levels:comment": "5",
}


def fill(client: redis.Redis, sites: int, boards: int) -> Frontier:
    """Publish the sites and give them the counters of a long crawl."""
    frontier = Frontier(client, "crawl")
    for number in range(sites):
        name = f"site{number}"
        frontier.publish(
            name, "v1", "{}", TERMS, [BoardTerms(str(b), "1 ! list 5 a b", 60_000, 1, 2) for b in range(boards)]
        )
        counters = {"admitted": 10**6, "done:list": 1, "done:post": 2, "done:comment": 3, "known": 7, "attempts": 9}
        client.hset(f"crawl:s:{name}", mapping=counters | {"failed:server_error": 4, "failed:parse": 2, "gone:post": 1})
        stats = {f"status:{status}": 10**5 for status in (200, 404, 429, 500, 503)}
        stats |= {"wire": 10**9, "body": 10**10, "rest_ms": 1, "delayed:server_error": 4, "parked:parse": 2}
        stats |= {f"{kind}:{change}": 5 for kind in ("post", "comment") for change in ("new", "changed", "unchanged")}
        stats |= {f"fresh:{bucket}": 9 for bucket in range(1, len(AGES_S) + 2)}
        client.hset(f"crawl:s:{name}:stats", mapping=stats)
        client.zadd(f"crawl:s:{name}:overdue", {str(board): 1 for board in range(boards // 10)})
        client.zadd(f"crawl:s:{name}:delayed", {f"{rid} x": 10**14 for rid in range(20)})
    times = {f"{what}:{stage}:{b}": 9 for what in ("fetch", "parse", "wait") for stage in Stage for b in range(1, 16)}
    client.hset("crawl:stats", mapping=times | {f"fetch:list:{len(TIMES_MS) + 1}": 1})
    return frontier


def main() -> None:
    """Fill, measure, print."""
    sites, boards = (int(word) for word in (sys.argv[1:3] if len(sys.argv) == 3 else ("1000", "100000")))
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory))
        server.start()
        with redis.Redis.from_url(server.url) as client:
            frontier = fill(client, sites, boards // sites)
            measure(client, frontier)
        server.stop()


def measure(client: redis.Redis, frontier: Frontier) -> None:
    """Take snapshots and write them, as every scrape does."""
    gc.set_threshold(50_000, 20, 100)  # as the exporter does
    exposition(FAMILIES, take_snapshot(frontier))
    ours, theirs, began = time.process_time(), redis_cpu_s(client), time.monotonic()
    taking = 0.0
    for _ in range(ROUNDS):
        before = time.process_time()
        snapshot = take_snapshot(frontier)
        taking += time.process_time() - before
        text = exposition(FAMILIES, snapshot)
    ours, theirs = (time.process_time() - ours) / ROUNDS, (redis_cpu_s(client) - theirs) / ROUNDS
    took = (time.monotonic() - began) / ROUNDS
    samples = sum(not line.startswith("#") for line in text.splitlines())
    boards = sum(site.boards.total for site in snapshot.sites)
    print(f"{len(snapshot.sites)} sites, {boards} boards: {samples} samples, {len(text) / 1e6:.1f} MB")
    print(f"a scrape takes {took:.3f} s; CPU {ours:.3f} s here (of it the snapshot {taking / ROUNDS:.3f} s)", end="")
    print(f", {theirs:.3f} s in Redis, pid {os.getpid()}")
    print(f"every {SCRAPE_EVERY_S} s that is {(ours + theirs) / SCRAPE_EVERY_S:.2%} of a core")


def redis_cpu_s(client: redis.Redis) -> float:
    """Read the CPU seconds that Redis has used."""
    cpu = client.info("cpu")
    return float(cpu["used_cpu_user"] + cpu["used_cpu_sys"])


if __name__ == "__main__":
    main()
