"""Pages a second and Redis' CPU with one Redis and with two, worked by scripts alone: no page is fetched or parsed.

    python -m tests.bench.cells_bench [--rounds 4] [--pages 4000] [--drivers 4] [--share 0.1]

Each driver works on a site of its own: admit, lease, and commits that hand over the next page. Each Redis has so many
drivers, in turn one Redis and two. On a machine with few cores the drivers are the limit, and the CPU a page tells
what another cell would bring. With --share each server gets so much of a core (cgroups, as root): Redis is the limit.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, Lease, Parsed, Request, Stage

TERMS: dict[str, str | int] = {
    "window": 8, "delay_ms": 0, "lease_ms": 60_000, "max_attempts": 3, "max_backlog": 0, "order": "fifo fifo fifo",
    "guard": "exact exact exact", "rolling_ms": 0,
}  # fmt: skip


class Measured(NamedTuple):
    """One round: pages a second, and for each Redis the CPU seconds per 1,000 of its pages and its use of a core."""

    pages_s: float
    cpu_s: list[float]
    use: list[float]


@contextmanager
def held_to(share: float, pid: int) -> Iterator[None]:
    """Give a process a share of a core for the time of a block, by the first version of cgroups."""
    if not share:
        yield
        return
    group = Path(f"/sys/fs/cgroup/cpu/cells-bench-{pid}")
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text("40000")
        (group / "cpu.cfs_quota_us").write_text(str(round(40_000 * share)))
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def drive(url: str, site: str, pages: int) -> int:
    """Fill a site and work until nothing of any site is left in its Redis; return the number of pages."""
    frontier = Frontier(open_client(url, ""), "bench", store_at=10**9, outbox_max=10**9)
    frontier.sites.publish(site, "v1", "{}", TERMS, [])
    for start in range(0, pages, 200):
        some = range(start, min(start + 200, pages))
        frontier.admit(site, [Request(site, Stage.POST, str(n), f"http://127.0.0.1/{n}") for n in some])
    done = 0
    while (message := frontier.client.rpop("post")) is not None:
        named = json.loads(json.loads(message)["body"])[1]
        lease: Lease | NoLease | None = frontier.lease(named["site"], named["rid"])
        while isinstance(lease, Lease):
            result = frontier.commit(lease, Parsed(Items(lease.request.site)), queues=("post",))
            done += 1
            lease = result.next.lease if result and result.next else None
    return done


def cpu_of(server: RedisServer) -> float:
    """Return the CPU seconds of a server that has the library of functions."""
    with open_client(server.url, "") as client:
        Frontier(client, "bench", store_at=10**9, outbox_max=10**9).tick("bench")
        used = client.info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def one_round(directory: Path, cells: int, drivers: int, pages: int, share: float) -> Measured:
    servers = [RedisServer(directory / f"{cells}-{number}") for number in range(cells)]
    for server in servers:
        server.start()
    try:
        with ExitStack() as stack, ProcessPoolExecutor(drivers * cells) as pool:
            for server in servers:
                stack.enter_context(held_to(share, server.pid))
            before = [cpu_of(server) for server in servers]
            began = time.perf_counter()
            work = [pool.submit(drive, servers[i % cells].url, f"s{i}", pages) for i in range(drivers * cells)]
            done = [sum(one.result() for one in work[cell::cells]) for cell in range(cells)]
            took = time.perf_counter() - began
        cpu = [cpu_of(server) - one for server, one in zip(servers, before, strict=True)]
        per_page = [1000 * one / count for one, count in zip(cpu, done, strict=True)]
        return Measured(sum(done) / took, per_page, [one / took for one in cpu])
    finally:
        for server in servers:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--drivers", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.0)
    given = parser.parse_args()
    rounds: dict[int, list[Measured]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(given.rounds):
            for cells, measured in rounds.items():
                place = Path(directory) / str(number)
                measured.append(one_round(place, cells, given.drivers, given.pages, given.share))
    for cells, measured in rounds.items():
        cpu = median(one for round_ in measured for one in round_.cpu_s)
        use = median(one for round_ in measured for one in round_.use)
        pages_s = median(round_.pages_s for round_ in measured)
        print(f"{cells} Redis: {pages_s:,.0f} pages/s, {cpu:.3f} CPU-s per 1,000 pages, {use:.2f} of a core each")


if __name__ == "__main__":
    main()
