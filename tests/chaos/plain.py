"""The crawler that one writes first: Celery with late acknowledgement, `requests`, a set of seen paths, SQLite.

It is here to be killed at the same places. Redis, forum, demo pages and fork server are the same; messages come back by
kombu's visibility timeout, set to seconds. As a module it is the fork server of its workers.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing

import redis
import requests
from celery import Celery
from kombu.transport import redis as transport

VISIBLE_S = 3
URL = os.environ.get("CRAWL_REDIS_URL", "redis://127.0.0.1:1/0")
FORUM = os.environ.get("CHAOS_FORUM", "")
DATABASE = os.environ.get("CHAOS_DATABASE", "")

app = Celery("plain", broker=URL)
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    broker_transport_options={
        "visibility_timeout": VISIBLE_S,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": 2,
    },
    worker_hijack_root_logger=False,
)


def _fuse(point: str) -> None:
    """Do nothing; an armed worker has another in its place."""


_client = redis.Redis.from_url(URL)
_poison: set[str] = set()


@app.task(name="plain.crawl")
def crawl(path: str) -> None:
    """Fetch, store, and send what the page links to unless it was seen."""
    _fuse("before the fetch")
    answer = requests.get(FORUM + path, timeout=5)
    if path in _poison:
        os._exit(3)
    _fuse("after the fetch")
    links = re.findall(r'href="(/(?:list|post|comment)/[\d/]+)"', answer.text)
    _fuse("before the items are stored")
    with closing(sqlite3.connect(DATABASE, timeout=30)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO pages VALUES (?, ?)", (path, answer.status_code))
    _fuse("after the items are stored")
    for link in links:
        if _client.sadd("seen", link):
            _fuse("seen, not yet sent")
            crawl.delay(link)
    _fuse("before the acknowledgement")


def _arm(point: str, passes: int, number: signal.Signals, report: Callable[[], None]) -> None:
    global _fuse
    left = passes

    def fuse(here: str) -> None:
        nonlocal left
        if here == point:
            left -= 1
            if left == 0:
                report()
                os.kill(os.getpid(), number)

    _fuse = fuse
    read = transport.Channel._brpop_read

    def dying(self: transport.Channel, **options: object) -> bool:
        if point == POINTS[0] and self.client.connection.can_read(timeout=0):
            fuse(POINTS[0])
        return bool(read(self, **options))

    transport.Channel._brpop_read = dying


POINTS = (
    "message taken, not yet recorded",
    "before the fetch",
    "after the fetch",
    "before the items are stored",
    "after the items are stored",
    "seen, not yet sent",
    "before the acknowledgement",
)


def main() -> None:
    """Fork a worker for each line that comes in; say who was hit and who ended, as the nursery does."""
    app.finalize()
    children: dict[int, str] = {}
    os.write(1, b'{"ready": true}\n')
    while True:
        if select.select([0], [], [], 0.02)[0]:
            line = _line()
            if not line:
                break
            order = json.loads(line)
            pid = os.fork()
            if pid == 0:
                _be(order)
            children[pid] = order["name"]
            os.write(1, json.dumps({"born": order["name"], "pid": pid}).encode() + b"\n")
        while children and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            os.write(1, json.dumps({"died": children.pop(ended[0]), "code": ended[1]}).encode() + b"\n")
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _line() -> str:
    """Read one line without reading ahead: select() sees only what is in the pipe."""
    read = b""
    while not read.endswith(b"\n") and (byte := os.read(0, 1)):
        read += byte
    return read.decode()


def _be(order: dict[str, object]) -> None:
    report = os.dup(1)
    log = os.open(str(order["log"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    name = order["name"]
    if order.get("at"):
        hit = json.dumps({"hit": name}).encode() + b"\n"
        number = signal.Signals[str(order["signal"])]
        _arm(str(order["at"]), int(str(order["passes"])), number, lambda: os.write(report, hit))
    _poison.update(order.get("poison") or [])
    flags = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True}
    queues = order.get("queues")
    app.Worker(pool="solo", hostname=f"{name}@plain", loglevel="WARNING", queues=queues, **flags).start()
    os._exit(0)


if __name__ == "__main__":
    main()
