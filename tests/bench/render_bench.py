"""Measure what the browser costs beside plain fetching: python -m tests.bench.render_bench [PAGES] [THREADS]."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress

import psutil

from crawl_tasks.fetch.fetch_policy import FetchPolicy, RenderPolicy
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.model import Request, Stage
from tests.script_forum import ScriptForum

WAYS = {
    "plain": {},
    "drawn": {Stage.POST: RenderPolicy(wait_for=".drawn", quiet_s=0.1)},
    "drawn, by defaults": {Stage.POST: RenderPolicy()},
    "answer": {Stage.POST: RenderPolicy(response="/api/threads/")},
}


def of_tree(value: Callable[[psutil.Process], float]) -> float:
    """Add a value over this process and the browser's. A process may end meanwhile."""
    total = 0.0
    for one in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            total += value(one)
    return total


def cpu_s() -> float:
    """Return the time of the processor so far, also of processes that have ended."""
    return of_tree(lambda one: sum(one.cpu_times()[:4]))


def memory_mb() -> float:
    """Return the memory of worker and browser: shared pages count once, divided among their users (PSS)."""
    return of_tree(lambda one: one.memory_full_info().pss) / (1 << 20)


def measure(name: str, pages: int, threads: int) -> None:
    forum, fetcher = ScriptForum(), Fetcher(build_client("requests"))
    place = forum.server.place
    policy = FetchPolicy(
        "bench/1.0", frozenset({place}), private_hosts=frozenset({place}), robots=False, render=WAYS[name]
    )
    request = Request("demo", Stage.POST, "5", f"{forum.server.base}/post/5")
    fetcher.fetch(request, policy)
    began, spent_s = time.perf_counter(), cpu_s()
    with ThreadPoolExecutor(threads) as pool:
        work = [pool.submit(fetcher.fetch, request, policy) for _ in range(pages)]
        work[pages // 2].result()
        held_mb = memory_mb()
        wait(work)
        took_s, used_s = time.perf_counter() - began, cpu_s() - spent_s
    print(f"{name:20} {60 * pages / took_s:9.0f} {1000 * used_s / pages:9.1f} {held_mb:9.0f}", flush=True)
    fetcher.close()
    forum.server.stop()


def main() -> None:
    pages, threads = (int(word) for word in (*sys.argv[1:], "100", "2")[:2])
    print(f"{'way':20} {'pages/min':>9} {'CPU ms':>9} {'MB':>9}")
    for name in WAYS:
        measure(name, pages, threads)


if __name__ == "__main__":
    main()
