"""A Celery crawler for forums: list pages, posts and comments.

The room of each step of a page, in order: schedule (produce), frontier (admit, queue, lease, commit), fetch, parse,
items and store. The room monitor watches all of them. `worker/page_task.py` tells the life of a page, and
`worker/store_task.py` the life of a batch of items. Programs around the crawler import from `crawl_tasks.api`.
"""

__version__ = "0.2.0.dev0"
