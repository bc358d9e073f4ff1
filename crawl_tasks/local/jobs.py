"""Job definitions: the processes of a crawl as plain Celery commands, the same that a person would type."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

from crawl_tasks.local.supervisor import Job
from crawl_tasks.queues import DETAIL, LIST_QUEUE, RENDER_QUEUE, STORE_QUEUE

FLOWER_PORT = 5555


@dataclass(frozen=True, slots=True)
class Workers:
    """The number of processes for each kind of work, and of pages that a fetching process has in hand at once."""

    lists: int = 1
    details: int = 1
    stores: int = 1
    threads: int = 8


_THREADS = {STORE_QUEUE: 1, RENDER_QUEUE: 2}
"""SQLite has one writer at a time, and a page in a browser takes a whole processor: more threads would only wait."""


def worker_jobs(workers: Workers, *, with_events: bool, has_browser: bool = False) -> Iterator[Job]:
    """Return the worker processes. Flower needs their events, which cost a little."""
    kinds = ((LIST_QUEUE, workers.lists), (DETAIL, workers.details), (STORE_QUEUE, workers.stores))
    for queue, count in (*kinds, (RENDER_QUEUE, int(has_browser))):
        threads = _THREADS.get(queue, workers.threads)
        for number in range(1, count + 1):
            name = queue if count == 1 else f"{queue}{number}"
            options = ["-Q", queue, "-n", f"{name}@%h", "-c", str(threads), "--loglevel", "INFO"]
            quiet = ["--without-gossip", "--without-mingle", *(["-E"] if with_events else [])]
            yield Job(name, celery("worker", *options, *quiet), rank=2)


def beat_job() -> Job:
    """Return the process that finds due boards."""
    return Job("beat", celery("beat", "--loglevel", "INFO", "--pidfile="), rank=2)


def in_cell(job: Job, cell: str) -> Job:
    """Return the same job for a cell, unchanged for the only one, which has no name."""
    return replace(job, name=f"{job.name}-{cell}", env={"CRAWL_CELL": cell}) if cell else job


def flower_job(port: int) -> Job:
    """Return the process that shows workers and tasks in a browser, on this machine only."""
    options = ("--address=127.0.0.1", f"--port={port}", "--max_tasks=20000", "--natural_time=False")
    return Job("flower", celery("flower", *options), rank=2)


def celery(*arguments: str) -> list[str]:
    """Return a Celery command line for this interpreter."""
    return [sys.executable, "-m", "celery", "-A", "crawl_tasks", *arguments]
