# a bench prints
"""Crawl many sites that want to be asked slowly: `python -m tests.bench.polite_bench [--sites 400] [--away-ms 50]`.

Each site is an address of loopback. One process serves all of them and notes when the kernel took in each request.
Workers are plain Celery workers, without a store. Redis may stand behind a proxy that makes it far away, and other
processes may keep the cores busy. Printed is what the sites' server saw: requests per second in a span of the crawl,
against the ideal of one a site and delay; how soon the sites had their first request, and their first page behind
robots.txt; the scripts that a request took; the nearest two requests of any site, of all that were ever sent.
"""

from __future__ import annotations

import argparse
import heapq
import os
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import TextIO

import psutil

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.frontier.slot_throttle import TOLERANCE_S
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Request, Stage
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.flow.world import CELERY, ROOT

PREFIX = "bench"
STAMP = 35  # SO_TIMESTAMPNS of socket(7), which Python does not name
FIRST = struct.unpack("!I", socket.inet_aton("127.1.0.1"))[0]
SPARE_S = 30
BODY = b"<h1>title</h1><div class=body>" + b"words and more words " * 40 + b"</div>"
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
NO_ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
RULES = """\
name: {name}
base: http://{place}
private_hosts: ["{place}"]
gate: {{window: 4, delay_s: {delay_s}, max_backlog: 1000000}}
list: {{address: "/list/{{board}}/{{page}}", record: .row, fields: {{post_id: {{attr: data-id}}}}}}
post: {{address: "/post/{{post}}", fields: {{title: h1, body: .body}}}}
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is counted at one moment: CPU in seconds, commands of clients by name."""

    at: float
    commands: Counter[str]
    workers_cpu_s: float
    redis_cpu_s: float


def main() -> None:
    """Read the options and crawl."""
    parser = argparse.ArgumentParser(description="Crawl many sites that want to be asked slowly.")
    parser.add_argument("--sites", type=int, default=400)
    parser.add_argument("--delay-s", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--away-ms", type=float, default=0.0, help="a round trip to Redis")
    parser.add_argument("--jitter-ms", type=float, default=0.0, help="up to so much more each way")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="until a site answers")
    parser.add_argument("--client", default="curl")
    parser.add_argument("--busy", type=int, default=0, help="processes that only keep cores busy")
    parser.add_argument("--warm", type=float, default=10.0, help="seconds before the span that is measured")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--logs", type=Path, help="where to leave the logs")
    parser.add_argument("--serve", nargs=2, type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(*chosen.serve, chosen.latency_ms / 1000)
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        Bench(chosen, chosen.logs or Path(directory), stack).run()


class Bench:
    """Processes and what they did. Everything ends with the stack."""

    def __init__(self, chosen: argparse.Namespace, directory: Path, stack: ExitStack) -> None:
        self._chosen = chosen
        self._directory = directory
        self._stack = stack
        directory.mkdir(parents=True, exist_ok=True)
        for name in ("port", "far.log"):  # of a run before, which would be taken for this one's
            (directory / name).unlink(missing_ok=True)
        self._server = RedisServer(directory / "redis")
        self._server.start()
        stack.callback(self._server.stop)
        self._client = stack.enter_context(open_client(self._server.url, ""))

    def run(self) -> None:
        """Start everything, wait, and print what the sites' server saw."""
        chosen = self._chosen
        port, arrivals = self._directory / "port", self._directory / "arrivals"
        server = ("-m", "tests.bench.polite_bench", "--latency-ms", str(chosen.latency_ms), "--serve")
        self._start("server", sys.executable, *server, str(port), str(arrivals))
        fill(Frontier(self._client, PREFIX), int(wait_for(port)), chosen)
        workers = self._start_workers(self._redis_port())
        for number in range(chosen.busy):
            self._start(f"busy{number}", sys.executable, "-c", "while True: pass")
        time.sleep(chosen.warm)
        before = self._read(workers)
        time.sleep(chosen.seconds)
        after = self._read(workers)
        report(chosen, read_arrivals(arrivals), before, after)
        print(f"{self._late_turns()} late turns since the start")

    def _start(self, name: str, *command: str, **told: str) -> psutil.Process:
        with (self._directory / f"{name}.log").open("wb") as log:
            environment = os.environ | {"PYTHONPATH": str(ROOT)} | told
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self._directory)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return psutil.Process(process.pid)

    def _redis_port(self) -> int:
        chosen = self._chosen
        if not chosen.away_ms:
            return self._server.port
        way = (str(self._server.port), str(chosen.away_ms / 2), str(chosen.jitter_ms))
        self._start("far", sys.executable, "-m", "tests.far", *way)
        return int(wait_for(self._directory / "far.log"))

    def _start_workers(self, redis_port: int) -> list[psutil.Process]:
        told = {
            "CRAWL_REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
            "CRAWL_REDIS_PREFIX": PREFIX,
            "CRAWL_PRIVATE_HOSTS": "127.0.0.1",
            "CRAWL_STATE_DIR": str(self._directory),
            "CRAWL_OUTBOX_MAX": "1000000",
            "CRAWL_HTTP_CLIENT": self._chosen.client,
        }
        options = ("-Q", "list,detail", "-c", str(self._chosen.threads), "--without-gossip", "--without-mingle")
        workers = [
            self._start(f"fetch{number}", *CELERY, "worker", *options, "-l", "warning", "-n", f"{number}@%h", **told)
            for number in range(self._chosen.processes)
        ]
        wait_until(lambda: self._client.scard("_kombu.binding.celery.pidbox") >= len(workers))
        return workers

    def _read(self, workers: list[psutil.Process]) -> Reading:
        stats, cpu = self._client.info("commandstats"), self._client.info("cpu")
        names = ("fcall", "evalsha", "eval", "xread")
        return Reading(
            time.time(),
            Counter({name: stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in names}),
            sum(sum(worker.cpu_times()[:2]) for worker in workers),
            float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"]),
        )

    def _late_turns(self) -> int:
        keys = [f"{PREFIX}:s:site{number}:stats" for number in range(self._chosen.sites)]
        return sum(int(self._client.hget(key, "late_slots") or 0) for key in keys)


def fill(frontier: Frontier, port: int, chosen: argparse.Namespace) -> None:
    """Publish the sites, each with more requests than it can be sent."""
    count = int((chosen.warm + chosen.seconds + SPARE_S) / chosen.delay_s)
    for number in range(chosen.sites):
        name, place = f"site{number}", f"{socket.inet_ntoa(struct.pack('!I', FIRST + number))}:{port}"
        rules = RULES.format(name=name, place=place, delay_s=chosen.delay_s)
        publish_site(frontier, parse_site(rules, "polite.yaml"), contact=None)
        pages = [Request(name, Stage.POST, str(one), f"http://{place}/post/{one}") for one in range(count)]
        frontier.admit(name, pages)


def report(chosen: argparse.Namespace, arrivals: dict[str, list[float]], before: Reading, after: Reading) -> None:
    """Print what the sites' server saw between two readings, and how near requests ever came."""
    span_s = after.at - before.at
    seen = sum(before.at <= at < after.at for times in arrivals.values() for at in times)
    commands = after.commands - before.commands
    scripts, ideal = commands["fcall"] + commands["evalsha"] + commands["eval"], chosen.sites / chosen.delay_s
    crew = f"{chosen.processes} x {chosen.threads} threads of {chosen.client}, {chosen.busy} others busy"
    way = f"Redis {chosen.away_ms:g} ms away and up to {2 * chosen.jitter_ms:g} more"
    print(f"{chosen.sites} sites, {chosen.delay_s:g} s apart; {crew}; {way}")
    print(f"{seen / span_s:.1f} requests/s, {seen / span_s / ideal:.0%} of the ideal {ideal:g}")
    print(f"{scripts / max(1, seen):.2f} scripts a request, {commands['xread'] / max(1, seen):.2f} waits")
    cpu, redis_cpu = after.workers_cpu_s - before.workers_cpu_s, after.redis_cpu_s - before.redis_cpu_s
    print(f"the workers kept {cpu / span_s:.2f} cores busy, Redis {redis_cpu / span_s:.2f}")
    began = min((times[0] for times in arrivals.values()), default=after.at)
    by_second = Counter(int(at - began) for times in arrivals.values() for at in times)
    for place, what in enumerate(("first requests", "first pages behind robots.txt")):
        waits = sorted(times[place] - began for times in arrivals.values() if len(times) > place)
        median, late = (waits[int(share * len(waits))] for share in (0.5, 0.95))
        print(f"{what} of {len(waits)} sites: p50 {median:.1f} s, p95 {late:.1f} s, last {waits[-1]:.1f} s")
    print("requests in each second:", *(by_second[second] for second in range(int(after.at - began))))
    short = sorted(later - one - chosen.delay_s for times in arrivals.values() for one, later in pairwise(times))
    nearest = ", ".join(f"{gap * 1000:+.1f}" for gap in short[:3])
    early = sum(gap < -TOLERANCE_S for gap in short)
    print(f"{early} of {len(short)} gaps over {TOLERANCE_S * 1000:g} ms too short; the shortest: {nearest} ms")


def serve(port_file: Path, log_file: Path, latency_s: float) -> None:
    """Answer every request after a while, and note the site and the kernel's time of each."""
    listener = socket.create_server(("0.0.0.0", 0), backlog=4096)
    listener.setsockopt(socket.SOL_SOCKET, STAMP, 1)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    port_file.write_text(str(listener.getsockname()[1]))
    answers: list[tuple[float, int, socket.socket, bytes]] = []
    order = count()
    with log_file.open("w", buffering=1) as log:
        while True:
            for key, _ in selector.select(max(0.0, answers[0][0] - time.monotonic()) if answers else None):
                if key.fileobj is listener:
                    client = listener.accept()[0]
                    client.setsockopt(socket.SOL_SOCKET, STAMP, 1)
                    selector.register(client, selectors.EVENT_READ, client.getsockname()[0])
                elif isinstance(key.fileobj, socket.socket):
                    if said := answer_to(key.fileobj, key.data, log):
                        heapq.heappush(answers, (time.monotonic() + latency_s, next(order), key.fileobj, said))
                    else:
                        selector.unregister(key.fileobj)
                        key.fileobj.close()
            while answers and answers[0][0] <= time.monotonic():
                _, _, client, said = heapq.heappop(answers)
                with suppress(OSError):
                    client.sendall(said)


def answer_to(client: socket.socket, site: str, log: TextIO) -> bytes:
    """Read one request and return its answer, nothing where the connection is gone."""
    try:
        data, notes, _, _ = client.recvmsg(1 << 14, 256)
    except OSError:
        return b""
    if not data:
        return b""
    seconds, nanoseconds = struct.unpack("qq", next(value for _, kind, value in notes if kind == STAMP))
    log.write(f"{site} {seconds + nanoseconds / 1e9:.6f}\n")
    return NO_ROBOTS if data.startswith(b"GET /robots.txt") else PAGE


def read_arrivals(log_file: Path) -> dict[str, list[float]]:
    """Read when each site was sent requests, in order; the last line may be half written."""
    arrivals: dict[str, list[float]] = {}
    text = log_file.read_text()
    for line in text[: text.rfind("\n")].splitlines():
        site, _, at = line.partition(" ")
        arrivals.setdefault(site, []).append(float(at))
    return {site: sorted(times) for site, times in arrivals.items()}


def wait_for(file: Path) -> str:
    """Wait until a process has written its port."""
    wait_until(lambda: file.exists() and file.read_text().strip())
    return file.read_text()


def wait_until(condition: Callable[[], object]) -> None:
    """Look until the condition holds."""
    while not condition():
        time.sleep(0.05)


if __name__ == "__main__":
    main()
