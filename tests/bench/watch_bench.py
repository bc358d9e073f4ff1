"""What watching costs at a size: `python tests/bench/watch_bench.py [sites] [boards]`.

Generates an installation (every site with counters of a long crawl, a tenth of the boards overdue), then takes and
writes snapshots as the exporter does while all sites change between two scrapes, or 40 of 100, or none, and prints
the time a scrape takes and what CPU of this process and of Redis.
"""

from __future__ import annotations

import gc
import random
import sys
import tempfile
import time
from pathlib import Path

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS
from crawl_tasks.frontier.replies import BoardTerms
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Stage
from crawl_tasks.monitor.cell_snapshots import Snapshots
from crawl_tasks.web.exposition import Writer
from crawl_tasks.web.metrics import FAMILIES
from crawl_tasks.web.snapshot_cache import SnapshotCache

ROUNDS = 20
SCRAPE_EVERY_S = 15
CHANGING = (1.0, 0.4, 0.0)
"""Shares of the sites that change between two scrapes."""
TERMS: dict[str, str | int] = {
    "window": 4,
    "delay_ms": 1000,
    "lease_ms": 30_000,
    "max_attempts": 3,
    "max_backlog": 1000,
    "order": "fifo fifo fifo",
    "guard": "rolling exact exact",
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
        frontier.sites.publish(
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
    """Take snapshots and write them as every scrape does, while all sites change, some or none."""
    gc.set_threshold(50_000, 20, 100)  # as the exporter does
    look, writer = SnapshotCache(Snapshots(frontier).look, fresh_s=0.0), Writer(FAMILIES)
    names = frontier.sites.names()
    text = scrape(look, writer)
    boards = sum(site.boards.total for site in look.now().sites)
    samples = sum(not line.startswith("#") for line in text.splitlines())
    print(f"{len(names)} sites, {boards} boards: {samples} samples, {len(text) / 1e6:.1f} MB")
    for share in CHANGING:
        took = ours = theirs = 0.0
        for number in range(ROUNDS):
            change(client, random.Random(number).sample(names, round(share * len(names))))
            began, our_cpu, their_cpu = time.monotonic(), time.process_time(), redis_cpu_s(client)
            scrape(look, writer)
            took, ours = took + time.monotonic() - began, ours + time.process_time() - our_cpu
            theirs += redis_cpu_s(client) - their_cpu
        took, ours, theirs = (total / ROUNDS for total in (took, ours, theirs))
        print(
            f"{share:4.0%} of the sites changed since: {took:.3f} s; CPU {ours:.3f} s here, {theirs:.3f} s in Redis",
            end="",
        )
        print(f"; every {SCRAPE_EVERY_S} s that is {(ours + theirs) / SCRAPE_EVERY_S:.2%} of a core")


def scrape(look: SnapshotCache, writer: Writer) -> str:
    """Do what the exporter does for an answer, its encoding too."""
    return writer.write(look.now()).encode().decode()


def change(client: redis.Redis, names: list[str]) -> None:
    """Let a page be done of each site, as far as the exporter can tell."""
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.hincrby(f"crawl:s:{name}:stats", "wire", 1)
        pipe.hincrby("crawl:changes", name, 1)
    pipe.execute()


def redis_cpu_s(client: redis.Redis) -> float:
    """Read the CPU seconds that Redis has used."""
    cpu = client.info("cpu")
    return float(cpu["used_cpu_user"] + cpu["used_cpu_sys"])


if __name__ == "__main__":
    main()
