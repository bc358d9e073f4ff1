"""A worker with an error of its own: a module that a worker of the tests imports with -I."""

from __future__ import annotations

from celery import signals
from celery.worker.consumer import Consumer


@signals.worker_ready.connect
def break_down(sender: Consumer, **_: object) -> None:
    """Fail at each task as Celery's autoscaler does with a pool that cannot grow."""
    sender.on_task_message.add(_fail)


def _fail(_: object) -> None:
    raise AttributeError("Autoscaler of a pool that cannot grow")
