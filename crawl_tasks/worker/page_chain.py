"""Page chains: the call that commits a page also takes the next message of the worker's queues, and leases its page.

So a page costs one round trip, and the place that it leaves in its site's window is filled at once. Each page remains
a task of its own for Celery: the thread hands the message to the strategy of its task, as the event loop does, and the
pool runs the task in the same thread. A chain ends after so many pages, without a next page, and when the worker is
asked to end. Messages do not wait in this process: the event loop takes one for each thread that is free.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from celery.concurrency.base import apply_target
from celery.concurrency.thread import TaskPool
from celery.worker import state

from crawl_tasks.broker.message import Message, readable
from crawl_tasks.frontier.replies import NextPage
from crawl_tasks.model import Lease
from crawl_tasks.queues import FETCH_QUEUES


class _Thread(threading.local):
    """The chain of one thread of the pool."""

    left = 0
    is_counted = False
    next: NextPage | None = None
    lease: Lease | None = None
    is_within = False


class ChainPool(TaskPool):
    """Celery's pool of threads, in which a thread goes on with the next page of its chain.

    `most` is the number of pages of a chain, 0 for none. `give_back` returns the lease of a page that was revoked.
    """

    most = 0
    give_back: Callable[[Lease], object]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (Celery's)
        super().__init__(*args, **kwargs)
        self._thread = _Thread()
        self._consumer: Any = None  # a Consumer, whose stubs lack half
        self._lock = threading.Lock()
        self._turns = 0
        self._is_ending = False
        self.busy = 0
        """The number of threads within a chain, whose first messages are acknowledged already."""

    def serve(self, consumer: object, most: int, give_back: Callable[[Lease], object]) -> None:
        """Begin chains of at most so many pages from the queues of a consumer."""
        self._consumer, self.most, self.give_back = consumer, most, give_back

    # -- for the page task -------------------------------------------------------------------------------

    def queues(self) -> Sequence[str]:
        """Return the queues of which this thread may take the next page, in turn, or none."""
        is_ending = not self.most or state.should_stop is not None or state.should_terminate is not None
        if is_ending or self._thread.left <= 0 or self._consumer is None:
            return ()
        # A queue of many pages must not hide the others from the chains.
        served = [name for name in self._consumer.app.amqp.queues.consume_from if name in FETCH_QUEUES]
        self._turns += 1
        start = self._turns % max(1, len(served))
        return served[start:] + served[:start]

    def hand_over(self, page: NextPage) -> None:
        """Remember the next page of this thread, which counts as busy from now on."""
        # Before the message of the first page is acknowledged: the event loop would take the thread for a free one.
        if not self._thread.is_counted:
            self._count(1)
        self._thread.next = page

    def _count(self, change: int) -> None:
        with self._lock:
            self.busy += change
        self._thread.is_counted = change > 0

    def lease_of(self, site: str, rid: int) -> Lease | None:
        """Return the lease that a chain has taken for this thread's page, once."""
        lease, self._thread.lease = self._thread.lease, None
        return lease if lease is not None and (lease.request.site, lease.rid) == (site, rid) else None

    # -- for Celery --------------------------------------------------------------------------------------

    def on_apply(
        self,
        target: Any,  # noqa: ANN401 (Celery's)
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        callback: Any = None,  # noqa: ANN401
        accept_callback: Any = None,  # noqa: ANN401
        **_: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Run a task in a thread of the pool, and one that follows in a chain in its own thread."""
        task = (target, args, kwargs, callback, accept_callback)
        if self._thread.is_within:
            apply_target(*task)
            return None
        return super().on_apply(self._run, task, callback=_ignore)

    def end_chains(self) -> None:
        """End each chain after its present page."""
        self.most = 0

    def begin_no_more(self) -> None:
        """End each chain, and leave the tasks that no thread has begun: their messages go back when the worker ends."""
        self._is_ending = True
        self.end_chains()

    def on_stop(self) -> None:
        """End each chain after its present page, and stop."""
        self.end_chains()
        super().on_stop()

    def terminate_job(self, *_: object) -> None:
        """Leave a page to its end: Python ends no thread. If the worker ends first, the lease gives it back."""

    def _run(self, *task: Any) -> None:  # noqa: ANN401 (Celery's)
        if self._is_ending:
            return
        thread, consumer = self._thread, self._consumer
        thread.left = self.most
        try:
            apply_target(*task)
            while consumer is not None and (page := thread.next) is not None:
                thread.next, thread.left = None, thread.left - 1
                self._go_on(consumer, page)
        finally:
            if consumer is not None and thread.is_counted:
                self._count(-1)
                # The event loop looks for free places when something wakes it.
                consumer.call_soon(_ignore, None)

    def _go_on(self, consumer: Any, page: NextPage) -> None:  # noqa: ANN401 (Celery's)
        thread = self._thread
        thread.lease, thread.is_within = page.lease, True
        try:
            message = Message(readable(page.message))
            strategy = consumer.strategies[message.headers["task"]]
            strategy(message, None, _ignore, _ignore, consumer.on_task_message)
        finally:
            thread.is_within = False
            if thread.lease is not None:  # revoked
                self.give_back(thread.lease)
                thread.lease = None


def _ignore(*_: object) -> None:
    """Do nothing: no message is in Redis that could be acknowledged."""
