"""A whole installation in a temporary directory: Redis, the demo forum, and Celery processes by plain commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.registry.site_publisher import board_terms, publish_site, terms_of
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import dump_site
from crawl_tasks.store.upsert import Store
from tests.flow.judge import differences
from tests.waiting import PATIENCE_S, eventually

ROOT = Path(__file__).parents[2]
CELERY = [sys.executable, "-m", "celery", "-A", "crawl_tasks"]
SITE = "demo"
SHORT_LEASE_MS = 6000  # the crawler's own are an attempt's deadline and 15 seconds


GRACE_S = 20.0
"""What a process of the test may take to end when asked; then it is killed."""


def whole_lines(file: Path) -> list[str]:
    """Read the lines of a log; the last one may be half written."""
    text = file.read_text("utf-8")
    return text[: text.rfind("\n") + 1].splitlines()


@dataclass
class World:
    """What a flow test acts on. Everything started here ends with `close`."""

    directory: Path
    server: RedisServer
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = ""
        self.environment = os.environ | {
            "CRAWL_REDIS_URL": self.server.url,
            "CRAWL_STATE_DIR": str(self.directory),
            "CRAWL_PRODUCE_EVERY_S": "0.5",
            # The sites of the tests are in Redis alone.
            "CRAWL_PRIVATE_HOSTS": "127.0.0.1",
            "CRAWL_FUNCTION_MODULES": "tests",
            "PYTHONPATH": str(ROOT),
        }
        # A disk that stalls under the whole suite holds up the server longer than the 5 s that redis-py waits.
        self.client = redis.Redis.from_url(self.server.url, socket_timeout=PATIENCE_S)
        self.frontier = Frontier(self.client, "crawl")

    @contextmanager
    def environment_of(self, **changed: str) -> Iterator[None]:
        """Start processes of another environment."""
        before = self.environment
        self.environment = before | changed
        yield
        self.environment = before

    # -- processes ---------------------------------------------------------------------------------------

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        with (self.directory / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, env=self.environment, cwd=self.directory, stdout=log, stderr=log, start_new_session=True
            )
        return self.processes[name]

    def run(self, name: str, *command: str) -> str:
        """Run a command to its end and give what it printed."""
        self.start(name, *command)
        assert self.processes.pop(name).wait(timeout=PATIENCE_S) == 0, self.log_of(name)
        return self.log_of(name)

    def worker(self, name: str, queues: str, *options: str) -> subprocess.Popen[bytes]:
        """Start a worker as a person would; return when it consumes."""
        process = self.start_worker(name, queues, *options)
        self.wait_for_worker(name)
        return process

    def workers(self, lists: int = 1, details: int = 1) -> None:
        """Start so many list and detail workers and one that stores, side by side; return when all consume."""
        names = [f"list{number}" for number in range(lists)] + [f"detail{number}" for number in range(details)]
        for name in names:
            self.start_worker(name, name.rstrip("0123456789"))
        self.start_worker("store", "store", "-c", "1")
        for name in (*names, "store"):
            self.wait_for_worker(name)

    def start_worker(self, name: str, queues: str, *options: str) -> subprocess.Popen[bytes]:
        return self.start(name, *CELERY, "worker", "-Q", queues, "-n", f"{name}@%h", "-l", "info", *options)

    def wait_for_worker(self, name: str) -> None:
        eventually(lambda: f"{name}@" in self.ready_workers() or self.ended(name))

    def ready_workers(self) -> str:
        return str(self.client.smembers("_kombu.binding.celery.pidbox"))

    def ended(self, name: str) -> bool:
        process = self.processes[name]
        assert process.poll() is None, f"{name} ended: {self.log_of(name)[-2000:]}"
        return False

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for member in self.client.smembers("_kombu.binding.celery.pidbox"):
            if f"{name}@".encode() in member:
                self.client.srem("_kombu.binding.celery.pidbox", member)

    def close(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=GRACE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.client.close()

    def log_of(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text("utf-8", "replace")

    # -- the forum ---------------------------------------------------------------------------------------

    def forum(self, *options: str, generation: int = 1, port: int = 0, site: str = SITE) -> Site:
        """Start the demo forum (again) and publish its site."""
        if "forum" in self.processes:
            before = self.processes.pop("forum")
            before.terminate()
            before.wait(timeout=PATIENCE_S)
        port_file, truth = self.directory / "port", self.directory / "truth.json"
        port_file.unlink(missing_ok=True)
        module = "tests.faulty" if any(option.startswith("--fault") for option in options) else "crawl_tasks.demo"
        command = [sys.executable, "-m", module, "--port", str(port), "--port-file", str(port_file)]
        command += ["--truth", str(truth), "--log", str(self.directory / "requests.log")]
        command += ["--generation", str(generation), *options]
        self.start("forum", *command)
        eventually(lambda: self.ended("forum") or (port_file.exists() and port_file.read_text().strip()))
        return self.publish(f"http://127.0.0.1:{int(port_file.read_text())}")

    def publish(self, base: str = "", lease_ms: int = 0, **gate: object) -> Site:
        """Publish the site of the forum; `lease_ms` stands in for the leases that follow from the terms of its gate."""
        self.base = base or self.base
        site = load_site(ROOT / "config" / "sites" / "demo.yaml").relocated(self.base)
        terms = {"window": 16, "delay_s": 0.0, "retry_base_s": 0.2, "retry_max_s": 1.0} | gate
        site = site.model_copy(update={"gate": site.gate.model_copy(update=terms)})
        publish_site(self.frontier, site, contact=None)
        if lease_ms:
            terms = terms_of(site) | {"lease_ms": lease_ms}
            self.frontier.sites.publish(site.name, site.version, dump_site(site), terms, board_terms(site))
        return site

    def truth(self) -> dict[str, Any]:  # JSON of any shape
        """Read what the forum says of itself."""
        return dict(json.loads((self.directory / "truth.json").read_text("utf-8")))

    def requests(self) -> list[dict[str, object]]:
        """Read the forum's own log."""
        return [json.loads(line) for line in whole_lines(self.directory / "requests.log")]

    def fetched(self, since: int = 0) -> Counter[str]:
        """Count the pages that the forum was asked for, robots.txt aside, from its log line `since` on."""
        return Counter(str(row["path"]) for row in self.requests()[since:] if row["path"] != "/robots.txt")

    # -- the verdict --------------------------------------------------------------------------------------

    def count_requests(self) -> RequestCounts:
        return Inspector(self.frontier).count_requests(SITE)

    def faults(self) -> list[str]:
        """List what database and ledger have wrong; empty when the crawl is perfect."""
        found = differences(self.directory / "crawl.db", self.directory / "truth.json", SITE)
        return found + list(filter(None, [self.count_requests().imbalance()]))

    def findings(self) -> list[str]:
        """Hold guard, ledger, queues and database, where there is one, against each other."""
        file = self.directory / "crawl.db"
        with Store(f"sqlite:///{file}") if file.exists() else nullcontext() as store:
            return [str(found) for found in Check(self.frontier, store).run()]

    def is_idle(self) -> bool:
        for name in self.processes:
            self.ended(name)
        counts = self.count_requests()
        return counts.admitted > 0 and counts.open == 0 and self.frontier.outbox.size() == 0

    def crawl(self) -> None:
        """Make every board due and wait until nothing is open."""
        before = self.count_requests().admitted
        for board in self.client.zrange("crawl:boards", 0, -1):
            self.client.zadd("crawl:boards", {board: 0})
        self.frontier.produce()
        assert self.count_requests().admitted > before
        eventually(self.is_idle, every_s=0.1)
