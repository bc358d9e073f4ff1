# a bench prints
"""Count what one page costs the interpreter: `python -m tests.bench.page_bench [--pages 400] [--functions 40]`.

A page's life (lease, fetch with libcurl or, by --client, requests, parse, commit) and its way through the drain, in
this one process, with a real Redis and the bench forum. Bytecodes and calls are counted by `sys.settrace`: two runs
of one tree give the same figures within 1 %, whatever else the machine does, so a saving of 2 % is seen. C code is not
in them; it is in the CPU time beside them, which is taken without tracing and has the machine's noise.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING

import orjson
import redis

from crawl_tasks.bench.measured_crawl import PREFIX, bench_site
from crawl_tasks.broker.message import readable
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Stage
from crawl_tasks.queues import STAGE_TASKS
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.worker.runtime import runtime
from crawl_tasks.worker.task_message import TaskMessage
from tests.flow.world import ROOT

if TYPE_CHECKING:
    from _typeshed import TraceFunction

WARM = 500
"""Pages before anything is measured: lists come first, and caches fill."""

TAKEN = 64

QUEUES = tuple(stage.value for stage in (Stage.COMMENT, Stage.POST, Stage.LIST))

STAGES = {task: stage for stage, task in STAGE_TASKS.items()}


class Count:
    """Counts the bytecodes and calls of this thread while it is entered."""

    def __init__(self) -> None:
        self.codes: collections.Counter[CodeType] = collections.Counter()
        self.calls: collections.Counter[CodeType] = collections.Counter()

    def __enter__(self) -> None:
        """Count from here."""
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        """Count no more."""
        sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _value: object) -> TraceFunction:
        self.calls[frame.f_code] += 1
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, _value: object) -> TraceFunction:
        if event == "opcode":
            self.codes[frame.f_code] += 1
        return self._step

    def report(self, what: str, pages: int, functions: int) -> None:
        """Print bytecodes and calls a page: in all, by file, and of the functions that have most."""
        total = sum(self.codes.values()) / pages
        print(f"{what}: {total:.0f} bytecodes and {sum(self.calls.values()) / pages:.0f} calls a page")
        files: collections.Counter[str] = collections.Counter()
        for code, count in self.codes.items():
            files[_short(code.co_filename)] += count
        for name, count in files.most_common(functions // 2):
            print(f"  {count / pages:7.0f}  {name}")
        for code, count in self.codes.most_common(functions):
            place = f"{_short(code.co_filename)}:{code.co_firstlineno} {code.co_qualname}"
            print(f"  {count / pages:7.0f} in {self.calls[code] / pages:6.2f} calls  {place}")


def main() -> None:
    """Crawl some pages to get warm, some for the clock, some for the count; then drain."""
    parser = argparse.ArgumentParser(description="Count what a page costs the interpreter.")
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--functions", type=int, default=40, help="how many to name")
    parser.add_argument("--client", choices=("curl", "requests"), default="curl")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory) / "redis")
        server.start()
        forum, base = start_forum(Path(directory))
        try:
            os.environ |= {
                "CRAWL_REDIS_URL": server.url,
                "CRAWL_REDIS_PREFIX": PREFIX,
                "CRAWL_PRIVATE_HOSTS": "127.0.0.1",
                "CRAWL_STATE_DIR": directory,
                "CRAWL_DATABASE_URL": f"sqlite:///{directory}/crawl.db",
                "CRAWL_HTTP_CLIENT": chosen.client,
                "CRAWL_OUTBOX_MAX": "100000",
            }
            site = bench_site(ROOT / "config" / "sites" / "demo.yaml", base, Path(directory) / "truth.json")
            publish_site(runtime().frontier, site, contact=None)
            measure(server, chosen.pages, chosen.functions)
        finally:
            forum.kill()
            forum.wait()
            server.stop()


def start_forum(directory: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Serve the bench forum from a process of its own."""
    port, truth = directory / "port", directory / "truth.json"
    command = [sys.executable, "-m", "crawl_tasks.demo", "--prerender", "--size", "bench", "--port", "0"]
    process = subprocess.Popen([*command, "--port-file", str(port), "--truth", str(truth)], stdout=subprocess.DEVNULL)
    while not port.exists():
        time.sleep(0.1)
    return process, f"http://127.0.0.1:{int(port.read_text())}"


def measure(server: RedisServer, pages: int, functions: int) -> None:
    """Print what a page and what its way through the drain cost."""
    work, drain, frontier = runtime().page_task.handle, runtime().store_task, runtime().frontier
    frontier.produce()
    asks = waiting(server)
    for _ in range(WARM):
        work(next(asks))
    cpu_ns = 0
    for _ in range(pages):
        ask = next(asks)
        cpu_ns -= time.process_time_ns()
        work(ask)
        cpu_ns += time.process_time_ns()
    count = Count()
    for _ in range(pages):
        ask = next(asks)
        with count:
            work(ask)
    count.report(f"a page, {cpu_ns / pages / 1e6:.2f} ms of CPU", pages, functions)
    stored, count = frontier.outbox.size(), Count()
    with count:
        drain.run()
    count.report("the drain", stored, functions)


def waiting(server: RedisServer) -> Iterator[TaskMessage]:
    """Return what the hints on the queues ask for, as a worker would take them."""
    with redis.Redis.from_url(server.url) as client:
        while True:
            runtime().frontier.tick("bench")
            for queue in QUEUES:
                for message in client.lpop(queue, TAKEN) or ():
                    payload = readable(message)
                    (_, fields, _) = orjson.loads(payload["body"])
                    yield TaskMessage(fields["site"], STAGES[payload["headers"]["task"]], fields["rid"])


def _short(path: str) -> str:
    for mark in ("/site-packages/", f"{ROOT}/", "/lib/python"):
        _, found, rest = path.partition(mark)
        if found:
            return rest
    return path


if __name__ == "__main__":
    main()
