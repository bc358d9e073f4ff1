"""The fetch of a leased page: its timer, times by the clock of Redis, and the records in the archive of its site."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from crawl_tasks.errors import ArchiveFailed, PageError
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.fetch.http_status import age_s, moment
from crawl_tasks.fetch.throttle import Throttle
from crawl_tasks.fetch.warc_records import RequestResponse, description
from crawl_tasks.fetch.web_archive import Archive
from crawl_tasks.model import Effort, Fetched, Lease
from crawl_tasks.registry.site_registry import CompiledSite
from crawl_tasks.worker.task_result import TaskResult


class AttemptTimer:
    """The timer of one attempt: time of fetching until the page is there, then time of parsing.

    The time of waiting for throttle slots and for Redis counts as neither.
    """

    def __init__(self, throttle: Throttle) -> None:
        self.throttle = throttle
        self.redis_s = 0.0
        """The time in which this attempt waited for replies to its writes, in seconds."""
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

    def worked_s(self) -> float:
        """Return the seconds of fetching and parsing so far."""
        return self.elapsed_s() - self.throttle.waited_s - self.redis_s

    def steps(self) -> list[tuple[str, float]]:
        """Return the steps of the attempt so far, one behind the other, with the seconds that each took."""
        worked_s, waited_s = self.worked_s(), self.throttle.waited_s
        fetch_s = worked_s if self._page is None else self._fetched - self._began - waited_s
        read = [] if self._page is None else [("parse", worked_s - fetch_s)]
        return [("wait for the slot", waited_s), ("fetch", fetch_s), *read, ("commit", self.redis_s)]

    def effort(self, status: int = 0) -> Effort:
        """Return the cost of the attempt so far. `status` is that of an answer that was no page."""
        worked_s, page = self.worked_s(), self._page
        if page is None:
            return Effort(status, fetch_ms=round(worked_s * 1000))
        fetch_s = self._fetched - self._began - self.throttle.waited_s
        return Effort(
            page.status, page.wire_bytes, len(page.body), round(fetch_s * 1000), round((worked_s - fetch_s) * 1000)
        )


@dataclass(slots=True, eq=False)
class LeasedPage:
    """A page on which a thread works. `late` is the result of its task if the page was failed as hung meanwhile."""

    lease: Lease
    timer: AttemptTimer
    late: TaskResult | None = None


class PageFetch:
    """Fetches leased pages. Thread-safe. Without an archive, no page of a site that wants one is fetched."""

    def __init__(self, fetcher: Fetcher, archive: Archive | None = None) -> None:
        self._fetcher = fetcher
        self._archive = archive

    def fetch(self, lease: Lease, site: CompiledSite, timer: AttemptTimer) -> Fetched:
        """Return a page. Of a site with an archive, the page's records are on disk then, and those of a failure too.

        Raises:
            PageError: the page could not be fetched, or not be archived.
        """
        if not site.site.archive:
            return self._fetch(lease, site, timer)
        if self._archive is None:
            raise ArchiveFailed("this process has no archive")
        self._archive.check()
        with self._fetcher.recording() as exchanges:
            try:
                page = self._fetch(lease, site, timer)
            except PageError as error:
                if exchanges:
                    # A refusal, or a page that is gone, is an answer. Without a status, the last exchange is no page.
                    refusal = Fetched(exchanges[-1].url, error.status, error.headers, b"", 0.0)
                    self._write(lease, site, timer, exchanges, refusal if error.status else None)
                raise
        self._write(lease, site, timer, exchanges, page)
        return page

    def _fetch(self, lease: Lease, site: CompiledSite, timer: AttemptTimer) -> Fetched:
        page = self._fetcher.fetch(lease.request, site.policy, lease.validator, timer.throttle)
        timer.fetched(page)
        return _dated(page, lease, timer)

    def _write(
        self,
        lease: Lease,
        site: CompiledSite,
        timer: AttemptTimer,
        exchanges: list[RequestResponse],
        page: Fetched | None,
    ) -> None:
        facts = None if page is None else description(lease, _dated(page, lease, timer))
        if self._archive is not None:
            self._archive.write(
                site.site.name, exchanges, facts, now=now(lease, timer), secret=site.site.secret_headers
            )


def _dated(page: Fetched, lease: Lease, timer: AttemptTimer) -> Fetched:
    """Return a page with times by the clock of Redis, so that a worker with a wrong clock orders like all others."""
    at = now(lease, timer)
    age = age_s(page.headers, at)
    return page._replace(at_s=moment(page.headers, at), age_s=age, seen_at=_seen_at(lease, age))


def seen_at(headers: Mapping[str, str], lease: Lease, timer: AttemptTimer) -> float:
    """Return the time of an observation, in seconds: ordered by the token of the lease, less its time in a cache."""
    return _seen_at(lease, age_s(headers, now(lease, timer)))


def _seen_at(lease: Lease, age: float) -> float:
    return lease.token / 1000 - age


def now(lease: Lease, timer: AttemptTimer) -> float:
    """Return the present by the clock of Redis, in seconds since the epoch."""
    return lease.at_ms / 1000 + timer.elapsed_s()
