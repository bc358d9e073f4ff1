"""Worker options: the pool, the queues, and the refusal of command-line options that would have no effect.

Celery takes every option with every pool, and ignores those that the pool cannot carry out.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, NoReturn

import click
from celery import Celery, signals
from celery.concurrency import get_implementation
from celery.worker import WorkController
from click.core import ParameterSource

from crawl_tasks.errors import SettingsError
from crawl_tasks.queues import CONTROL_QUEUE, DETAIL, DETAIL_QUEUES, LIST_QUEUE, QUEUES, RENDER_QUEUE
from crawl_tasks.worker.page_chain import ChainPool
from crawl_tasks.worker.runtime import runtime

POOL = "threads"
PROCESSES = "prefork"
POOLS = (POOL, PROCESSES, "solo")

OF_PROCESSES = {
    "time_limit": "--time-limit=90",
    "soft_time_limit": "--soft-time-limit=90",
    "max_tasks_per_child": "--max-tasks-per-child=1000",
    "max_memory_per_child": "--max-memory-per-child=300000",
}
"""Attributes of a worker that only a pool of processes carries out, each with its option."""


def refuse(reason: str) -> NoReturn:
    """End the process with one line on standard error.

    Raises:
        SystemExit: always.
    """
    sys.stderr.write(f"crawl_tasks: {reason}\n")
    raise SystemExit(SettingsError.exit_code)


def has_processes(pool: object) -> bool:
    """Return whether a pool, or the class of one, is of processes."""
    return getattr(pool, "__module__", "") == get_implementation(PROCESSES).__module__


@signals.celeryd_init.connect
@signals.beat_init.connect
def require_cell(**_: object) -> None:
    """Refuse a worker or beat without a cell where there are several: its queues are those of one Redis.

    Raises:
        SystemExit: no cell is chosen. The reason is written to standard error.
    """
    names = runtime().cells.names
    if len(names) > 1 and not runtime().is_cell_chosen:
        refuse(
            f"CRAWL_REDIS_URL names the cells {', '.join(names)}, and a process serves one; start workers and beat for"
            f" each: CRAWL_CELL={names[0]} celery -A crawl_tasks ..."
        )


@signals.worker_init.connect
def choose_pool(sender: Any, **_: object) -> None:  # noqa: ANN401 (a WorkController, whose stubs lack half)
    """Choose threads where `-P` names no pool, and refuse options that the pool cannot carry out.

    Raises:
        SystemExit: an option would have no effect. The reason is written to standard error.
    """
    context = click.get_current_context(silent=True)
    # Not by the setting worker_pool: with it Celery takes `-P prefork` for its own default, and gives threads.
    if context is not None and context.get_parameter_source("pool") is ParameterSource.DEFAULT:
        sender.pool_cls = POOL
    chosen = get_implementation(sender.pool_cls)
    if chosen not in {get_implementation(name) for name in POOLS}:
        name = chosen.__module__.rpartition(".")[2]
        refuse(f"-P {name}: the pool is not supported; leave -P out for threads, or write -P {PROCESSES}")
    if has_processes(chosen):
        return
    if chosen is get_implementation(POOL):
        sender.pool_cls = ChainPool
        if runtime().settings.chain:
            # Each thread takes its next page by itself, so that no message need wait in this process.
            sender.prefetch_multiplier = 1
    if scale := sender.options.get("autoscale"):
        most, least = scale
        refuse(
            f"--autoscale needs processes; threads cost nothing while they wait: write -c {most},"
            f" or -P {PROCESSES} --autoscale={most},{least}"
        )
    for name, option in OF_PROCESSES.items():
        if getattr(sender, name):
            refuse(f"{option.partition('=')[0]} needs processes; leave it out, or write -P {PROCESSES} {option}")


def unknown_queue(app: Celery, name: str) -> str:
    """Return the reason why no worker can serve a queue, or nothing if there is such a queue.

    An application that is made of ours may have queues of its own in `task_queues`.
    """
    known = (DETAIL, *(queue.name for queue in app.conf.task_queues))
    if name in known:
        return ""
    near = get_close_matches(name, known, n=1)
    return f"there is no queue {name}; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}")


@signals.celeryd_after_setup.connect
def require_traces(**_: object) -> None:
    """Refuse to begin without the package of a setting, without which each page would fail.

    Raises:
        SystemExit: it is not installed.
    """
    if runtime().settings.traces and find_spec("opentelemetry") is None:
        refuse("CRAWL_TRACES: pip install 'crawl-tasks[otel]'")


@signals.celeryd_after_setup.connect
def name_queues(instance: WorkController, **_: object) -> None:
    """Let `-Q detail` stand for the queues post and comment, and let `-Q list` serve the queue control as well.

    The messages of beat are work for list workers: they look for due boards. So a crawl needs list and detail workers,
    a store worker and beat, and no worker for control. A worker of all queues leaves out `render` where it cannot draw
    pages.

    Raises:
        SystemExit: there is no such queue, where Celery would wait for ever, or pages cannot be drawn here.
    """
    queues = instance.app.amqp.queues
    consumed = set(queues.consume_from)
    for name in sorted(consumed):
        if reason := unknown_queue(instance.app, name):
            refuse(f"-Q {name}: {reason}")
    if RENDER_QUEUE in consumed and (lack := _lack_of_browser()):
        if consumed != set(QUEUES):
            refuse(f"-Q {RENDER_QUEUE}: {lack}")
        queues.deselect(RENDER_QUEUE)
    if DETAIL in consumed:
        queues.deselect(DETAIL)
        for name in DETAIL_QUEUES:
            queues.select_add(name)
    if LIST_QUEUE in consumed:
        queues.select_add(CONTROL_QUEUE)


def _lack_of_browser() -> str:
    # A worker of other queues must not pay for what fetches pages.
    from crawl_tasks.fetch.browser import missing  # noqa: PLC0415

    return missing()
