"""A pre-imported process that forks workers: a whole Celery worker consumes 0.15 s after it was asked for.

Reads one JSON object a line: {"name", "role", "log", "point", "passes", "signal"}; the point is a kill point's name or
null. Writes {"hit": name} when a child dies at its point, and {"died": name, "code": wait status} for each that ended.
It ends, with all its children, when its input does.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
from itertools import count

import celery.apps.beat
import celery.apps.worker
import celery.concurrency.thread
import celery.worker.autoscale
import celery.worker.components
import celery.worker.consumer
import celery.worker.consumer.delayed_delivery
import celery.worker.strategy
import kombu.pidbox

import crawl_tasks.store.upsert
import crawl_tasks.tasks
import crawl_tasks.worker.celery_signals
from crawl_tasks.celery import app
from crawl_tasks.model import Request, Stage
from crawl_tasks.worker.runtime import runtime
from tests.chaos.haste import hasten
from tests.chaos.points import ARCHIVE_POINTS, POINTS, Fuse, Role, poison_pages, watch_end_of_sleep

PRELOADED = (
    celery.apps.beat,
    celery.apps.worker,
    celery.concurrency.thread,
    celery.worker.autoscale,
    celery.worker.components,
    celery.worker.consumer,
    celery.worker.consumer.delayed_delivery,
    celery.worker.strategy,
    kombu.pidbox,
    crawl_tasks.store.upsert,
    crawl_tasks.tasks,
)

QUEUES = {Role.FETCH: ["list", "post", "comment"], Role.STORE: ["store"]}


def run_worker(name: str, queues: list[str], threads: int) -> None:
    """Be a Celery worker, as `celery -A crawl_tasks worker` is."""
    worker = app.Worker(
        pool="threads",
        concurrency=threads,
        queues=queues,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        hostname=f"{name}@chaos",
        loglevel="WARNING",
    )
    worker.start()


def press(threshold: int) -> None:
    """Produce, and admit handfuls of posts while there is room under the threshold, without end."""
    frontier = runtime().frontier
    for number in count(os.getpid() % 50):
        frontier.produce()
        if threshold:
            posts = [Request("demo", Stage.POST, str(number + at), f"http://127.0.0.1/post/{at}") for at in range(7)]
            frontier.admit("demo", posts, threshold)


def run_child(order: dict[str, object]) -> None:
    """Be what was ordered; what Celery prints goes to the log."""
    name, role = str(order["name"]), Role(str(order["role"]))
    log = os.open(f"{order['log']}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    report = os.dup(1)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if order.get("hasty", True):
        hasten()
    if order.get("point"):
        point = next(point for point in (*POINTS, *ARCHIVE_POINTS) if point.name == order["point"])
        fuse = Fuse(name, int(str(order["passes"])), signal.Signals[str(order["signal"])], report)
        point.arm(fuse)
        watch_end_of_sleep(fuse)
    if order.get("poison"):
        poison_pages(order["poison"])
    if role is Role.PRODUCER:
        press(int(str(order["threshold"])))
    elif role is Role.BEAT:
        app.Beat(loglevel="WARNING").run()
    else:
        run_worker(name, list(order.get("queues") or QUEUES[role]), int(str(order.get("threads", 1))))


def main() -> None:
    """Fork what is asked for and report what ended."""
    app.finalize()
    gc.collect()
    gc.freeze()  # no child walks over what all of them share, and so gets a copy of it
    children: dict[int, str] = {}
    lines = b""
    os.write(1, b'{"ready": true}\n')
    while True:
        if select.select([0], [], [], 0.01)[0]:
            read = os.read(0, 65536)
            if not read:
                break
            *whole, lines = (lines + read).split(b"\n")
            for line in whole:
                order = json.loads(line)
                pid = os.fork()
                if pid == 0:
                    code = 1
                    try:
                        signal.signal(signal.SIGINT, signal.SIG_IGN)
                        run_child(order)
                        code = 0
                    finally:
                        os._exit(code)
                children[pid] = order["name"]
                os.write(1, json.dumps({"born": order["name"], "pid": pid}).encode() + b"\n")
        while children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            os.write(1, json.dumps({"died": children.pop(pid), "code": status}).encode() + b"\n")
    for pid in children:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
