"""Which workers answer, and what they serve: Celery's own inspection, asked briefly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from crawl_tasks.celery import app

ANSWER_S = 1.5


def serving_workers() -> dict[str, list[str]]:
    """Give the names of the living workers by the queue they serve."""
    replies = app.control.inspect(timeout=ANSWER_S).active_queues()
    # As documented for `inspect active_queues`: for each worker its queues, each a mapping with a name.
    answers = cast("Mapping[str, Sequence[Mapping[str, str]]] | None", replies) or {}
    serving: dict[str, list[str]] = {}
    for worker, queues in sorted(answers.items()):
        for queue in queues:
            serving.setdefault(queue["name"], []).append(worker)
    return serving
