"""The queue topology in one table: each Celery task, its kind of work and its queue.

`detail` is no queue, but the name under which one worker serves `post` and `comment` together. `render` takes the pages
of all stages that a browser draws.
"""

from __future__ import annotations

from crawl_tasks.model import Stage

LIST_QUEUE = "list"
POST_QUEUE = "post"
COMMENT_QUEUE = "comment"
RENDER_QUEUE = "render"
STORE_QUEUE = "store"
CONTROL_QUEUE = "control"

QUEUES = (LIST_QUEUE, POST_QUEUE, COMMENT_QUEUE, RENDER_QUEUE, STORE_QUEUE, CONTROL_QUEUE)
DETAIL = "detail"
DETAIL_QUEUES = (POST_QUEUE, COMMENT_QUEUE)
FETCH_QUEUES = frozenset({LIST_QUEUE, *DETAIL_QUEUES, RENDER_QUEUE})

FETCH_LIST = "crawl_tasks.fetch_list"
FETCH_POST = "crawl_tasks.fetch_post"
FETCH_COMMENT = "crawl_tasks.fetch_comment"
STORE_ITEMS = "crawl_tasks.store_items"
PRODUCE = "crawl_tasks.produce"
UPKEEP = "crawl_tasks.upkeep"

STAGE_TASKS = {Stage.LIST: FETCH_LIST, Stage.POST: FETCH_POST, Stage.COMMENT: FETCH_COMMENT}

ROUTES = {
    FETCH_LIST: LIST_QUEUE,
    FETCH_POST: POST_QUEUE,
    FETCH_COMMENT: COMMENT_QUEUE,
    STORE_ITEMS: STORE_QUEUE,
    PRODUCE: CONTROL_QUEUE,
    UPKEEP: CONTROL_QUEUE,
}
