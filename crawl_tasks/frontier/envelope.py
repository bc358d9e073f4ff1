"""Message envelopes: the Celery messages that the scripts put on kombu's lists, one for each released request.

Follows Celery's message protocol 2 and kombu 5.7's Redis wire format (docs.celeryq.dev, "Message Protocol", and
kombu/transport/virtual/base.py). A contract test compares the templates with Celery's own messages, field by field.
A message carries nothing but the site and the request's id. The message is a hint: the lease decides.
"""

from __future__ import annotations

import json

from crawl_tasks.model import Stage
from crawl_tasks.queues import STAGE_TASKS, STORE_ITEMS, STORE_QUEUE

HINT_MARK = '"crawl_at":'
"""The mark of our hints in the raw text. Messages that other programs put on the queues lack the mark."""

HINTED = frozenset((*STAGE_TASKS.values(), STORE_ITEMS))
"""The tasks of hints."""

_EMBED = '{"callbacks":null,"errbacks":null,"chain":null,"chord":null}'

HINT_END = f"{_EMBED}]"
"""The end of the body of every hint: nothing is called after its task."""


def _hint(task: str, task_id: str, kwargs: str, argsrepr: str, queue: str) -> str:
    body = f"[[],{kwargs},{_EMBED}]"
    message = {
        "body": body,
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {
            "lang": "py",
            "task": task,
            "id": task_id,
            "root_id": task_id,
            "parent_id": None,
            "group": None,
            "argsrepr": argsrepr,
            "kwargsrepr": "",
            "ignore_result": True,
            "retries": 0,
            "timelimit": [None, None],
            "eta": None,
            "expires": None,
            # Without this header Celery's Context searches all headers for custom ones, for each task: 586 bytecodes.
            "headers": {},
            "crawl_at": 0,
        },
        "properties": {
            "correlation_id": task_id,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "priority": 0,
            "body_encoding": "utf-8",
            "delivery_tag": task_id,
        },
    }
    # The scripts write a number in place of @AT@, so that no quotes may be around the placeholder.
    return json.dumps(message, separators=(",", ":")).replace('"crawl_at":0', f"{HINT_MARK}@AT@")


def hint_templates() -> dict[str, str]:
    """Return the message templates of the stages and the store. Filled in: @SITE@, @RID@, @ADDRESS@, @QUEUE@, @AT@."""
    templates = {
        stage.value: _hint(
            STAGE_TASKS[stage],
            "@SITE@-@RID@-@AT@",
            '{"site":"@SITE@","rid":@RID@}',
            f"@SITE@ {stage.value} @ADDRESS@",
            "@QUEUE@",
        )
        for stage in Stage
    }
    templates["store"] = _hint(STORE_ITEMS, "store-@AT@", "{}", "outbox", STORE_QUEUE)
    return templates
