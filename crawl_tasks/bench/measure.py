"""`crawl-tasks bench`: a measured crawl, its correctness, and the memory of a queued and a guarded request."""

from __future__ import annotations

import platform
import shutil

from crawl_tasks.bench.measured_crawl import BenchPlan, Cost, measure_crawl
from crawl_tasks.bench.memory import MemoryUse, measure_footprint
from crawl_tasks.demo import SITE_FILE
from crawl_tasks.local.compare import compare_with_truth, needless_requests
from crawl_tasks.local.state_lock import StateLock
from crawl_tasks.settings import load_settings
from crawl_tasks.store.upsert import Store

MB = 1 << 20


def bench(
    *,
    client: str,
    processes: int,
    threads: int,
    latency_ms: int = 0,
    size: str = "bench",
    footprint: int = 200_000,
    pin: bool = True,
    apart: bool = True,
) -> bool:
    """Crawl the bench forum once, print the cost, and measure the memory of `footprint` requests (0: none).

    Returns:
        True if every post and comment is stored once with equal fields, every page was requested once and the ledger
            balances.
    """
    settings = load_settings()
    directory = settings.state_dir / "bench"
    plan = BenchPlan(
        directory, SITE_FILE, client, processes, threads, latency_ms, size=size, is_pinned=pin, is_store_apart=apart
    )
    with StateLock(settings.state_dir / "bench.lock", "a bench runs here"):
        shutil.rmtree(directory, ignore_errors=True)
        cost = measure_crawl(plan, _say)
    faults = _faults(cost)
    for line in (*_table(plan, cost), *(f"WRONG: {fault}" for fault in faults)):
        _say(line)
    if footprint:
        for line in _weights(measure_footprint(footprint)):
            _say(line)
    return not faults


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 (this is the command's output)


def _faults(cost: Cost) -> list[str]:
    faults = [cost.counts.imbalance()] if not cost.counts.is_balanced else []
    with Store(f"sqlite:///{cost.database}") as store:
        for kind, comparison in compare_with_truth(store, cost.counts.site, cost.truth).items():
            if not comparison.is_equal:
                faults.append(
                    f"{kind}: {comparison.missing} missing, {comparison.surplus} surplus,"
                    f" differing {dict(comparison.differing)}; {'; '.join(comparison.examples[:3])}"
                )
    twice = [*needless_requests(cost.request_log)]
    if twice:
        faults.append(f"{len(twice)} pages were asked for more than once, as {twice[0]}")
    return faults


def _table(plan: BenchPlan, cost: Cost) -> list[str]:
    pages, counts = cost.pages, cost.counts
    on = f"{platform.machine()}, Python {platform.python_version()}"
    startup = cost.startup_cpu_s / pages * 1000
    pinned = ", each on one CPU" if plan.is_pinned else ""
    store = "1 store process" if plan.is_store_apart else "the first stores too"
    redis_cpu = cost.redis_cpu_s / pages * 1000
    shares = ", ".join(f"{name} {seconds:.2f}" for name, seconds in cost.cpu_by_process.items())
    return [
        "",
        f"forum        {pages} pages, {plan.latency_ms} ms latency, on this machine ({on})",
        f"crawler      {plan.processes} x {plan.threads} threads{pinned}, {plan.client}, SQLite, AOF; {store}",
        f"pages/s      {pages / cost.seconds:.0f}",
        f"CPU          {cost.cpu_per_1000:.2f} s per 1,000 pages, of it {startup:.2f} starting",
        f"             by process, s: {shares}",
        f"Redis        {cost.redis_commands / pages:.2f} commands a page, {redis_cpu:.2f} CPU s per 1,000 pages,"
        f" peak {cost.redis_peak_bytes / MB:.1f} MB",
        f"memory       {cost.rss_bytes / MB:.0f} MB at most, all processes together (RSS)",
        f"ledger       admitted {counts.admitted} = done {counts.done} + dead {counts.dead} + parked {counts.parked}"
        f" + open {counts.open}",
    ]


def _weights(weight: MemoryUse) -> list[str]:
    return [
        f"queued       {weight.queued_bytes:.1f} bytes of Redis a waiting request, at {weight.requests:,}",
        f"guarded      {weight.guarded_bytes:.2f} bytes a known address, at {weight.requests:,}",
    ]
