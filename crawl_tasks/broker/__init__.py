"""How Celery's messages travel: kombu's Redis transport, taught that our messages are only hints."""
