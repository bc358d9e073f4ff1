"""Step 3: what a worker knows of a message it works on."""

from __future__ import annotations

from celery.worker import request as stock


class Request(stock.Request):
    """Celery's request, but that the body goes to the pool as it was read here: its thread would decode it again."""

    content_type = content_encoding = None  # type: ignore[assignment]  # that is how the pool is told

    @property
    def body(self) -> object:
        """What Celery was given decoded, as it is of an older protocol, or the message's."""
        return self._body if self._decoded else self._message.payload  # type: ignore[attr-defined]  # not in the stubs
