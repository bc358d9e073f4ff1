"""The timer of one attempt at a page, and the page in hand with its timer."""

from __future__ import annotations

import time
from dataclasses import dataclass

from crawl_tasks.fetch.throttle import Throttle
from crawl_tasks.model import Effort, Fetched, Lease
from crawl_tasks.worker.task_result import TaskResult


class AttemptTimer:
    """The timer of one attempt: time of fetching until the page is there, then time of parsing.

    The time of waiting for throttle slots counts as neither.
    """

    def __init__(self, throttle: Throttle) -> None:
        self.throttle = throttle
        self._began = time.perf_counter()
        self._page: Fetched | None = None
        self._fetched = 0.0

    def fetched(self, page: Fetched) -> None:
        """Note that the page has arrived."""
        self._page, self._fetched = page, time.perf_counter()
        if page.is_rendered:
            # The work of the browser is ours: it must not count as slowness of the site.
            self._fetched = self._began + self.throttle.waited_s + page.elapsed_ms / 1000

    @property
    def page(self) -> Fetched | None:
        """Return the page, or None before its arrival."""
        return self._page

    def elapsed_s(self) -> float:
        """Return the seconds since the lease was given."""
        return time.perf_counter() - self._began

    def effort(self, status: int = 0) -> Effort:
        """Return the cost of the attempt so far. `status` is that of an answer that was no page."""
        now, began, page, fetched = time.perf_counter(), self._began + self.throttle.waited_s, self._page, self._fetched
        if page is None:
            return Effort(status, fetch_ms=round((now - began) * 1000))
        fetch_ms, parse_ms = round((fetched - began) * 1000), round((now - fetched) * 1000)
        return Effort(page.status, page.wire_bytes, len(page.body), fetch_ms, parse_ms)


@dataclass(slots=True, eq=False)
class LeasedPage:
    """A page on which a thread works. `late` is the result of its task if the page was failed as hung meanwhile."""

    lease: Lease
    timer: AttemptTimer
    late: TaskResult | None = None
