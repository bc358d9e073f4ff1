"""Celery's request: a worker's view of the message of a task."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from celery.worker import request as stock

_ENDS = frozenset({"task-succeeded", "task-failed", "task-retried"})


class TaskRequest(stock.Request):
    """Celery's request with a decoded body. The stock one makes the pool's thread decode the body a second time."""

    # Without a content type the pool takes the body as decoded.
    content_type = content_encoding = None  # type: ignore[assignment]

    _is_told = False
    _telling = threading.Lock()
    of_thread: ClassVar[dict[int, TaskRequest]] = {}
    """The last request of each thread of the pool."""

    def __init__(self, message: Any, **kwargs: Any) -> None:  # noqa: ANN401 (Celery's)
        """Read a message, with the parts that Celery reads only later, and mark the message as sound."""
        super().__init__(message, **kwargs)
        hard, soft = self.time_limits
        # A number or nothing, and names with values. Anything else is an error here, which is the message's own.
        float(hard or 0), float(soft or 0), self.stamps
        message.is_sound = True

    def on_accepted(self, pid: Any, time_accepted: float) -> None:  # noqa: ANN401 (Celery's; its stubs are wrong)
        """Note the thread that begins to work on the task: a pool of threads calls from there."""
        self.of_thread[threading.get_ident()] = self
        super().on_accepted(pid, time_accepted)

    def send_event(self, type: str, **fields: object) -> None:
        """Send an event, and of those that end the task the first only.

        A page that hangs was told as failed already when its function returns after all, and Celery itself tells a task
        that outlives its time limit twice.
        """
        if type in _ENDS:
            with self._telling:
                if self._is_told:
                    return
                self._is_told = True
        super().send_event(type, **fields)

    @property
    def body(self) -> object:
        """The body that Celery already decoded, as with an older protocol, or else the message's."""
        return self._body if self._decoded else self._message.payload  # type: ignore[attr-defined]  # not in the stubs
