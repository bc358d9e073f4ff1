"""Which workers answer, and what they serve: Celery's own inspection, asked briefly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import cast

from kombu.exceptions import OperationalError

from crawl_tasks.celery import build_app
from crawl_tasks.errors import RedisUnreachable
from crawl_tasks.settings import Settings

ANSWER_S = 1.5


def serving_workers(settings: Settings) -> dict[str, list[str]]:
    """Give the names of the living workers by the queue they serve.

    Raises:
        RedisUnreachable: the broker does not answer.
    """
    try:
        with build_app(settings) as app:
            replies = app.control.broadcast("active_queues", reply=True, timeout=ANSWER_S)
    except OperationalError as error:
        raise RedisUnreachable(f"Redis at {settings.redis_url} does not carry Celery's inspection: {error}") from error
    # As documented for `broadcast` and `active_queues`: of each worker its queues, each a mapping with a name.
    # `inspect` would make one of workers that have one name.
    answers = cast("Sequence[Mapping[str, Sequence[Mapping[str, str]]]] | None", replies) or []
    serving: dict[str, list[str]] = {}
    for worker, queues in sorted((pair for answer in answers for pair in answer.items()), key=itemgetter(0)):
        for queue in queues:
            serving.setdefault(queue["name"], []).append(worker)
    return serving
