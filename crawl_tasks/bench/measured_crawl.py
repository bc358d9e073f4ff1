"""A measured crawl of the bench forum: real Celery workers, a real Redis, a real database, all durable.

CPU is that of the crawler's own processes, from their start to the last stored page, imports included. The forum, Redis
and this harness are left out. Redis is reported beside. On one machine all of them share the cores, so compare pages
per second only within one run.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import psutil
import redis

from crawl_tasks.errors import CrawlError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.local.supervisor import Job, Supervisor
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Board, Site

PREFIX = "bench"
STALL_S = 120.0
WINDOW = 64


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """The parameters of a crawl. `latency_ms` is added by the forum to each answer.

    `is_pinned` keeps each fetching process on one CPU, as `taskset -c N celery ...` does: the threads share Python's
    lock and gain nothing from a second CPU but cold caches. Unless `is_store_apart`, the first process stores too.
    """

    directory: Path
    site_file: Path
    client: str
    processes: int = 2
    threads: int = 8
    latency_ms: int = 0
    seed: int = 1
    size: str = "bench"
    is_pinned: bool = True
    is_store_apart: bool = True


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a crawl. CPU in seconds, memory in bytes, `pages` as the ledger counts them."""

    pages: int
    seconds: float
    cpu_s: float
    startup_cpu_s: float
    cpu_by_process: Mapping[str, float]
    rss_bytes: int
    redis_cpu_s: float
    redis_commands: int
    redis_peak_bytes: int
    counts: RequestCounts
    truth: Path
    database: Path
    request_log: Path

    @property
    def cpu_per_1000(self) -> float:
        """CPU seconds of all crawler processes for 1,000 pages."""
        return self.cpu_s / self.pages * 1000


def bench_site(file: Path, base: str, truth: Path) -> Site:
    """Return the demo site at the bench address, with all boards of that forum, a wide window and no delay."""
    site = load_site(file).relocated(base)
    gate = site.gate.model_copy(update={"window": WINDOW, "delay_s": 0.0, "max_backlog": 1_000_000})
    forums = json.loads(truth.read_text("utf-8"))["forums"]
    boards = tuple(Board(id=forum["forum_id"]) for forum in forums)
    return site.model_copy(update={"gate": gate, "named_boards": boards})


def measure_crawl(plan: BenchPlan, tell: Callable[[str], None]) -> Cost:
    """Crawl the bench forum once, from an empty state in `plan.directory`.

    Raises:
        CrawlError: a process ended, or nothing moved for two minutes.
    """
    plan.directory.mkdir(parents=True, exist_ok=True)
    server = RedisServer(plan.directory / "redis", password=secrets.token_urlsafe(32))
    with Interrupts() as interrupts:
        server.start()
        try:
            environment = _environment(plan, server.url)
            with Supervisor(plan.directory / "logs", environment, interrupts, tell) as crew:
                return _crawl(plan, crew, server, tell)
        finally:
            server.stop()


def _environment(plan: BenchPlan, redis_url: str) -> dict[str, str]:
    return os.environ | {
        "CRAWL_REDIS_URL": redis_url,
        "CRAWL_REDIS_PREFIX": PREFIX,
        "CRAWL_STATE_DIR": str(plan.directory),
        "CRAWL_DATABASE_URL": f"sqlite:///{plan.directory / 'crawl.db'}",
        "CRAWL_HTTP_CLIENT": plan.client,
        "CRAWL_PRIVATE_HOSTS": "127.0.0.1",
    }


def _crawl(plan: BenchPlan, crew: Supervisor, server: RedisServer, tell: Callable[[str], None]) -> Cost:
    base = _start_forum(plan, crew)
    client = redis.Redis.from_url(server.url)
    frontier = Frontier(client, PREFIX)
    site = bench_site(plan.site_file, base, plan.directory / "truth.json")
    workers = _start_workers(plan, crew)
    _wait_for(lambda: len(_workers_ready(client)) >= len(workers), "the workers to start", crew)
    processes = {name: psutil.Process(crew.pid(name)) for name in workers}
    startup = sum(_cpu(process) for process in processes.values())
    # The commands of the workers' start are none of the crawl's.
    client.config_resetstat()
    redis_before = _redis_cpu(client)
    publish_site(frontier, site, contact=None)
    started = time.monotonic()
    frontier.produce()
    tell(f"crawling {base} with {plan.processes} processes of {plan.threads} threads and {plan.client}")
    peak = _follow(frontier, site.name, crew, list(processes.values()))
    seconds = time.monotonic() - started
    cpu = {name: _cpu(process) for name, process in processes.items()}
    counts = Inspector(frontier).count_requests(site.name)
    memory = cast(dict[str, int], client.info("memory"))
    return Cost(
        pages=counts.done,
        seconds=seconds,
        cpu_s=sum(cpu.values()),
        startup_cpu_s=startup,
        cpu_by_process=cpu,
        rss_bytes=peak,
        redis_cpu_s=_redis_cpu(client) - redis_before,
        redis_commands=_client_commands(client),
        redis_peak_bytes=memory["used_memory_peak"],
        counts=counts,
        truth=plan.directory / "truth.json",
        database=plan.directory / "crawl.db",
        request_log=plan.directory / "forum.log",
    )


def _start_forum(plan: BenchPlan, crew: Supervisor) -> str:
    port_file = plan.directory / "port"
    port_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "crawl_tasks.demo", "--prerender", "--port", "0", "--port-file", str(port_file)]
    command += ["--size", plan.size, "--seed", str(plan.seed), "--latency-ms", str(plan.latency_ms)]
    command += ["--truth", str(plan.directory / "truth.json"), "--log", str(plan.directory / "forum.log")]
    crew.start(Job("forum", command, is_restarted=False, rank=0))
    _wait_for(lambda: port_file.exists() and port_file.read_text().strip(), "the forum to start", crew, within_s=600.0)
    return f"http://127.0.0.1:{int(port_file.read_text())}"


def _start_workers(plan: BenchPlan, crew: Supervisor) -> list[str]:
    celery = [sys.executable, "-m", "celery", "-A", "crawl_tasks", "worker", "--without-gossip", "--without-mingle"]
    names = []
    for number in range(plan.processes):
        name = f"fetch{number + 1}"
        stores = number == 0 and not plan.is_store_apart
        command = [
            *celery,
            "-Q",
            "list,detail,store" if stores else "list,detail",
            "-c",
            str(plan.threads),
            "-n",
            f"{name}@%h",
        ]
        crew.start(Job(name, command, is_restarted=False))
        if plan.is_pinned:
            process = psutil.Process(crew.pid(name))
            cpus = process.cpu_affinity()
            process.cpu_affinity([cpus[number % len(cpus)]])
        names.append(name)
    if not plan.is_store_apart:
        return names
    crew.start(Job("store", [*celery, "-Q", "store", "-c", "1", "-n", "store@%h"], is_restarted=False))
    return [*names, "store"]


def _workers_ready(client: redis.Redis) -> set[bytes]:
    """Return the workers that consume: only then a worker binds a control mailbox."""
    return cast(set[bytes], client.smembers("_kombu.binding.celery.pidbox"))


def _wait_for(condition: Callable[[], object], what: str, crew: Supervisor, within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        crew.watch()
        if time.monotonic() > deadline:
            raise CrawlError(f"waited {within_s:.0f} s for {what}; see {crew.log_dir}")
        time.sleep(0.02)


def _follow(frontier: Frontier, site: str, crew: Supervisor, processes: list[psutil.Process]) -> int:
    """Wait until all pages are fetched and stored. Return the peak memory of all processes together, in bytes."""
    peak, last, moved = 0, -1, time.monotonic()
    while True:
        crew.watch()
        counts = Inspector(frontier).count_requests(site)
        waiting = frontier.outbox.size()
        peak = max(peak, sum(child.memory_info().rss for process in processes for child in _tree(process)))
        if counts.open == 0 and waiting == 0:
            return peak
        if counts.done - waiting != last:
            last, moved = counts.done - waiting, time.monotonic()
        if time.monotonic() - moved > STALL_S:
            raise CrawlError(f"nothing moved for {STALL_S:.0f} s; see {crew.log_dir}")
        time.sleep(0.05)


def _tree(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def _cpu(process: psutil.Process) -> float:
    times = [child.cpu_times() for child in _tree(process)]
    return sum(t.user + t.system for t in times)


def _redis_cpu(client: redis.Redis) -> float:
    info = cast(dict[str, float], client.info("cpu"))
    return info["used_cpu_user"] + info["used_cpu_sys"]


def _client_commands(client: redis.Redis) -> int:
    """Return the number of commands from clients, without those inside scripts."""
    stats = cast(dict[str, dict[str, int]], client.info("commandstats"))
    sent = ("fcall", "evalsha", "eval", "xread", "publish", "subscribe", "psubscribe", "brpop", "ping")
    return sum(value["calls"] for name, value in stats.items() if name.removeprefix("cmdstat_") in sent)
