"""The page task: the life of one page (lease, fetch, parse, commit), and the admission of other programs' requests.

Every failure of a page ends here as a verdict in the ledger. When Redis itself fails, nothing is written: the lease
runs out, and the request returns to the ready queue.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from crawl_tasks.errors import (
    BackendError,
    ConfigError,
    Crashed,
    Gone,
    GuestPage,
    NoTurn,
    PageError,
    ParseError,
    Truncated,
)
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.fetch.redaction import without
from crawl_tasks.fetch.throttle import Throttle
from crawl_tasks.fetch.web_archive import Archive
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.frontier.slot_throttle import NoDelayThrottle, SlotThrottle
from crawl_tasks.logs import OutageLog, page_at_hand
from crawl_tasks.model import Comment, Fetched, Lease, Parsed, Post, Stage
from crawl_tasks.registry.site_registry import CompiledSite, SiteRegistry
from crawl_tasks.worker.hook_runner import HookRunner
from crawl_tasks.worker.page_commit import Chain, PageCommit
from crawl_tasks.worker.page_fetch import AttemptTimer, LeasedPage, PageFetch
from crawl_tasks.worker.page_reading import read_page
from crawl_tasks.worker.page_validation import PageValidation
from crawl_tasks.worker.task_message import TaskMessage, request_of, validate
from crawl_tasks.worker.task_result import Outcome, TaskResult
from crawl_tasks.worker.truncated_threads import LOOKS, TruncatedThreads, is_whole

if TYPE_CHECKING:
    from crawl_tasks.monitor.traces import Traces

log = logging.getLogger(__name__)

MOST_CRAWL_DELAY_S = 3600.0
"""The longest delay of a site file, in seconds. A longer Crawl-delay of a robots.txt is cut to this."""


class PageTask:
    """The page task of a fetching worker. Thread-safe."""

    def __init__(
        self,
        frontier: Frontier,
        sites: SiteRegistry,
        fetcher: Fetcher,
        hooks: HookRunner | None = None,
        mark_stored: Callable[[Parsed, Collection[Stage]], Parsed] = lambda parsed, stages: parsed,
        archive: Archive | None = None,
        traces: Traces | None = None,
    ) -> None:
        self._frontier = frontier
        self._traces = traces
        self._mark_stored = mark_stored
        self._hooks = hooks or HookRunner()
        self._sites = sites
        self._fetcher = fetcher
        self._fetch = PageFetch(fetcher, archive)
        self._watch = PageValidation(frontier)
        self._truncated = TruncatedThreads()
        self._crawl_delays: dict[str, float] = {}
        self.in_hand: dict[int, LeasedPage] = {}
        """The pages in hand, by thread."""
        self.chain: Chain | None = None
        self._outage = OutageLog(log, "Redis failed, leases run out and pages come back")
        self.commits = PageCommit(frontier, sites, fetcher, self._hooks, self._outage)

    def handle(self, message: TaskMessage) -> TaskResult:
        """Process the page of a message, or admit the request of another program. Return the result.

        A forged message changes nothing.

        Raises:
            BackendError: Redis failed before another program's request was admitted. The message must stay queued.
        """
        try:
            validate(message)
            if message.rid is None:
                return TaskResult(self.admit_external(message))
            return self.process(message.site, message.rid)
        except (ConfigError, PageError) as error:
            log.warning("message refused", extra={"site": str(message.site)[:80], "details": str(error)[:500]})
            return TaskResult(Outcome.REFUSED, str(error)[:500])
        except BackendError as error:
            if message.rid is None:
                raise
            # Our own message may go. The ledger has the request, and the ticker sends another message for it.
            self._outage.fail(error)
            return TaskResult(Outcome.BACKEND_FAILED, str(error))

    def process(self, site: str, rid: int) -> TaskResult:
        """Carry one page from lease to commit, and return the result."""
        lease = (self.chain and self.chain.lease_of(site, rid)) or self._frontier.lease(site, rid)
        if isinstance(lease, NoLease):
            log.debug("no lease", extra={"site": site, "rid": rid, "refusal": lease.name})
            return TaskResult(lease.name.lower())
        # Only now: a lease is a write, so Redis accepts writes again. A read-only Redis answers too.
        self._outage.end()
        throttle: Throttle = NoDelayThrottle(self._frontier, lease)
        if lease.slot:
            throttle = SlotThrottle(self._frontier, lease, lease.slot)
        timer = AttemptTimer(throttle)
        names_page = page_at_hand.set(lease)
        page = self.in_hand[threading.get_ident()] = LeasedPage(lease, timer)
        try:
            result = self._attempt(lease, timer)
            if self._traces:
                status = timer.page.status if timer.page else 0
                self._traces.page(page_at_hand.get() or lease, *result, status, timer.steps())
            return page.late if page.late and result.outcome == Outcome.LEASE_LOST else result
        finally:
            del self.in_hand[threading.get_ident()]
            page_at_hand.reset(names_page)

    def _attempt(self, lease: Lease, timer: AttemptTimer) -> TaskResult:
        try:
            return TaskResult(self._work_on(lease, timer))
        except PageError as error:
            secrets = timer.page.secrets if timer.page else ()
            if secrets:
                error.args = (without(str(error), secrets),)
            if isinstance(error, GuestPage):
                self._fetcher.login_fetch.checks.note_doubt(lease.request.site)
            result = self.commits.fail(lease, error, timer)
            if isinstance(error, Gone) and result.outcome == Outcome.GONE:
                self._watch.note_gone(lease.request)
            return result
        except ConfigError as error:
            return self.commits.fail(lease, Crashed(str(error)), timer)
        except BackendError:
            # Nobody knows whether the commit took effect. A verdict now could contradict it, so the lease decides.
            raise
        except Exception as error:
            # The boundary of the task: a bug, also one in a site's own function, must not cost the request.
            log.exception("page crashed")
            *_, innermost = traceback.extract_tb(error.__traceback__)
            place = f"in {innermost.name}, line {innermost.lineno} of {innermost.filename}"
            return self.commits.fail(lease, Crashed(f"{type(error).__name__}: {error} ({place})"), timer)

    def _work_on(self, lease: Lease, timer: AttemptTimer) -> str:
        site = self._sites.open(lease.request.site, lease.site_version)
        if (request := site.current(lease.request)) is not lease.request:
            lease = lease._replace(request=request)
            page_at_hand.set(lease)
        page = self._fetched(lease, site, timer)
        hooks, name = site.site.hooks, site.site.name

        def tell_drop(item: Post | Comment, reason: str) -> None:
            self._hooks.tell(name, hooks, "item_dropped", request=lease.request, item=item, reason=reason)

        try:
            parsed = read_page(site, lease, page, tell_drop if hooks.item_dropped else None, self._watch)
        except ParseError as error:
            # The rules are not to blame for a page of which a part did not come.
            if page.gaps and lease.attempt < site.retry.max_attempts:
                raise Truncated(f"{error}; {'; '.join(page.gaps)}") from None
            if page.is_unsigned and lease.attempt < min(LOOKS, site.retry.max_attempts):
                raise GuestPage(f"{error}; the page does not say who asked for it") from None
            raise
        if page.gaps and is_whole(site, lease, parsed):
            parsed = parsed._replace(broke_off="")
        if parsed.broke_off and lease.attempt < site.retry.max_attempts:
            raise Truncated(f"{page.url}: {parsed.broke_off}")
        if lease.request.stage is Stage.POST and not (page.is_unchanged or parsed.broke_off):
            parsed = self._truncated.proven(parsed, site, lease, page)
        if stages := site.stages_by_database:
            parsed = self._mark_stored(parsed, stages)
            if lease.request.stage is Stage.POST and not lease.tail:
                parsed = _with_comment_pages(parsed)
        return self.commits.commit(lease, site, timer, page, parsed, self.chain)

    def _fetched(self, lease: Lease, site: CompiledSite, timer: AttemptTimer) -> Fetched:
        """Fetch a page, and note the Crawl-delay, also where the page waits for its slot behind robots.txt."""
        try:
            page = self._fetch.fetch(lease, site, timer)
        except NoTurn:
            self.commits.write(lease, timer, lambda: self._apply_crawl_delay(lease, site))
            raise
        self.commits.write(lease, timer, lambda: self._apply_crawl_delay(lease, site))
        return page

    def _apply_crawl_delay(self, lease: Lease, site: CompiledSite) -> None:
        """Set the Crawl-delay of a site in Redis: once a process, after a change, and when Redis has less."""
        request = lease.request
        asked_s = min(self._fetcher.crawl_delay_s(request.address, site.policy) or 0.0, MOST_CRAWL_DELAY_S)
        # A rebuild of the ledger wipes the delay, and the lease shows that. Workers that only remembered having set
        # the delay would never set it again.
        if self._crawl_delays.get(request.site) != asked_s or lease.delay_ms < round(asked_s * 1000):
            self._frontier.sites.set_crawl_delay(request.site, asked_s)
            self._crawl_delays[request.site] = asked_s

    def close(self) -> None:
        """Close the connections to sites, and the browser."""
        self._fetcher.close()

    def admit_external(self, message: TaskMessage) -> str:
        """Admit the request of another program's message, and return whether the request is new or known."""
        site = self._sites.latest(message.site)
        admission = self._frontier.admit(message.site, [request_of(message, site)])
        return Outcome.ADMITTED if admission.new else Outcome.KNOWN


def _with_comment_pages(parsed: Parsed) -> Parsed:
    """Return a post page of a thread without a tail, as behind a recovery, so that all comment pages are asked for."""
    # The thread may have shrunk and grown again since they were stored with this very revision.
    children = (
        child._replace(is_stored=False, is_stored_otherwise=True) if child.is_stored else child
        for child in parsed.children
    )
    return parsed._replace(children=tuple(children))
