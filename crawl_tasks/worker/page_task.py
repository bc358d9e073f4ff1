"""The page task: the life of one page (lease, fetch, parse, commit), and the admission of other programs' requests.

Every failure of a page ends here as a verdict in the ledger. When Redis itself fails, nothing is written: the lease
runs out, and the request returns to the ready queue.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from crawl_tasks.errors import (
    AllGone,
    BackendError,
    ConfigError,
    Crashed,
    CrawlError,
    Fate,
    NoTurn,
    PageError,
    RedisUnreachable,
    Scope,
    Truncated,
)
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.fetch.revalidation import validator_of
from crawl_tasks.fetch.throttle import Throttle
from crawl_tasks.fetch.web_archive import Archive
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.frontier.replies import CommitResult, FailResult, NextPage, NoLease
from crawl_tasks.frontier.retry import NO_RETRY, Verdict, judge
from crawl_tasks.frontier.slot_throttle import NoDelayThrottle, SlotThrottle
from crawl_tasks.logs import OutageLog, page_at_hand
from crawl_tasks.model import Comment, Effort, Fetched, Lease, Parsed, Post, Stage, State
from crawl_tasks.registry.site_registry import CompiledSite, SiteRegistry
from crawl_tasks.worker.hook_runner import HookRunner
from crawl_tasks.worker.page_fetch import AttemptTimer, LeasedPage, PageFetch, now, seen_at
from crawl_tasks.worker.page_reading import ends_walk, gone_items, is_hidden, page_before, read_page
from crawl_tasks.worker.page_validation import PageValidation
from crawl_tasks.worker.task_message import TaskMessage, request_of, validate
from crawl_tasks.worker.task_result import Outcome, TaskResult

log = logging.getLogger(__name__)

Reply = TypeVar("Reply")


ASK_AGAIN_S = 0.5
"""The time between two tries to write a page's result while Redis is away, in seconds."""

MOST_CRAWL_DELAY_S = 3600.0
"""The longest delay of a site file, in seconds. A longer Crawl-delay of a robots.txt is cut to this."""


class Chain(Protocol):
    """The chains of a pool's threads, see page_chain.py."""

    def queues(self) -> Sequence[str]:
        """Return the queues of which this thread may take the next page, or none."""

    def hand_over(self, page: NextPage) -> None:
        """Remember the next page of this thread."""

    def lease_of(self, site: str, rid: int) -> Lease | None:
        """Return the lease that a chain has taken for this thread's page, once."""


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
    ) -> None:
        self._frontier = frontier
        self._mark_stored = mark_stored
        self._hooks = hooks or HookRunner()
        self._sites = sites
        self._fetcher = fetcher
        self._fetch = PageFetch(fetcher, archive)
        self._watch = PageValidation(frontier)
        self._crawl_delays: dict[str, float] = {}
        self.in_hand: dict[int, LeasedPage] = {}
        """The pages in hand, by thread."""
        self.chain: Chain | None = None
        self._outage = OutageLog(log, "Redis failed, leases run out and pages come back")

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
            return page.late if page.late and result.outcome == Outcome.LEASE_LOST else result
        finally:
            del self.in_hand[threading.get_ident()]
            page_at_hand.reset(names_page)

    def _attempt(self, lease: Lease, timer: AttemptTimer) -> TaskResult:
        try:
            return TaskResult(self._work_on(lease, timer))
        except PageError as error:
            return self.fail(lease, error, timer)
        except ConfigError as error:
            return self.fail(lease, Crashed(str(error)), timer)
        except BackendError:
            # Nobody knows whether the commit took effect. A verdict now could contradict it, so the lease decides.
            raise
        except Exception as error:
            # The boundary of the task: a bug, also one in a site's own function, must not cost the request.
            log.exception("page crashed")
            return self.fail(lease, Crashed(f"{type(error).__name__}: {error}"), timer)

    def _work_on(self, lease: Lease, timer: AttemptTimer) -> str:
        site = self._sites.open(lease.request.site, lease.site_version)
        if (request := site.current(lease.request)) is not lease.request:
            lease = lease._replace(request=request)
            page_at_hand.set(lease)
        page = self._fetched(lease, site, timer)
        # The reason of the earlier attempt may be that this page costs its worker more than a lease, or its life.
        if lease.attempt > 1 and not self._write(lease, timer, lambda: self._frontier.note_parsing(lease)):
            return self._lost()
        hooks, name = site.site.hooks, site.site.name

        def tell_drop(item: Post | Comment, reason: str) -> None:
            self._hooks.tell(name, hooks, "item_dropped", request=lease.request, item=item, reason=reason)

        parsed, outcome = read_page(site, lease, page, tell_drop if hooks.item_dropped else None, self._watch), ""
        if parsed.broke_off and lease.attempt < site.retry.max_attempts:
            raise Truncated(f"{page.url}: {parsed.broke_off}")
        if stages := site.stages_by_database:
            parsed = self._mark_stored(parsed, stages)
        if page.is_unchanged or parsed.is_cut:
            outcome = f"{'unchanged' if page.is_unchanged else 'cut'}:{lease.request.stage.value}"
        is_revalidated = site.site.revalidate and not page.is_rendered
        validator = validator_of(lease.request, page, parsed) if is_revalidated else ""
        is_debugged = log.isEnabledFor(logging.DEBUG)
        names_filtered = hooks.request_filtered is not None or is_debugged
        effort = timer.effort()

        def commit() -> CommitResult | None:
            queues = self.chain.queues() if self.chain else ()
            return self._frontier.commit(
                lease, parsed, outcome, effort, validator, names_filtered=names_filtered, queues=queues
            )

        receipt = self._write(lease, timer, commit)
        if receipt is None:
            return self._lost()
        if self.chain and receipt.next:
            self.chain.hand_over(receipt.next)
        for request in receipt.filtered:
            if is_debugged:
                log.debug("request filtered, the guard knows it", extra={"filtered": request.address})
            self._hooks.tell(name, hooks, "request_filtered", request=request, parent=lease.request)
        self._hooks.tell_idle(name, hooks, receipt.idle)
        if log.isEnabledFor(logging.INFO):
            items = parsed.items
            log.info(
                "page",
                extra={
                    "status": page.status,
                    "ms": page.elapsed_ms,
                    "bytes": page.wire_bytes,
                    "posts": len(items.posts),
                    "comments": len(items.comments),
                    "new": receipt.new,
                    "known": receipt.known,
                },
            )
        return Outcome.DONE

    def _fetched(self, lease: Lease, site: CompiledSite, timer: AttemptTimer) -> Fetched:
        """Fetch a page, and note the Crawl-delay, also where the page waits for its slot behind robots.txt."""
        try:
            page = self._fetch.fetch(lease, site, timer)
        except NoTurn:
            self._write(lease, timer, lambda: self._apply_crawl_delay(lease, site))
            raise
        self._write(lease, timer, lambda: self._apply_crawl_delay(lease, site))
        return page

    def _write(self, lease: Lease, timer: AttemptTimer, verb: Callable[[], Reply]) -> Reply:
        """Return the reply of a verb that writes a page's result, called again while Redis is away and the lease lasts.

        So a short outage costs no second fetch, and a site goes on with Redis, not only after its leases.

        Raises:
            BackendError: Redis failed, and the lease ends.
        """
        began = time.perf_counter()
        while True:
            try:
                reply = verb()
                timer.redis_s += time.perf_counter() - began
                return reply
            except RedisUnreachable as error:
                if now(lease, timer) + ASK_AGAIN_S > lease.deadline_ms / 1000:
                    raise
                self._outage.fail(error)
                time.sleep(ASK_AGAIN_S)

    @staticmethod
    def _lost() -> str:
        log.warning("lease lost before the commit, the page is somebody else's now")
        return Outcome.LEASE_LOST

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

    def give_back(self, lease: Lease) -> None:
        """Return the lease of a page that was not begun: it comes again, and no attempt is counted."""
        self._frontier.fail(lease, judge(NoTurn("the task was revoked"), lease.attempt, NO_RETRY, 0.0))

    def fail(self, lease: Lease, error: PageError, timer: AttemptTimer) -> TaskResult:
        """End the lease of a page that failed, and return the outcome."""
        effort = timer.effort(error.status)
        if is_hidden(lease.request, error):
            # A firewall may refuse any one page: it takes a second look, later.
            error.fate = Fate.RETRY if lease.attempt == 1 else Fate.GONE
        if error.fate is Fate.GONE or ends_walk(lease.request, error):
            headers = error.headers if timer.page is None else timer.page.headers
            at = seen_at(headers, lease, timer)
            try:
                return TaskResult(self._gone(lease, effort, at, is_there_less=error.fate is Fate.GONE))
            except AllGone as doubt:
                error = doubt
        # Only a retry needs the policy of the site. A site that cannot be compiled must still be able to park pages.
        is_retry = error.fate is Fate.RETRY
        terms = self._sites.open(lease.request.site, lease.site_version).retry if is_retry else NO_RETRY
        verdict = judge(error, lease.attempt, terms, random.random())  # noqa: S311 (jitter, not a secret)
        failed = self._write(lease, timer, lambda: self._frontier.fail(lease, verdict, effort))
        if failed is None:
            return TaskResult(Outcome.LEASE_LOST, verdict.reason)
        state = failed.state
        log.log(
            logging.INFO if verdict.scope is Scope.NOTHING else logging.WARNING,
            "page failed",
            extra={
                "reason": verdict.reason,
                "details": verdict.details,
                "next": state.value,
                "delay_ms": verdict.delay_ms if state is State.DELAYED else 0,
            },
        )
        if verdict.scope is not Scope.NOTHING:  # else the page comes again, as if nobody had taken it
            self._tell_failure(lease, verdict, failed)
        # Kept for `crawl-tasks try NAME --kept`: the rules can be mended against the very page that they did not read.
        if verdict.says_nothing and timer.page is not None:
            picture = self._fetcher.screenshot(timer.page, lease.request.site)
            self._frontier.kept_pages.keep(KeptPage(lease.rid, lease.request, timer.page, verdict.details, picture))
        return TaskResult(Outcome(state.value), f"{verdict.reason}: {verdict.details}")

    def _tell_failure(self, lease: Lease, verdict: Verdict, failed: FailResult) -> None:
        """Tell the hooks of the site, if the site can be compiled."""
        try:
            site = self._sites.open(lease.request.site, lease.site_version).site
        except CrawlError:
            return
        told = {"reason": verdict.reason, "details": verdict.details, "state": failed.state.value}
        self._hooks.tell(site.name, site.hooks, "page_failed", request=lease.request, **told)
        self._hooks.tell_idle(site.name, site.hooks, failed.idle)

    def _gone(self, lease: Lease, effort: Effort, at: float, *, is_there_less: bool) -> str:
        """Commit a page that does not exist: its request is done, and a post is marked as deleted."""
        request = lease.request
        site = self._sites.open(request.site, lease.site_version)
        addresses = site.addresses
        # A thread that shrank ends on an earlier page now, and the comments written since may stand there.
        before = page_before(request, addresses) if is_there_less else ()
        tail = request.page - 1 if request.stage is Stage.COMMENT and is_there_less else 0
        parsed, is_post_page = Parsed(gone_items(request, addresses, at), before, tail), request.stage is Stage.POST
        receipt = self._frontier.commit(lease, parsed, f"gone:{request.stage.value}", effort, is_gone=is_post_page)
        log.info("page is gone")
        if receipt is None:
            return Outcome.LEASE_LOST
        self._hooks.tell_idle(request.site, site.site.hooks, receipt.idle)
        return Outcome.GONE

    def admit_external(self, message: TaskMessage) -> str:
        """Admit the request of another program's message, and return whether the request is new or known."""
        site = self._sites.latest(message.site)
        admission = self._frontier.admit(message.site, [request_of(message, site)])
        return Outcome.ADMITTED if admission.new else Outcome.KNOWN
