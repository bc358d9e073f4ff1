"""Step 4: the Celery tasks. Each is one line: the work is told in `pipeline.py`, `drain.py` and `schedule/`.

The three fetch tasks are sent by the frontier with a request's id. Sent by anybody else, with the ids a forum
uses or an address, they ask for admission like any other request and pass the same guard, gate and ledger:

    fetch_post.delay(site="demo", post_id="42")
    fetch_list.delay(site="demo", board="3", page=2)
    fetch_comment.delay(site="demo", url="http://127.0.0.1:8765/comment/42/3")
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from celery.exceptions import Reject

from crawl_tasks import queues
from crawl_tasks.ask import Ask
from crawl_tasks.celery import app
from crawl_tasks.errors import BackendError
from crawl_tasks.model import Stage
from crawl_tasks.runtime import runtime

log = logging.getLogger(__name__)


def _work(ask: Ask, later: Mapping[str, object]) -> str:
    if later:  # of a later version, or misspelt; the work itself is known
        log.warning("unknown fields of a message are left out", extra={"site": str(ask.site)[:80], "fields": [*later]})
    try:
        return runtime().pages.work(ask)
    except BackendError as error:  # a message of others is nowhere else: it goes back to its queue
        raise Reject(error, requeue=True) from error


@app.task(name=queues.FETCH_LIST)
def fetch_list(
    site: str,
    rid: int | None = None,
    *,
    board: str | int | None = None,
    page: int = 1,
    url: str | None = None,
    priority: int | None = None,
    revision: str = "",
    **later: object,
) -> str:
    """Fetch one list page of a board."""
    return _work(Ask(site, Stage.LIST, rid, board, page, url, priority, revision), later)


@app.task(name=queues.FETCH_POST)
def fetch_post(
    site: str,
    rid: int | None = None,
    *,
    post_id: str | int | None = None,
    url: str | None = None,
    priority: int | None = None,
    revision: str = "",
    **later: object,
) -> str:
    """Fetch one post."""
    return _work(Ask(site, Stage.POST, rid, post_id, 1, url, priority, revision), later)


@app.task(name=queues.FETCH_COMMENT)
def fetch_comment(
    site: str,
    rid: int | None = None,
    *,
    post_id: str | int | None = None,
    page: int = 1,
    url: str | None = None,
    priority: int | None = None,
    revision: str = "",
    **later: object,
) -> str:
    """Fetch one page of a post's comments."""
    return _work(Ask(site, Stage.COMMENT, rid, post_id, page, url, priority, revision), later)


@app.task(name=queues.STORE_ITEMS)
def store_items() -> str:
    """Store what waits in the outbox."""
    return runtime().drain.run()


@app.task(name=queues.PRODUCE)
def produce() -> str:
    """Admit scans of the boards that are due."""
    return runtime().producer.run()


@app.task(name=queues.UPKEEP)
def upkeep() -> str:
    """Do what the frontier has due, in case no worker's pacer does."""
    return runtime().pacer.once()
