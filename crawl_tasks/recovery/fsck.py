"""The deep check (fsck): compares guard, ledger, queues and database, and mends the flaws that need no rebuild.

A running crawl moves between two reads at different places. One script sees one place at one instant. Of comparisons
that take several scripts, only a flaw that a second look finds too is a finding.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.audit import Location, Violation, places
from crawl_tasks.frontier.entry import guard_address, read_entry
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import FULL_REACH, Request, Stage
from crawl_tasks.monitor.problems.kinds import Problem
from crawl_tasks.monitor.problems.ledger_kinds import FLAW_KINDS, OTHER_COUNTS, READ_BEFORE, UNREAD_REVISIONS
from crawl_tasks.recovery.ages import LedgerState, loss_of
from crawl_tasks.recovery.rebuild import CHUNK
from crawl_tasks.recovery.stored_pages import unstored_pages
from crawl_tasks.registry.site_publisher import read_or_none
from crawl_tasks.sites.old_rules import OldRules
from crawl_tasks.store.queries import KnownRequests, other_counts, read_before, readers, remembered, unread_revisions
from crawl_tasks.store.upsert import Store

SECOND_LOOK_S = 1.0
"""Time between the two looks, in seconds: longer than a message or a batch is under way."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A flaw of a site. The site is empty for a flaw of the whole installation."""

    site: str
    location: Location

    @property
    def problem(self) -> Problem:
        """Return the flaw as a problem with text and remedy."""
        return FLAW_KINDS[self.location.flaw].problem(self.site, where=self.location.where)

    def __str__(self) -> str:
        """Return the subject, the text and the remedy as one line."""
        problem = self.problem
        return f"{problem.summary}: {'mended' if self.location.is_mended else problem.remedy}"


def read_by_old_rules(frontier: Frontier, store: Store, site: str) -> Problem | None:
    """Return the problem of threads that earlier versions of a site file read with other rules, None without any."""
    other = OldRules.read(frontier.sites.old_rules(site)).other
    count, threads = read_before(store, site, other) if other else (0, [])
    if not count:
        return None
    still = [version for version in readers(store, site) if version in other]
    command = " ".join(["crawl-tasks seed", site, *(f"--read-by {version}" for version in still)])
    return READ_BEFORE.problem(site, count=count, threads=", ".join(threads), command=command)


Identity = tuple[Stage, str, int, str]


def _identity(request: Request) -> Identity:
    return request.stage, request.key, request.page, request.revision


class Check:
    """The deep check of one cell, of all its sites or of those in `sites`. Sites `elsewhere` are not missing here."""

    def __init__(
        self, frontier: Frontier, store: Store | None, sites: Sequence[str] = (), elsewhere: Collection[str] = ()
    ) -> None:
        self._elsewhere = elsewhere
        self._frontier = frontier
        self._admin = Admin(frontier)
        self._store = store
        self._sites = sites
        self._unstored_pages: dict[str, set[tuple[Stage, int]]] = {}

    def run(self, *, mend: bool = False) -> list[Finding]:
        """Return the findings, the mended ones first."""
        mended = [finding for finding in self._look(mend=True) if finding.location.is_mended] if mend else []
        first = list(dict.fromkeys(self._look(mend=False)))
        if not first:
            return mended
        time.sleep(SECOND_LOOK_S)
        again = set(self._look(mend=False))
        return mended + [finding for finding in first if finding in again]

    def disagreements(self) -> Iterator[Problem]:
        """Yield the disagreements of lists and threads at sites where nothing is open or unstored."""
        store = self._store
        if store is None or self._frontier.outbox.size() > 0:
            return
        for site in self._sites or self._frontier.sites.names():
            if before := read_by_old_rules(self._frontier, store, site):
                yield before
            if Inspector(self._frontier).count_requests(site).open:
                continue
            for kind, count in ((UNREAD_REVISIONS, unread_revisions), (OTHER_COUNTS, other_counts)):
                if number := count(store, site):
                    yield kind.problem(site, count=number)

    def _look(self, *, mend: bool) -> Iterator[Finding]:
        store, audit = self._store, self._admin.audit
        if store is not None and (loss := loss_of(self._frontier, store)):
            # Every further flaw would follow from this one.
            yield self._lost(store, loss)
            return
        sites = self._frontier.sites.names()
        kept_sites = store.kept_sites(self._frontier.ledger) if store is not None else {}
        for site in sorted(kept_sites.keys() - {*sites, *self._elsewhere}):
            yield Finding(site, Location(Violation.BLANK_SITE, "not published"))
        for site in self._sites or sites:
            yield from (Finding(site, location) for location in self._look_at(site, mend=mend))
        for of in ("unacked", "claims"):
            for location in audit.pairs(of, mend=mend):
                yield Finding("", replace(location, where=f"{of} {location.where}"))
        yield from (Finding(site, location) for site, location in audit.items(self._sites or sites))
        if store is not None:
            yield from self._ahead(store, mend=mend)

    def _lost(self, store: Store, loss: LedgerState) -> Finding:
        flaw, where = Violation.OTHER_LEDGER if loss.halts else Violation.OLDER_LEDGER, str(loss)
        if loss is LedgerState.LOST:
            where = f"{self._admin.restore.epoch() or 'none'}, not {store.epoch(self._frontier.ledger)}"
        return Finding("", Location(flaw, where))

    def _ahead(self, store: Store, *, mend: bool) -> Iterator[Finding]:
        now = self._frontier.clock_ms() / 1000
        tables = store.ahead(now)
        if tables and mend:
            store.bring_back(now)
        for site, table in tables:
            yield Finding(site, Location(Violation.FUTURE, table, is_mended=mend))

    def _look_at(self, site: str, *, mend: bool) -> Iterator[Location]:
        wanted = self._unstored(site)
        listed: Counter[int] = Counter()
        open_pages = set[int]()
        for place in places():
            # Piece by piece: a script over a million entries would stop Redis for everybody.
            for piece in self._admin.audit.place(site, place, mend=mend):
                yield from piece.spots
                for entry in piece.entries:
                    rid, request = _read(site, entry)
                    listed[rid] += 1
                    if request is None:
                        yield Location(Violation.UNREADABLE, str(rid))
                    else:
                        wanted.pop(_identity(request), None)
                        open_pages.add(guard_address(request.stage, request.key, request.page))
        yield from (Location(Violation.TWICE, str(rid)) for rid, times in listed.items() if times > 1)
        yield from self._admin.audit.sums(site, mend=mend)
        yield from self._unknown_boards(site)
        yield from self._admin.audit.guard(site)
        yield from (Location(Violation.UNLISTED, f"{request.stage} {request.address}") for request in wanted.values())
        yield from self._unguarded(site)
        yield from self._never_fetched(site, open_pages)

    def _unknown_boards(self, site: str) -> Iterator[Location]:
        text = self._frontier.sites.published(site)
        known = read_or_none(text) if text else None
        if text and known is None:
            yield Location(Violation.BLANK_SITE, "what is published of its file is damaged")
        boards = {board.id for board in known.boards} if known else set[str]()
        yield from (Location(Violation.BLANK_BOARD, board) for board in sorted(boards - self._admin.audit.boards(site)))

    def _unstored(self, site: str) -> dict[Identity, Request]:
        """Return the open requests by the database, none while the outbox holds pages: the database is behind then."""
        if self._store is None or self._frontier.outbox.size() > 0:
            return {}
        began_ms = self._admin.decisions.began_ms(site)
        return {
            _identity(page.request): page.request for page in remembered(self._store, site) if page.is_open(began_ms)
        }

    def _unguarded(self, site: str) -> Iterator[Location]:
        if self._store is None:
            return
        since_ms = max(self._admin.decisions.flushed_ms(site), self._admin.decisions.began_ms(site))
        pages = (page.request for page in remembered(self._store, site) if _went_through_guard(page, since_ms))
        while chunk := list(islice(pages, CHUNK)):
            for request in self._admin.audit.unknown(site, chunk):
                yield Location(Violation.UNGUARDED, f"{request.stage} {request.address}")

    def _never_fetched(self, site: str, open_pages: Collection[int]) -> Iterator[Location]:
        if self._store is None:
            return
        pages = unstored_pages(self._frontier, self._store, site, open_pages)
        # The same pages as at the look before: of a running crawl there may be others each time.
        pages &= self._unstored_pages.setdefault(site, pages)
        for stage in sorted({stage for stage, _ in pages}):
            yield Location(Violation.UNSTORED_PAGE, stage)


def _read(site: str, entry: bytes) -> tuple[int, Request | None]:
    try:
        rid, _, request = read_entry(site, entry)
    except (LookupError, TypeError, ValueError):
        # The audit script has checked already that an entry begins with a number.
        return int(entry.split(b" ", 1)[0]), None
    return rid, request


def _went_through_guard(page: KnownRequests, since_ms: int) -> bool:
    """Return whether the guard, which began at `since_ms`, must know a page that the database knows."""
    # List pages and full passes have another guard, or none.
    request = page.request
    return page.wanted_at_ms > since_ms and request.stage is not Stage.LIST and request.reach == FULL_REACH
