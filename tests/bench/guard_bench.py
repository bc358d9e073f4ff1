"""Measure the duplicate guards: memory of an address, and how often each guard errs.

    python -m tests.bench.guard_bench [--addresses 200000]

As many addresses are listed, then listed again, then others as many. Prints for each guard the bytes of Redis and of
the database an address, the share of known addresses that are asked for again, and the share of new ones that are not.
Asserts nothing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import redis

from crawl_tasks.bench.memory import TERMS
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import FULL_REACH, Items, Priority, Request, Stage, Visit
from crawl_tasks.store.queries import with_stored
from crawl_tasks.store.upsert import Store

SITE = "guards"
CALL = 1000
Passed = Callable[[list[Request]], int]


def requests(first: int, count: int) -> Iterator[list[Request]]:
    for start in range(first, first + count, CALL):
        yield [
            Request(SITE, Stage.POST, str(n), f"https://forum.example.org/post/{n}", revision="57")
            for n in range(start, min(start + CALL, first + count))
        ]


def modes(count: int) -> dict[str, dict[str, str | int]]:
    """Return the terms of each guard, for a number of addresses."""
    return {
        "exact": {"guard": "rolling exact rolling"},
        "exact, guard_hits: 10": {"guard": "rolling exact rolling", "guard_hits": 10},
        "rolling by time": {"guard": "rolling rolling rolling"},
        f"rolling, guard_length: {count // 4}": {"guard": "rolling rolling rolling", "guard_length": count // 4},
        "bloom": {"guard": "rolling bloom rolling", "guard_capacity": 4 * count},
        "database": {"guard": "rolling database rolling"},
        "off": {"guard": "rolling off rolling"},
    }


def visit_of(request: Request) -> Visit:
    return Visit(
        SITE, request.stage, request.key, 1, request.address, Priority.NORMAL, FULL_REACH, request.revision, 1, True
    )


def measure(name: str, terms: dict[str, str | int], count: int, url: str, file: Path) -> str:
    with redis.Redis.from_url(url) as client, Store(f"sqlite:///{file}") as store:
        client.flushall()
        frontier = Frontier(client, SITE)
        frontier.sites.publish(SITE, "1", "{}", TERMS | terms, [])
        is_stored = terms["guard"] == "rolling database rolling"
        before, size_before = client.info("memory")["used_memory"], file.stat().st_size

        def admitted(batch: list[Request]) -> int:
            new = frontier.admit(SITE, with_stored(store, batch, [Stage.POST]) if is_stored else batch).new
            client.delete(f"{SITE}:s:{SITE}:ready:post:5")
            if is_stored:
                store.write([Items(SITE, visits=tuple(map(visit_of, batch)))])
            return new

        for batch in requests(0, count):
            admitted(batch)
        store.database.engine.dispose()
        memory = (client.info("memory")["used_memory"] - before) / count
        disk = (file.stat().st_size - size_before) / count if is_stored else 0.0
        forgotten = sum(map(admitted, requests(0, count)))
        missed = count - sum(map(admitted, requests(count, count)))
    return f"| {name} | {memory:.1f} | {disk:.0f} | {100 * forgotten / count:.1f} % | {1e6 * missed / count:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--addresses", type=int, default=200_000, help="addresses (default: %(default)s)")
    count = parser.parse_args().addresses
    print("| guard | Redis, bytes an address | database | known, asked for again | new, not asked for, of a million |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory, RedisServer(Path(directory)) as server:
        with redis.Redis.from_url(server.url) as client:
            client.config_set("appendonly", "no")
            client.config_set("lazyfree-lazy-user-del", "no")
            # A script that runs for the first time costs memory of its own.
            warm = Frontier(client, SITE)
            warm.sites.publish(SITE, "1", "{}", TERMS, [])
            warm.admit(SITE, next(requests(0, CALL)))
        for number, (name, terms) in enumerate(modes(count).items()):
            print(measure(name, terms, count, server.url, Path(directory) / f"{number}.db"), flush=True)


if __name__ == "__main__":
    main()
