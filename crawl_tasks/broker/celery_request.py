"""Celery's request: a worker's view of the message of a task."""

from __future__ import annotations

from typing import Any

from celery.worker import request as stock


class TaskRequest(stock.Request):
    """Celery's request with a decoded body. The stock one makes the pool's thread decode the body a second time."""

    # Without a content type the pool takes the body as decoded.
    content_type = content_encoding = None  # type: ignore[assignment]

    def __init__(self, message: Any, **kwargs: Any) -> None:  # noqa: ANN401 (Celery's)
        """Read a message, with the parts that Celery reads only later, and mark the message as sound."""
        super().__init__(message, **kwargs)
        hard, soft = self.time_limits
        # A number or nothing, and names with values. Anything else is an error here, which is the message's own.
        float(hard or 0), float(soft or 0), self.stamps
        message.is_sound = True

    @property
    def body(self) -> object:
        """The body that Celery already decoded, as with an older protocol, or else the message's."""
        return self._body if self._decoded else self._message.payload  # type: ignore[attr-defined]  # not in the stubs
