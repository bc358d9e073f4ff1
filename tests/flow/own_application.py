"""An application made of ours, with a queue and a task of its own that a hook sends for each stored item."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kombu import Queue

from crawl_tasks.celery import app

app.conf.task_queues = [*app.conf.task_queues, Queue("index", routing_key="index")]


@app.task(name="own.index", bind=True, autoretry_for=(ValueError,), retry_backoff=1, max_retries=3, queue="index")
def index(self: Any, site: str, post_id: str) -> None:  # noqa: ANN401 (a Celery task)
    """Note a post in a file. The first try of each tenth one fails."""
    if post_id.endswith("0") and not self.request.retries:
        raise ValueError("not yet")
    with (Path(os.environ["CRAWL_STATE_DIR"]) / "indexed").open("a", encoding="utf-8") as file:
        file.write(f"{post_id}\n")


def stored(site: str, item: Any) -> None:  # noqa: ANN401 (a post or a comment)
    """Send a post's own page to the index."""
    if hasattr(item, "reply_count") and item.is_page:
        index.delay(site, item.post_id)
