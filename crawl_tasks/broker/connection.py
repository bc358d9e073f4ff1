"""The connection of Celery's processes to Redis: tried again every two seconds or so, however long Redis was away.

Kombu waits 2, 4, 6 and at last 30 s between two tries, and Celery has no setting for it. So a worker stood still long
after Redis was back.
"""

from __future__ import annotations

import random
from typing import Any

import kombu
from celery.app.amqp import AMQP

FIRST_WAIT_S = 0.5
"""The wait before the second try, in seconds. Each further wait is as much longer, up to the longest."""

LONGEST_WAIT_S = (1.5, 2.5)
"""The bounds of the longest wait, in seconds. Each connection draws its own, so that not all workers come at once."""


class Connection(kombu.Connection):
    """A connection with short waits between two tries."""

    def _ensure_connection(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (kombu's signature)
        longest_s = random.uniform(*LONGEST_WAIT_S)  # noqa: S311 (jitter, not a secret)
        waits = {"interval_start": FIRST_WAIT_S, "interval_step": FIRST_WAIT_S, "interval_max": longest_s}
        # A publisher that lost its connection, such as beat, gives waits of its own, behind two other arguments.
        return super()._ensure_connection(*args, **kwargs if args[2:] else waits | kwargs)


class CrawlAMQP(AMQP):
    """Celery's AMQP with such connections."""

    Connection = Connection
    BrokerConnection = Connection
