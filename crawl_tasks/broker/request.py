"""Step 3: what a worker knows of a message it works on."""

from __future__ import annotations

from typing import Any

from celery.worker import request as stock

from crawl_tasks.broker.message import Message


class Request(stock.Request):
    """Celery's request, but that the body goes to the pool as it was read here: its thread would decode it again."""

    def __init__(
        self,
        message: Message,
        *,
        body: Any = None,  # noqa: ANN401 (Celery's signature)
        decoded: bool = False,
        **options: Any,  # noqa: ANN401 (Celery's signature)
    ) -> None:
        super().__init__(message, body=body if decoded else message.payload, decoded=True, **options)
