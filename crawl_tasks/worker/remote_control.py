"""Remote control: commands of `celery control` that Celery confirms although nothing changes, with a true answer."""

from __future__ import annotations

from functools import partial
from typing import Any

from celery.worker.control import Panel

from crawl_tasks.queues import DETAIL, DETAIL_QUEUES
from crawl_tasks.worker.options import PROCESSES, has_processes, unknown_queue

Reply = dict[str, object]

REASONS = {
    "rate_limit": "a limit of Celery's would hold for one worker only, and is off; gate.delay_s of the site file is the"
    " pace for all",
    "time_limit": "threads cannot be ended; gate.deadline_s of the site file bounds a page; a worker with -P"
    f" {PROCESSES} takes time limits",
    "pool_grow": f"threads are as many as -c said; start one more worker, or this one with -P {PROCESSES}",
    "pool_shrink": f"threads are as many as -c said; start the worker anew with fewer, or with -P {PROCESSES}",
}
"""Commands that a pool of threads cannot carry out, and the reason. Rate limits are off in every pool."""

_STOCK = {name: Panel.data[name] for name in (*REASONS, "add_consumer")}


def _answer(command: str, state: Any, *args: object, **kwargs: object) -> Reply:  # noqa: ANN401 (Celery's)
    """Carry out a command where it has an effect, and else say why not."""
    if command == "rate_limit" or not has_processes(state.consumer.pool):
        return {"error": REASONS[command]}
    reply: Reply = _STOCK[command](state, *args, **kwargs)
    # A worker reads the limits of a task once, when it makes the task's strategy.
    state.consumer.update_strategies()
    return reply


def _add_consumer(state: Any, queue: str, **kwargs: object) -> Reply:  # noqa: ANN401 (Celery's)
    """Serve one more queue of ours. Celery would wait at a queue that does not exist."""
    if reason := unknown_queue(state.app, queue):
        return {"error": reason}
    for name in DETAIL_QUEUES if queue == DETAIL else (queue,):
        _STOCK["add_consumer"](state, name, **kwargs)
    return {"ok": f"add consumer {queue}"}


# An election has workers send any task to any list, for whoever can publish: so can the Flower of docker/users.conf.
Panel.data.pop("election")
Panel.data.update({command: partial(_answer, command) for command in REASONS}, add_consumer=_add_consumer)
