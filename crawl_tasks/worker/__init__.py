"""The worker: the work of the Celery tasks (page task, store task), their signals, and the composition root."""
