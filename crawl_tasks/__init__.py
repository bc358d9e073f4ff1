"""A Celery crawler for forums: list pages, posts, comments.

The flow, and the room of each step:
schedule (produce) -> frontier (admit, queue, lease, commit) -> fetch -> parse -> drain -> store; monitor watches.
`pipeline.py` tells the life of a page, `drain.py` the life of a batch of items.
"""

__version__ = "0.1.0"
