"""A request as the broker's bytes: the Celery messages that the scripts put on kombu's lists.

Follows Celery's message protocol 2 and kombu 5.7's Redis wire format (docs.celeryq.dev, "Message Protocol";
kombu/transport/virtual/base.py). A contract test compares these with what Celery publishes, field by field.
A message carries nothing but the site and the request's id: it is a hint, the lease decides.
"""

from __future__ import annotations

import json

from crawl_tasks.model import Stage
from crawl_tasks.queues import ROUTES, STAGE_TASKS, STORE_ITEMS

HINT_MARK = '"crawl_at":'
"""What tells our hints from messages that others put on the queues, in the raw text."""

_EMBED = '{"callbacks":null,"errbacks":null,"chain":null,"chord":null}'


def _hint(task: str, task_id: str, kwargs: str, argsrepr: str) -> str:
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
            "headers": {},  # else a worker looks for headers of nobody's among its own, task by task
            "crawl_at": 0,
        },
        "properties": {
            "correlation_id": task_id,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": ROUTES[task]},
            "priority": 0,
            "body_encoding": "utf-8",
            "delivery_tag": task_id,
        },
    }
    return json.dumps(message, separators=(",", ":")).replace('"crawl_at":0', f"{HINT_MARK}@AT@")


def hint_templates() -> dict[str, str]:
    """Give the message for each queue with the places @SITE@, @RID@, @ADDRESS@ and @AT@ left to fill in."""
    templates = {
        stage.value: _hint(
            STAGE_TASKS[stage],
            "@SITE@-@RID@-@AT@",
            '{"site":"@SITE@","rid":@RID@}',
            f"@SITE@ {stage.value} @ADDRESS@",
        )
        for stage in Stage
    }
    templates["store"] = _hint(STORE_ITEMS, "store-@AT@", "{}", "outbox")
    return templates
