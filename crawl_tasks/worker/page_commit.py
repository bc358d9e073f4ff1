"""The end of a page's lease: its result is committed, or its failure becomes a verdict in the ledger."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from crawl_tasks.errors import AllGone, CrawlError, Fate, NoTurn, PageError, RedisUnreachable, Scope
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.fetch.redaction import redacted
from crawl_tasks.fetch.revalidation import validator_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.frontier.replies import CommitResult, FailResult, NextPage
from crawl_tasks.frontier.retry import NO_RETRY, Verdict, judge
from crawl_tasks.frontier.wire.lease_end import CommitOutcome
from crawl_tasks.logs import OutageLog
from crawl_tasks.model import Effort, Fetched, Lease, Parsed, Stage, State
from crawl_tasks.registry.site_registry import CompiledSite, SiteRegistry
from crawl_tasks.worker.hook_runner import HookRunner
from crawl_tasks.worker.page_fetch import AttemptTimer, now, seen_at
from crawl_tasks.worker.page_reading import ends_walk, gone_items, is_hidden, page_before
from crawl_tasks.worker.task_result import Outcome, TaskResult

log = logging.getLogger(__name__)

Reply = TypeVar("Reply")

ASK_AGAIN_S = 0.5
"""The time between two tries to write a page's result while Redis is away, in seconds."""


class Chain(Protocol):
    """The chains of a pool's threads, see page_chain.py."""

    def queues(self) -> Sequence[str]:
        """Return the queues of which this thread may take the next page, or none."""

    def hand_over(self, page: NextPage) -> None:
        """Remember the next page of this thread."""

    def lease_of(self, site: str, rid: int) -> Lease | None:
        """Return the lease that a chain has taken for this thread's page, once."""


class PageCommit:
    """The writer of the results of pages. Thread-safe."""

    def __init__(
        self, frontier: Frontier, sites: SiteRegistry, fetcher: Fetcher, hooks: HookRunner, outage: OutageLog
    ) -> None:
        self._frontier = frontier
        self._sites = sites
        self._fetcher = fetcher
        self._hooks = hooks
        self._outage = outage

    def write(self, lease: Lease, timer: AttemptTimer, verb: Callable[[], Reply]) -> Reply:
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

    def commit(
        self,
        lease: Lease,
        site: CompiledSite,
        timer: AttemptTimer,
        page: Fetched,
        parsed: Parsed,
        chain: Chain | None,
    ) -> str:
        """Commit a page that was read, hand the next one to the chain, and tell the hooks. Return the outcome."""
        hooks, name = site.site.hooks, site.site.name
        outcome = _outcome_of(lease.request.stage, page, parsed)
        is_revalidated = site.site.revalidate and not page.is_rendered
        validator = validator_of(lease.request, page, parsed) if is_revalidated else ""
        is_debugged = log.isEnabledFor(logging.DEBUG)
        names_filtered = hooks.request_filtered is not None or is_debugged
        effort = timer.effort()

        def commit() -> CommitResult | None:
            queues = chain.queues() if chain else ()
            return self._frontier.commit(
                lease,
                parsed,
                outcome,
                effort,
                validator,
                names_filtered=names_filtered,
                queues=queues,
                # A part of a page completes no revision: the thread is asked for again when it is listed again.
                asks_again=bool(parsed.broke_off) and lease.request.stage is Stage.POST,
            )

        receipt = self.write(lease, timer, commit)
        if receipt is None:
            return lost()
        if chain and receipt.next:
            chain.hand_over(receipt.next)
        for request in receipt.filtered:
            if is_debugged:
                log.debug("request filtered, the guard knows it", extra={"filtered": request.address})
            self._hooks.tell(name, hooks, "request_filtered", request=request, parent=lease.request)
        self._hooks.tell_idle(name, hooks, receipt.idle)
        if log.isEnabledFor(logging.INFO):
            _log_page(page, parsed, receipt)
        return Outcome.DONE

    def give_back(self, lease: Lease) -> None:
        """Return the lease of a page that was not begun: it comes again, and no attempt is counted."""
        self._frontier.fail(lease, judge(NoTurn("the task was revoked"), lease.attempt, NO_RETRY, 0.0))

    def fail(self, lease: Lease, error: PageError, timer: AttemptTimer) -> TaskResult:
        """End the lease of a page that failed, and return the outcome."""
        effort = timer.effort(error.status)
        error.fate = _fate_of(lease, error)
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
        failed = self.write(lease, timer, lambda: self._frontier.fail(lease, verdict, effort))
        if failed is None:
            return TaskResult(Outcome.LEASE_LOST, verdict.reason)
        _log_failure(verdict, failed.state)
        if verdict.scope is not Scope.NOTHING:  # else the page comes again, as if nobody had taken it
            self._tell_failure(lease, verdict, failed)
        if verdict.says_nothing and timer.page is not None:
            self._keep(lease, timer.page, verdict)
        return TaskResult(Outcome(failed.state.value), f"{verdict.reason}: {verdict.details}")

    def _keep(self, lease: Lease, page: Fetched, verdict: Verdict) -> None:
        """Keep a page for `crawl-tasks try NAME --kept`: rules can be mended against a page that they did not read."""
        page = redacted(page)
        picture = self._fetcher.screenshot(page, lease.request.site)
        self._frontier.kept_pages.keep(KeptPage(lease.rid, lease.request, page, verdict.details, picture))

    def _tell_failure(self, lease: Lease, verdict: Verdict, failed: FailResult) -> None:
        """Tell the hooks of the site, if the site can be compiled."""
        try:
            site = self._sites.open(lease.request.site, lease.site_version).site
        except CrawlError:
            return
        fields = {"reason": verdict.reason, "details": verdict.details, "state": failed.state.value}
        self._hooks.tell(site.name, site.hooks, "page_failed", request=lease.request, **fields)
        self._hooks.tell_idle(site.name, site.hooks, failed.idle)

    def _gone(self, lease: Lease, effort: Effort, at: float, *, is_there_less: bool) -> str:
        """Commit a page that does not exist: its request is done, and a post is marked as deleted."""
        request = lease.request
        site = self._sites.open(request.site, lease.site_version)
        addresses = site.addresses
        # A thread that shrank ends on an earlier page now, and the comments written since may be there.
        before = page_before(request, addresses) if is_there_less else ()
        tail = request.page - 1 if request.stage is Stage.COMMENT and is_there_less else 0
        parsed, is_post_page = Parsed(gone_items(request, addresses, at), before, tail), request.stage is Stage.POST
        outcome = CommitOutcome.GONE.of(request.stage)
        receipt = self._frontier.commit(lease, parsed, outcome, effort, asks_again=is_post_page)
        log.info("page is gone")
        if receipt is None:
            return Outcome.LEASE_LOST
        self._hooks.tell_idle(request.site, site.site.hooks, receipt.idle)
        return Outcome.GONE


def lost() -> str:
    """Log that a page's lease has ended, and return the outcome."""
    log.warning("lease lost before the commit, the page is somebody else's now")
    return Outcome.LEASE_LOST


def _fate_of(lease: Lease, error: PageError) -> Fate:
    """Return the fate of a failed page."""
    if is_hidden(lease.request, error) or (error.is_behind_login and error.fate is Fate.GONE):
        # A firewall may refuse any one page, and a session may end unseen: it takes a second look, later.
        return Fate.RETRY if lease.attempt == 1 else Fate.GONE
    return error.fate


def _outcome_of(stage: Stage, page: Fetched, parsed: Parsed) -> str:
    """Return the outcome that the ledger counts for a page, empty for a whole and new one."""
    if page.is_unchanged:
        return CommitOutcome.UNCHANGED.of(stage)
    return CommitOutcome.CUT.of(stage) if parsed.is_cut else ""


def _log_page(page: Fetched, parsed: Parsed, receipt: CommitResult) -> None:
    log.info(
        "page",
        extra={
            "status": page.status,
            "ms": page.elapsed_ms,
            "bytes": page.wire_bytes,
            "posts": len(parsed.items.posts),
            "comments": len(parsed.items.comments),
            "new": receipt.new,
            "known": receipt.known,
        },
    )


def _log_failure(verdict: Verdict, state: State) -> None:
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
