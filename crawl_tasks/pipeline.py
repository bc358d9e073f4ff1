"""Step 5: the life of one page, told once: lease, fetch, parse, commit. And the door for whoever asks directly.

Everything that can go wrong with a page ends here as a verdict in the ledger. When Redis itself fails, nothing is
written: the lease runs out and the request goes back by itself.
"""

from __future__ import annotations

import logging
import random
import time
from enum import StrEnum

from crawl_tasks.ask import Ask, check_ask, request_of
from crawl_tasks.errors import (
    AccessDenied,
    BackendError,
    ConfigError,
    Crashed,
    Fate,
    PageError,
    RedirectRefused,
)
from crawl_tasks.fetch.download import Fetcher
from crawl_tasks.fetch.outcome import age_s, moment
from crawl_tasks.fetch.turn import AT_ONCE, Turn
from crawl_tasks.fetch.validator import validator_of
from crawl_tasks.frontier.frontier import Frontier, Refusal
from crawl_tasks.frontier.quarantine import KeptPage
from crawl_tasks.frontier.retry import NO_RETRY, judge
from crawl_tasks.frontier.turn import GateTurn
from crawl_tasks.logs import page_at_hand
from crawl_tasks.model import Effort, Fetched, Items, Lease, Parsed, Post, Request, Stage
from crawl_tasks.outage import Outage
from crawl_tasks.reading import read_page
from crawl_tasks.sitebook import OpenSite, SiteBook
from crawl_tasks.sites.address import Addresses

log = logging.getLogger(__name__)


MOST_CRAWL_DELAY_S = 3600.0
"""What a site file may ask for; a longer Crawl-delay is taken for this."""


class Outcome(StrEnum):
    """How a message ended."""

    DONE = "done"
    GONE = "gone"
    LEASE_LOST = "lease lost"
    REFUSED = "refused"
    BACKEND_FAILED = "backend failed"
    ADMITTED = "admitted"
    KNOWN = "known"


class Stopwatch:
    """Clocks one attempt: until the page is there it is fetched, then parsed; waiting for its turns is neither."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._began = time.perf_counter()
        self._page: Fetched | None = None
        self._fetched = 0.0

    def fetched(self, page: Fetched) -> None:
        """Note that the page is there."""
        self._page, self._fetched = page, time.perf_counter()

    @property
    def page(self) -> Fetched | None:
        """Give the page, None while there is none."""
        return self._page

    def elapsed_s(self) -> float:
        """Return the seconds since the lease was given."""
        return time.perf_counter() - self._began

    def effort(self, status: int = 0) -> Effort:
        """Give what the attempt cost so far; `status` is that of an answer which was no page."""
        now, began, page, fetched = time.perf_counter(), self._began + self.turn.waited_s, self._page, self._fetched
        if page is None:
            return Effort(status, fetch_ms=round((now - began) * 1000))
        fetch_ms, parse_ms = round((fetched - began) * 1000), round((now - fetched) * 1000)
        return Effort(page.status, page.wire_bytes, len(page.body), fetch_ms, parse_ms)


class Pages:
    """The work of a fetching worker. Thread-safe."""

    def __init__(self, frontier: Frontier, sites: SiteBook, fetcher: Fetcher) -> None:
        self._frontier = frontier
        self._sites = sites
        self._fetcher = fetcher
        self._crawl_delays: dict[str, float] = {}
        self._outage = Outage(log, "Redis failed, leases run out and pages come back")

    def work(self, ask: Ask) -> str:
        """Do what a message asks: work on a page, or ask for its admission. A forged one changes nothing.

        Raises:
            BackendError: Redis failed before others' message was admitted; it must go back to its queue.
        """
        try:
            check_ask(ask)
            return self.crawl(ask.site, ask.rid) if ask.rid is not None else self.adopt(ask)
        except (ConfigError, PageError) as error:
            log.warning("message refused", extra={"site": str(ask.site)[:80], "details": str(error)[:500]})
            return Outcome.REFUSED
        except BackendError as error:
            if ask.rid is None:
                raise
            self._outage.fail(error)
            return Outcome.BACKEND_FAILED

    def crawl(self, site: str, rid: int) -> str:
        """Carry one page from lease to commit and say how it ended."""
        lease = self._frontier.lease(site, rid)
        if isinstance(lease, Refusal):
            log.debug("no lease", extra={"site": site, "rid": rid, "refusal": lease.name})
            return lease.name.lower()
        self._outage.end()  # a lease is a write: Redis does not only answer
        watch = Stopwatch(GateTurn(self._frontier, lease, lease.turn) if lease.turn else AT_ONCE)
        names_page = page_at_hand.set(lease)
        try:
            return self._work_on(lease, watch)
        except PageError as error:
            return self._fail(lease, error, watch)
        except ConfigError as error:
            return self._fail(lease, Crashed(str(error)), watch)
        except BackendError:
            raise  # whether the commit took effect is not known: the lease decides
        except Exception as error:  # the task's boundary: a bug or a site's function must not cost the request
            log.exception("page crashed")
            return self._fail(lease, Crashed(f"{type(error).__name__}: {error}"), watch)
        finally:
            page_at_hand.reset(names_page)

    def _work_on(self, lease: Lease, watch: Stopwatch) -> str:
        site = self._sites.open(lease.request.site, lease.site_version)
        page = self._fetcher.fetch(lease.request, site.policy, lease.validator, watch.turn)
        watch.fetched(page)
        page = _dated(page, lease, watch)
        self._heed(lease, site)
        parsed, outcome = read_page(site, lease, page), ""
        if page.is_unchanged or parsed.is_cut:
            outcome = f"{'unchanged' if page.is_unchanged else 'cut'}:{lease.request.stage.value}"
        validator = validator_of(lease.request, page, parsed) if site.site.revalidate else ""
        receipt = self._frontier.commit(lease, parsed, outcome, watch.effort(), validator)
        if receipt is None:
            log.warning("lease lost before the commit, the page is somebody else's now")
            return Outcome.LEASE_LOST
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

    def _heed(self, lease: Lease, site: OpenSite) -> None:
        """Tell the gate of the site's Crawl-delay: once a process, when it has changed, and when the gate forgot it."""
        request = lease.request
        asked_s = self._fetcher.crawl_delay_s(request.address, site.policy) or 0.0
        if asked_s > MOST_CRAWL_DELAY_S:
            asked_s = MOST_CRAWL_DELAY_S
        if self._crawl_delays.get(request.site) != asked_s or lease.delay_ms < round(asked_s * 1000):
            self._frontier.sites.heed(request.site, asked_s)
            self._crawl_delays[request.site] = asked_s

    def _fail(self, lease: Lease, error: PageError, watch: Stopwatch) -> str:
        effort = watch.effort(error.status)
        if error.fate is Fate.GONE or ends_walk(lease.request, error):
            return self._gone(lease, effort, is_there_less=error.fate is Fate.GONE)
        # Only a retry asks for the site's terms: a site that cannot be opened must still be able to park its pages.
        is_retry = error.fate is Fate.RETRY
        terms = self._sites.open(lease.request.site, lease.site_version).retry if is_retry else NO_RETRY
        verdict = judge(error, lease.attempt, terms, random.random())  # noqa: S311 (jitter, not a secret)
        log.warning(
            "page failed",
            extra={
                "reason": verdict.reason,
                "details": verdict.details,
                "next": verdict.state.value,
                "delay_ms": verdict.delay_ms,
            },
        )
        if not self._frontier.fail(lease, verdict, effort):
            return Outcome.LEASE_LOST
        if verdict.says_nothing and watch.page is not None:
            self._frontier.quarantine.keep(KeptPage(lease.rid, lease.request, watch.page, verdict.details))
        return verdict.state.value

    def _gone(self, lease: Lease, effort: Effort, *, is_there_less: bool) -> str:
        """A page that does not exist is an answer: remember it of a post, and count the request as done."""
        request = lease.request
        addresses = self._sites.open(request.site, lease.site_version).addresses
        is_post = request.stage is Stage.POST and addresses.is_own_key(request.stage, request.key)
        post = Post(
            request.key, seen_at=lease.token / 1000, url=request.address, state="deleted",
            revision=request.revision or None, is_page=True,
        )  # fmt: skip
        posts = (post,) if is_post else ()
        before = _page_before(request, addresses) if is_there_less else ()
        tail = request.page - 1 if request.stage is Stage.COMMENT else 0
        parsed, is_post_page = Parsed(Items(request.site, posts=posts), before, tail), request.stage is Stage.POST
        receipt = self._frontier.commit(lease, parsed, f"gone:{request.stage.value}", effort, is_gone=is_post_page)
        log.info("page is gone")
        return Outcome.GONE if receipt else Outcome.LEASE_LOST

    def adopt(self, ask: Ask) -> str:
        """Ask for the admission of a request that another program sent."""
        site = self._sites.latest(ask.site)
        admission = self._frontier.admit(ask.site, [request_of(ask, site)])
        return Outcome.ADMITTED if admission.new else Outcome.KNOWN


def _dated(page: Fetched, lease: Lease, watch: Stopwatch) -> Fetched:
    """Return a page with its moments by Redis' clock: a worker whose clock is wrong reads and orders as the others."""
    now = lease.at_ms / 1000 + watch.elapsed_s()
    age = age_s(page.headers, now)
    return page._replace(at_s=moment(page.headers, now), age_s=age, seen_at=lease.token / 1000 - age)


def _page_before(request: Request, addresses: Addresses) -> tuple[Request, ...]:
    """Return the page before a comment page that is gone: what was written since the thread shrank may stand there."""
    if request.stage is not Stage.COMMENT or request.page <= 2 or request.reach.whole:
        return ()
    address = addresses.of(Stage.COMMENT, request.key, request.page - 1)
    return () if address is None else (request._replace(address=address, page=request.page - 1, is_again=True),)


def ends_walk(request: Request, error: PageError) -> bool:
    """Say whether a page that cannot be had is one that the forum does not have for guests.

    So it is with a later page that leads where robots.txt keeps us out, and with a later list page that asks for a
    login: parked, it would hold its board's scan open for good.
    """
    is_wall = isinstance(error, AccessDenied) and not error.status and request.stage is Stage.LIST
    return request.page > 1 and (is_wall or isinstance(error, RedirectRefused))
