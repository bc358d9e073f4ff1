# a bench prints
"""Crawl many sites that want to be asked slowly: `python -m tests.bench.polite_bench [--sites 400] [--away-ms 50]`.

Each site is an address of loopback, all served by one process that notes when the kernel took in each request. Workers are
plain Celery workers; Redis may be put behind a proxy that makes it far away. Prints what the sites' server saw in a span in
the middle of the crawl: requests per second against the ideal, which is one a site and delay; the scripts of Redis a request
took; the nearest two requests of any site, of all it was ever sent.
"""

from __future__ import annotations

import argparse
import os
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import psutil
import redis

from crawl_tasks.frontier.client import open_client
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Request, Stage
from crawl_tasks.publishing import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.flow.world import CELERY, ROOT

PREFIX = "bench"
STAMP = 35  # SO_TIMESTAMPNS of socket(7), which Python does not name
FIRST = struct.unpack("!I", socket.inet_aton("127.1.0.1"))[0]
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


def place_of(number: int) -> str:
    """Give the address of a site."""
    return socket.inet_ntoa(struct.pack("!I", FIRST + number))


def serve(port_file: Path, log_file: Path) -> None:
    """Answer every request at once, and note the site and the kernel's time of each."""
    listener = socket.create_server(("0.0.0.0", 0), backlog=4096)  # noqa: S104 (all of loopback)
    listener.setsockopt(socket.SOL_SOCKET, STAMP, 1)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    port_file.write_text(str(listener.getsockname()[1]))
    with log_file.open("w", buffering=1) as log:
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    client = listener.accept()[0]
                    client.setsockopt(socket.SOL_SOCKET, STAMP, 1)
                    selector.register(client, selectors.EVENT_READ, client.getsockname()[0])
                elif isinstance(key.fileobj, socket.socket) and not answer(key.fileobj, key.data, log):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()


def answer(client: socket.socket, site: str, log: TextIO) -> bool:
    """Answer one request and say whether the connection lives."""
    try:
        data, notes, _, _ = client.recvmsg(1 << 14, 256)
        if data:
            seconds, nanoseconds = struct.unpack("qq", next(value for _, kind, value in notes if kind == STAMP))
            log.write(f"{site} {seconds + nanoseconds / 1e9:.6f}\n")
            client.sendall(NO_ROBOTS if data.startswith(b"GET /robots.txt") else PAGE)
    except OSError:
        return False
    return bool(data)


def read_arrivals(log_file: Path) -> dict[str, list[float]]:
    """Read when each site was sent requests, in order."""
    arrivals: dict[str, list[float]] = {}
    for line in log_file.read_text().splitlines():
        site, _, at = line.partition(" ")
        arrivals.setdefault(site, []).append(float(at))
    return {site: sorted(times) for site, times in arrivals.items()}


def scripts_called(client: redis.Redis) -> Counter[str]:
    """Count the commands that clients sent which run a script."""
    stats = client.info("commandstats")
    return Counter({name: stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("evalsha", "eval", "xread")})


def fill(frontier: Frontier, port: int, chosen: argparse.Namespace) -> None:
    """Publish the sites, each with more requests than it can be sent."""
    count = int((chosen.warm + chosen.seconds + 30) / chosen.delay_s)
    for number in range(chosen.sites):
        name, place = f"site{number}", f"{place_of(number)}:{port}"
        publish_site(frontier, parse_site(RULES.format(name=name, place=place, delay_s=chosen.delay_s), "x.yaml"), contact=None)
        wanted = [Request(name, Stage.POST, str(one), f"http://{place}/post/{one}") for one in range(count)]
        frontier.admit(name, wanted)


def main() -> None:
    """Start everything, wait, and print what the sites' server saw."""
    parser = argparse.ArgumentParser(description="Crawl many sites that want to be asked slowly.")
    parser.add_argument("--sites", type=int, default=400)
    parser.add_argument("--delay-s", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--away-ms", type=float, default=0.0, help="a round trip to Redis")
    parser.add_argument("--jitter-ms", type=float, default=0.0, help="up to so much more each way")
    parser.add_argument("--client", default="curl")
    parser.add_argument("--busy", type=int, default=0, help="processes that do nothing but keep a core busy")
    parser.add_argument("--warm", type=float, default=10.0, help="seconds before the span that is measured")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--logs", type=Path, help="where to leave the workers' logs and the server's")
    parser.add_argument("--serve", nargs=2, type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(*chosen.serve)
    with tempfile.TemporaryDirectory() as directory:
        run(chosen, chosen.logs or Path(directory))


def run(chosen: argparse.Namespace, directory: Path) -> None:
    """Do it in a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    server = RedisServer(directory / "redis")
    server.start()
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *command: str, **further: str) -> psutil.Process:
        with (directory / f"{name}.log").open("wb") as log:
            environment = os.environ | {"PYTHONPATH": str(ROOT)} | further
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=directory)
        processes.append(process)
        return psutil.Process(process.pid)

    try:
        start("server", sys.executable, "-m", "tests.bench.polite_bench", "--serve", str(directory / "port"), str(directory / "arrivals"))
        port = int(wait_for(directory / "port"))
        redis_port = server.port
        if chosen.away_ms:
            away = (str(redis_port), str(chosen.away_ms / 2), str(chosen.jitter_ms))
            start("far", sys.executable, "-u", "-m", "tests.far", *away)
            redis_port = int(wait_for(directory / "far.log"))
        told = {
            "CRAWL_REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
            "CRAWL_REDIS_PREFIX": PREFIX,
            "CRAWL_STATE_DIR": str(directory),
            "CRAWL_OUTBOX_MAX": "1000000",
            "CRAWL_HTTP_CLIENT": chosen.client,
        }
        client = open_client(server.url, "")
        frontier = Frontier(client, PREFIX)
        fill(frontier, port, chosen)
        options = ("-Q", "list,detail", "-c", str(chosen.threads), "--without-gossip", "--without-mingle", "-l", "warning")
        workers = [
            start(f"fetch{number}", *CELERY, "worker", *options, "-n", f"fetch{number}@%h", **told)
            for number in range(chosen.processes)
        ]
        for number in range(chosen.busy):
            start(f"busy{number}", sys.executable, "-c", "while True: pass")
        while len(client.smembers("_kombu.binding.celery.pidbox")) < chosen.processes:
            time.sleep(0.1)
        time.sleep(chosen.warm)
        before, cpu, since = scripts_called(client), cpu_of(workers), time.time()
        redis_cpu = redis_cpu_of(client)
        time.sleep(chosen.seconds)
        asked, until = scripts_called(client) - before, time.time()
        cpu, redis_cpu = cpu_of(workers) - cpu, redis_cpu_of(client) - redis_cpu
        late = sum(int(client.hget(f"{PREFIX}:s:site{number}:stats", "late_turns") or 0) for number in range(chosen.sites))
        report(chosen, read_arrivals(directory / "arrivals"), since, until, asked)
        print(f"CPU of the workers {cpu / (until - since):.2f}, of Redis {redis_cpu / (until - since):.2f} cores; {late} late turns")
    finally:
        for process in processes:
            process.kill()
            process.wait()
        server.stop()


def wait_for(file: Path) -> str:
    """Wait until a process has written its port."""
    while not (file.exists() and file.read_text().strip()):
        time.sleep(0.05)
    return file.read_text()


def cpu_of(workers: list[psutil.Process]) -> float:
    """Add up the CPU seconds of processes."""
    return sum(sum(worker.cpu_times()[:2]) for worker in workers)


def redis_cpu_of(client: redis.Redis) -> float:
    """Give the CPU seconds of Redis."""
    said = client.info("cpu")
    return float(said["used_cpu_user"]) + float(said["used_cpu_sys"])


def report(chosen: argparse.Namespace, arrivals: dict[str, list[float]], since: float, until: float, asked: Counter[str]) -> None:
    """Print what the sites' server saw."""
    seen = sum(since <= at < until for times in arrivals.values() for at in times)
    ideal = chosen.sites / chosen.delay_s * (until - since)
    gaps = sorted(after - before for times in arrivals.values() for before, after in pairwise(times))
    early = sum(gap < chosen.delay_s - 0.005 for gap in gaps)
    print(
        f"{chosen.sites} sites, {chosen.delay_s:g} s apart, {chosen.processes} x {chosen.threads} threads, {chosen.client},"
        f" Redis {chosen.away_ms:g} ms away, jitter {chosen.jitter_ms:g} ms"
    )
    print(f"{seen / (until - since):.1f} requests/s, {seen / ideal:.0%} of the ideal {ideal / (until - since):g}")
    print(f"{(asked['evalsha'] + asked['eval']) / max(1, seen):.2f} scripts a request, {asked['xread'] / max(1, seen):.2f} waits")
    nearest = [gap - chosen.delay_s for gap in gaps[:3]]
    first = min(times[0] for times in arrivals.values())
    by_second = Counter(int(at - first) for times in arrivals.values() for at in times)
    print("by second:", *(by_second[second] for second in range(int(until - first))))
    print(f"{early} of {len(gaps)} gaps more than 5 ms short; the shortest are {', '.join(f'{one * 1000:+.1f}' for one in nearest)} ms")


if __name__ == "__main__":
    main()
