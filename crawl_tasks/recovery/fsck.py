"""Beside the flow: guard, ledger, queues and database are held against each other; what can be mended is mended.

A running crawl moves between two looks at different places. What one script sees it sees at one instant; of what takes
more than one, only that is a finding which a second look finds too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from crawl_tasks.frontier.audit import Flaw, Spot, places
from crawl_tasks.frontier.entry import read_entry
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import FULL_REACH, Request, Stage
from crawl_tasks.recovery.ledgers import is_lost
from crawl_tasks.recovery.rebuild import CHUNK
from crawl_tasks.sites.published import read_site
from crawl_tasks.store.known import Remembered, remembered
from crawl_tasks.store.upsert import Store

SECOND_LOOK_S = 1.0
"""Longer than a message or a batch is on its way."""

_REBUILD = "crawl-tasks recover --force"
_MEND = "crawl-tasks fsck --mend"

EXPLAINED: dict[Flaw, tuple[str, str]] = {
    Flaw.UNREADABLE: ("an entry that is no request", _REBUILD),
    Flaw.TWICE: ("a request in two places", _MEND),
    Flaw.UNHELD: ("a request that is open, but neither released nor leased", _MEND),
    Flaw.ENTRYLESS: ("a number that is released or leased, but has no entry", _MEND),
    Flaw.UNREAD_LIST: ("a ready list that nothing is taken from", _MEND),
    Flaw.LOST: ("requests that were admitted and are nowhere", _REBUILD),
    Flaw.UNCOUNTED: ("requests that were never counted as admitted", _MEND),
    Flaw.SCAN: ("a board whose open list pages are miscounted", _MEND),
    Flaw.BLANK_BOARD: ("a board without terms", "crawl-tasks sites check"),
    Flaw.UNSCHEDULED: ("a board that no scan is planned for", _MEND),
    Flaw.UNATTENDED: ("a site with open requests that nobody looks after", _MEND),
    Flaw.GUARD: ("a table of the guard with fewer or more fingerprints than it says", _REBUILD),
    Flaw.STRANDED: ("a message or claim that is never given out again", _MEND),
    Flaw.EMPTY: ("the time of a message or claim that is gone", _MEND),
    Flaw.OUTBOX: ("a page in the outbox that cannot be read; its items are lost", "crawl-tasks refused list"),
    Flaw.UNSTORED: ("items that were deleted before they were stored", _REBUILD),
    Flaw.BLANK_SITE: ("a site whose terms are gone", _REBUILD),
    Flaw.OTHER_LEDGER: ("Redis holds another ledger than the database was filled from", "crawl-tasks recover"),
    Flaw.UNGUARDED: ("a stored page that the guard does not know: it would be fetched again", _REBUILD),
    Flaw.UNLISTED: ("a page that the database waits for and the ledger does not know", _REBUILD),
    Flaw.FUTURE: ("rows from the future, which nothing seen from now on would replace", _MEND),
}
"""What each flaw is, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A flaw of a site ('' when it is of none)."""

    site: str
    spot: Spot

    def __str__(self) -> str:
        """Say what, where, and what to do."""
        what, remedy = EXPLAINED[self.spot.flaw]
        done = "mended" if self.spot.is_mended else remedy
        return f"{self.site or 'all sites'}: {what} ({self.spot.where}): {done}"


Identity = tuple[Stage, str, int, str]


def _identity(request: Request) -> Identity:
    return request.stage, request.key, request.page, request.revision


class Check:
    """Looks through one installation."""

    def __init__(self, frontier: Frontier, store: Store | None) -> None:
        self._frontier = frontier
        self._store = store

    def run(self, *, mend: bool = False) -> list[Finding]:
        """Give what is wrong, and what was mended first."""
        mended = [found for found in self._look(mend=True) if found.spot.is_mended] if mend else []
        first = list(dict.fromkeys(self._look(mend=False)))
        if not first:
            return mended
        time.sleep(SECOND_LOOK_S)
        again = set(self._look(mend=False))
        return mended + [found for found in first if found in again]

    def _look(self, *, mend: bool) -> Iterator[Finding]:
        store, audit = self._store, self._frontier.audit
        if store is not None and is_lost(self._frontier, store):
            yield Finding(
                "", Spot(Flaw.OTHER_LEDGER, f"{self._frontier.memory.epoch() or 'none'}, not {store.epoch()}")
            )
            return  # all else follows from it
        sites = self._frontier.sites.names()
        for site in sorted(store.kept_sites().keys() - set(sites)) if store else ():
            yield Finding(site, Spot(Flaw.BLANK_SITE, "not published"))
        for site in sites:
            for spot in self._look_at(site, mend=mend):
                yield Finding(site, spot)
        for of in ("unacked", "claims"):
            for spot in audit.pairs(of, mend=mend):
                yield Finding("", replace(spot, where=f"{of} {spot.where}"))
        for spot in (*audit.outbox(), *audit.items()):
            yield Finding("", spot)
        if store is not None:
            yield from self._ahead(store, mend=mend)

    def _ahead(self, store: Store, *, mend: bool) -> Iterator[Finding]:
        now = self._frontier.clock_ms() / 1000
        found = store.ahead(now)
        if found and mend:
            store.bring_back(now)
        for site, table in found:
            yield Finding(site, Spot(Flaw.FUTURE, table, is_mended=mend))

    def _look_at(self, site: str, *, mend: bool) -> Iterator[Spot]:
        wanted = self._unstored(site)
        listed: Counter[int] = Counter()
        for place in places():
            for piece in self._frontier.audit.place(site, place, mend=mend):
                yield from piece.spots
                for entry in piece.entries:
                    rid, request = _read(site, entry)
                    listed[rid] += 1
                    if request is None:
                        yield Spot(Flaw.UNREADABLE, str(rid))
                    else:
                        wanted.pop(_identity(request), None)
        yield from (Spot(Flaw.TWICE, str(rid)) for rid, times in listed.items() if times > 1)
        yield from self._frontier.audit.sums(site, mend=mend)
        yield from self._unknown_boards(site)
        yield from self._frontier.audit.guard(site)
        yield from (Spot(Flaw.UNLISTED, f"{request.stage} {request.address}") for request in wanted.values())
        yield from self._unguarded(site)

    def _unknown_boards(self, site: str) -> Iterator[Spot]:
        text = self._frontier.sites.published(site)
        boards = {board.id for board in read_site(text).boards} if text else set[str]()
        yield from (Spot(Flaw.BLANK_BOARD, board) for board in sorted(boards - self._frontier.audit.boards(site)))

    def _unstored(self, site: str) -> dict[Identity, Request]:
        """Give what the database waits for, as far as it can say: while the outbox holds pages, it is behind."""
        if self._store is None or self._frontier.outbox.size() > 0:
            return {}
        return {
            _identity(page.request): page.request
            for page in remembered(self._store, site)
            if page.is_open and page.wanted_at_ms > page.done_at_ms
        }

    def _unguarded(self, site: str) -> Iterator[Spot]:
        if self._store is None:
            return
        pages = (page.request for page in remembered(self._store, site) if _went_through_guard(page))
        while chunk := list(islice(pages, CHUNK)):
            for request in self._frontier.audit.unknown(site, chunk):
                yield Spot(Flaw.UNGUARDED, f"{request.stage} {request.address}")


def _read(site: str, entry: bytes) -> tuple[int, Request | None]:
    try:
        rid, _, request = read_entry(site, entry)
    except (LookupError, TypeError, ValueError):  # the script has seen that it begins with a number
        return int(entry.split(b" ", 1)[0]), None
    return rid, request


def _went_through_guard(page: Remembered) -> bool:
    """Leave out what passes another guard, or none: first list pages, and full passes."""
    request = page.request
    return page.wanted_at_ms > 0 and request.stage is not Stage.LIST and request.reach == FULL_REACH
