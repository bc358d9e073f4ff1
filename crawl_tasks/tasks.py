"""The Celery tasks, one line each. `worker/page_task.py`, `worker/store_task.py` and `schedule/` do the work.

The frontier sends the three fetch tasks with a request's id. Other programs send them with the ids of a forum or an
address. Such a message asks for admission like any other request, and passes the same guard, throttle and ledger:

    fetch_post.delay(site="demo", post_id="42")
    fetch_list.delay(site="demo", board="3", page=2)
    fetch_comment.delay(site="demo", url="http://127.0.0.1:8765/comment/42/3")

The ledger decides the fate of a page. Celery's state of the task tells the same to Flower and all who read events:
FAILURE for a page that is parked or dead, RETRY for one that comes again, SUCCESS for all others.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from celery.exceptions import Reject, Retry

from crawl_tasks import queues
from crawl_tasks.celery import app
from crawl_tasks.errors import BackendError, TaskFailed
from crawl_tasks.model import Stage
from crawl_tasks.worker.runtime import runtime
from crawl_tasks.worker.task_message import TaskMessage
from crawl_tasks.worker.task_result import FAILED, RETRIED, TaskResult

log = logging.getLogger(__name__)


def _work(message: TaskMessage, unknown: Mapping[str, object]) -> str:
    # Fields of a later version, or misspelt ones. A refusal would lose messages while two versions run side by side.
    if unknown:
        extra = {"site": str(message.site)[:80], "fields": [*unknown]}
        log.warning("unknown fields of a message are left out", extra=extra)
    if runtime().settings.idle_exit_s:
        runtime().idle_exit.note()
    try:
        return _report(runtime().page_task.handle(message))
    except BackendError as error:
        # Only messages of other programs get here. The ledger does not know them yet, so the queue must keep them.
        raise Reject(error, requeue=True) from error


def _report(result: TaskResult) -> str:
    """Return the outcome of a task, or raise the exception that gives the task its state in Celery.

    Raises:
        TaskFailed: the page failed for good.
        Retry: the page comes again. Raised as such it sends no message: the frontier does that.
    """
    if result.outcome in FAILED:
        raise TaskFailed(str(result))
    if result.outcome in RETRIED:
        raise Retry(str(result), exc=TaskFailed(str(result)))
    return result.outcome


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
    **unknown: object,
) -> str:
    """Fetch one list page of a board."""
    return _work(TaskMessage(site, Stage.LIST, rid, board, page, url, priority, revision), unknown)


@app.task(name=queues.FETCH_POST)
def fetch_post(
    site: str,
    rid: int | None = None,
    *,
    post_id: str | int | None = None,
    url: str | None = None,
    priority: int | None = None,
    revision: str = "",
    **unknown: object,
) -> str:
    """Fetch one post."""
    return _work(TaskMessage(site, Stage.POST, rid, post_id, 1, url, priority, revision), unknown)


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
    **unknown: object,
) -> str:
    """Fetch one page of a post's comments."""
    return _work(TaskMessage(site, Stage.COMMENT, rid, post_id, page, url, priority, revision), unknown)


@app.task(name=queues.STORE_ITEMS)
def store_items() -> str:
    """Store the items that wait in the outbox."""
    try:
        return runtime().store_task.run()
    except BackendError as error:
        raise Retry(str(error), exc=error) from None


# Both run all day, whether there is work or not: in Flower they would hide the pages.
@app.task(name=queues.PRODUCE, send_events=False)
def produce() -> str:
    """Admit scans of the boards that are due."""
    return runtime().produce()


@app.task(name=queues.UPKEEP, send_events=False)
def upkeep() -> str:
    """Tick once, in case the ticker of no worker does."""
    return runtime().ticker.once()
