"""Measure the CPU of Redis for one message while many processes wait for it.

    python -m tests.bench.waiters_bench [--waiters 1 8 32 128] [--messages 500] [--every-ms 10]

Each waiter has a connection of our transport and waits as an idle worker does. A request is admitted and released every
few ms, and one of them takes its message. Prints ms of Redis' CPU a message, and the time until it was taken.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import redis
from kombu import Connection, Consumer, Queue
from kombu.transport import TRANSPORT_ALIASES

from crawl_tasks.bench.memory import TERMS
from crawl_tasks.celery import TRANSPORT
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Request, Stage

SITE = "waiters"


class Waiters:
    """So many threads that wait for messages, each on a connection of its own."""

    def __init__(self, url: str, count: int) -> None:
        self.taken: dict[str, float] = {}
        self._is_over = False
        self._threads = [threading.Thread(target=self._wait, args=(url,), daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _wait(self, url: str) -> None:
        options = {"redis_prefix": SITE}
        queue = Queue("post", routing_key="post")
        with (
            Connection(url, transport_options=options) as connection,
            Consumer(connection.channel(), [queue], on_message=self._take, accept=["json"]),
        ):
            while not self._is_over:
                with suppress(TimeoutError):
                    connection.drain_events(timeout=1)

    def _take(self, message: object) -> None:
        self.taken[message.headers["id"].split("-")[1]] = time.monotonic()  # type: ignore[attr-defined]
        message.ack()  # type: ignore[attr-defined]

    def end(self) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join(timeout=10)


def redis_cpu_s(client: redis.Redis) -> float:
    info = client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def measure(url: str, count: int, messages: int, every_s: float) -> str:
    with redis.Redis.from_url(url) as client:
        client.flushall()
        frontier = Frontier(client, SITE)
        frontier.sites.publish(SITE, "1", "{}", TERMS | {"window": 10**6}, [])
        waiters = Waiters(url, count)
        time.sleep(2 + count / 40)
        before, sent = redis_cpu_s(client), {}
        for n in range(1, messages + 1):
            sent[str(n)] = time.monotonic()
            frontier.admit(SITE, [Request(SITE, Stage.POST, str(n), f"https://forum.example.org/post/{n}")])
            time.sleep(max(0.0, sent[str(n)] + every_s - time.monotonic()))
        time.sleep(1)
        cpu = redis_cpu_s(client) - before
        waiters.end()
    waits = [1000 * (at - sent[rid]) for rid, at in waiters.taken.items()]
    return f"| {count} | {1000 * cpu / messages:.2f} | {statistics.median(waits):.1f} | {len(waits)} of {messages} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiters", type=int, nargs="*", default=[1, 8, 32, 128], help="numbers of waiting processes")
    parser.add_argument("--messages", type=int, default=500, help="messages (default: %(default)s)")
    parser.add_argument("--every-ms", type=float, default=10.0, help="ms between two messages (default: %(default)s)")
    arguments = parser.parse_args()
    TRANSPORT_ALIASES.update(redis=TRANSPORT)
    print("| waiting | Redis CPU a message, ms | until taken, ms (median) | taken |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory, RedisServer(Path(directory)) as server:
        for count in arguments.waiters:
            print(measure(server.url, count, arguments.messages, arguments.every_ms / 1000), flush=True)


if __name__ == "__main__":
    main()
