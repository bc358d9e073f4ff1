"""The rebuild of a lost ledger from the database. Afterwards the crawl goes on where it was.

The database knows of every page when it was last admitted and last done, in the same transaction as the items. Pages
that were admitted and not done become ready. Pages that were done are known to the guard. Pages whose items were not
stored when the ledger was lost are fetched again.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil

from crawl_tasks.errors import BackendError, ConfigError, RedisUnreachable, StoreError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.admin.restore import Scan, scan_of
from crawl_tasks.frontier.cells import Cells, home_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Request, Stage
from crawl_tasks.recovery.ages import loss_of, settle_ages
from crawl_tasks.registry.site_publisher import publish_site, read_or_none
from crawl_tasks.sites.schema import TELLS_ALL, Site
from crawl_tasks.sites.site_json import read_site
from crawl_tasks.store.queries import KnownRequests, posting_hours, read_boards, remembered, short_threads
from crawl_tasks.store.upsert import Store

CHUNK = 150
"""Pages that one call restores."""

RIGHT_MS = 60_000
"""Lifetime of the recovery lock, in milliseconds. A chunk takes milliseconds, and a dead process holds the lock."""

PAST_H, HOUR_MS = 168, 3_600_000
"""The hours of the past from which boards learn their rates of news again. Posts are counted by the hour."""

OUTBOX_WAIT_S = 75.0
"""Time for the outbox to empty, in seconds: longer than a dead store worker keeps its pages (60 s)."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The counts of a rebuilt site: pages to fetch, pages known, boards that keep their schedule."""

    site: str
    ready: int
    known: int
    boards: int


def known_sites(frontier: Frontier, store: Store, cells: Cells | None = None) -> dict[str, Site]:
    """Return the sites of a cell: those published there, and those of the database that belong there and no cell has.

    A site that an operator removed is among them only if it was published again.

    Raises:
        RedisUnreachable: a cell does not answer, and may hold such a site.
    """
    cells = cells or Cells([frontier])
    for cell, error in cells.down.items():
        raise RedisUnreachable(
            f"cell {cell} does not answer, and its sites must not be begun in another one; bring it back, or name an"
            f" empty Redis in its place in CRAWL_REDIS_URL: {error}"
        ) from error
    removals = [decision for decision in store.decisions(frontier.ledger) if decision.is_removal]
    began_ms, since_ms = Admin(frontier).decisions.began_ms, frontier.sites.watched_since_ms
    # A Redis that is older than the database may have a site that was removed since, and lacks the decision.
    removed = {
        removal.site for removal in removals if max(began_ms(removal.site), since_ms(removal.site)) <= removal.at_ms
    }
    # A recovery that was cut off is finished in the cell where it began.
    begun = {other.cell: Admin(other).restore.half_built() for other in cells}
    elsewhere = set[str]()
    for other in cells:
        elsewhere.update(other.sites.names(), other.sites.leaving(), begun[other.cell] if other is not frontier else ())
    kept = {
        name: text
        for name, text in store.kept_sites(frontier.ledger).items()
        if name not in removed | elsewhere
        and (name in begun[frontier.cell] or home_of(name, cells.names) == frontier.cell)
    }
    here = {name for name in frontier.sites.names() if name not in removed}
    published = {name: frontier.sites.published(name) or "" for name in here}
    # Of a site whose published file is damaged the database has the one before.
    texts = {name: text for name, text in published.items() if name not in kept or read_or_none(text)}
    return {name: read_site(text) for name, text in sorted((kept | texts).items())}


class Rebuild:
    """The rebuild of ledgers. Ended half-way, a rebuild leaves sites paused and `is_lost` true: run again."""

    def __init__(
        self,
        frontier: Frontier,
        store: Store,
        contact: str | None,
        store_outbox: Callable[[], str],
        cells: Cells | None = None,
    ) -> None:
        """Begin with one of the `cells`, by default the only one. `store_outbox` runs the store task once."""
        self._frontier = frontier
        self._cells = cells or Cells([frontier])
        self._admin = Admin(frontier)
        self._store = store
        self._contact = contact
        self._store_outbox = store_outbox
        self._name = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"

    def run_if_lost(self, report: Callable[[Rebuilt], None]) -> bool:
        """Rebuild all known sites if Redis and database are apart, as `loss_of` says. Return whether they were.

        Of a cell that holds its ledger only the sites are rebuilt that were in another cell, which has lost them.

        Raises:
            ConfigError: a site cannot be published, or another process rebuilds.
            StoreError: the outbox cannot be stored. Nothing was restored yet.
        """
        with self._alone():
            loss = loss_of(self._frontier, self._store)
            sites = known_sites(self._frontier, self._store, self._cells) if loss or len(self._cells.names) > 1 else {}
            if not loss:
                sites = {name: sites[name] for name in sites.keys() - set(self._frontier.sites.names())}
            if loss or sites:
                self._run(sites, report, walk=loss.is_of_database or self._admin.restore.ages().walks)
        return bool(loss)

    def run(self, sites: Mapping[str, Site], report: Callable[[Rebuilt], None], *, walk: bool = False) -> None:
        """Wipe the sites in Redis, store the rest of the outbox, and restore the requests that the database knows.

        With `walk`, the next scan of each board begins at once and goes to its last page. Deleted keys may have
        held items, and then there are pages that neither the database nor a page in the database names.

        Raises:
            ConfigError: a site cannot be published, or another process rebuilds.
            StoreError: the outbox cannot be stored. Nothing was restored yet.
        """
        with self._alone():
            self._run(sites, report, walk=walk)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._lock()
        try:
            yield
        finally:
            self._admin.restore.lock(self._name, 0)

    def _lock(self) -> None:
        other = self._admin.restore.lock(self._name, RIGHT_MS)
        if other:
            raise ConfigError(f"{other} rebuilds the ledger already; wait for its end, then look: crawl-tasks status")

    def _run(self, sites: Mapping[str, Site], report: Callable[[Rebuilt], None], *, walk: bool) -> None:
        # The order makes an end half-way harmless: `wipe` pauses the sites first, so that no worker takes a lease from
        # a half-built ledger, and the epoch comes last, so that the ledger counts as lost until all of it is there.
        # Operators' decisions come before everything else, so that a rebuild that ends half-way has them already.
        elsewhere = set[str]()
        for other in self._cells:
            elsewhere.update(other.sites.names() if other is not self._frontier else ())
        self._admin.decisions.restore(
            decision
            for decision in self._store.decisions(self._frontier.ledger)
            if decision.site in sites
            or (decision.site not in elsewhere and home_of(decision.site, self._cells.names) == self._frontier.cell)
        )
        self._keep_texts(sites)
        for name in sites:
            self._admin.restore.wipe(name, walks=walk)
        self._empty_outbox()
        # Rows from the future, from a clock years ahead, would push all new tokens behind that clock.
        self._store.bring_back(self._frontier.clock_ms() / 1000)
        for name, site in sites.items():
            report(self._rebuild(site, walk=walk))
            if walk:
                self._admin.board_schedule.change(name, [board.id for board in site.boards], Act.WALK)
            self._frontier.sites.apply_decision(name)
        epoch = self._admin.restore.epoch()
        if epoch is None and len(self._cells.names) == 1:
            raise ConfigError("no site is known to rebuild; write config/sites/NAME.yaml, then run it again")
        self._store.renew_epoch(epoch, self._frontier.ledger)
        settle_ages(self._frontier, self._store)
        self._admin.restore.go_on()

    def _keep_texts(self, sites: Mapping[str, Site]) -> None:
        """Keep the published texts in the database: behind the wipe a new or an older one would not know the sites."""
        epoch = self._admin.restore.epoch() or self._store.epoch(self._frontier.ledger) or ""
        for name in sites:
            text = self._frontier.sites.published(name)
            if text is not None and text != self._store.kept_site(name):
                self._store.keep(name, text, epoch, self._frontier.ledger)

    def _empty_outbox(self) -> None:
        deadline = time.monotonic() + OUTBOX_WAIT_S
        while not self._is_outbox_empty():
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{self._frontier.outbox.size()} pages wait in the outbox and are not stored; see"
                    " `crawl-tasks check`, then run `crawl-tasks recover` again"
                )
            # Renews the lock, which would run out within the wait.
            self._lock()
            time.sleep(0.5)

    def _is_outbox_empty(self) -> bool:
        try:
            self._store_outbox()
        except BackendError:
            return False
        return self._frontier.outbox.size() == 0

    def _rebuild(self, site: Site, *, walk: bool) -> Rebuilt:
        publish_site(self._frontier, site, self._contact)
        newest_ms = ceil(self._store.newest(site.name) * 1000)
        # Before the first lease, which cannot be given while the site is paused: with a token below the newest
        # observation in the database, the store would take every new observation for the older one.
        ready, known = self._admin.restore.restore_requests(site.name, (), newest_ms)
        scans: dict[str, tuple[int, int]] = {}
        flushed_ms, began_ms = self._admin.decisions.flushed_ms(site.name), self._admin.decisions.began_ms(site.name)
        # Of a thread that had grown since a copy of the database, workers may have read the tail alone before anyone
        # noticed that the copy was brought back.
        short = short_threads(self._store, site.name) if walk else set()
        pages = (
            replace(page, may_be_open=True) if page.request.stage is Stage.POST and page.request.key in short else page
            for page in remembered(self._store, site.name)
            if page.last_at_ms >= began_ms and (page.may_be_open or page.done_at_ms > flushed_ms)
        )
        while chunk := list(islice(pages, CHUNK)):
            self._lock()
            opened, seen = self._admin.restore.restore_requests(site.name, map(_as_restored, chunk))
            ready, known = ready + opened, known + seen
            for page in chunk:
                _note_scan(scans, page)
        past = self._past_of(site)
        # A list page that was dropped, or gone, is done as well, but its board has not begun.
        unread = {board.id for board in site.boards if board.kind == "list"} - read_boards(self._store, site.name)
        kept = [
            board
            for board, (scan, at) in scans.items()
            if at
            and board not in unread
            and self._admin.restore.restore_board(site.name, board, scan, at, *_learned(past, board, at))
        ]
        return Rebuilt(site.name, ready, known, len(kept))

    def _past_of(self, site: Site) -> dict[str, Counter[int]]:
        """Return the number of new items of each board in the last week, by hour. A page of all news shows all."""
        self._lock()
        now_s = self._frontier.clock_ms() // 1000
        past = posting_hours(self._store, site.name, now_s - PAST_H * 3600, now_s)
        everywhere = sum(past.values(), Counter[int]())
        return past | {board.id: everywhere for board in site.own_boards if board.kind in TELLS_ALL and everywhere}


def _learned(past: Mapping[str, Counter[int]], board: str, at_ms: int) -> tuple[Scan | None, list[int]]:
    """Return the history that a board's last scan would have learned as its first one, None without times."""
    if not past:
        return None, []
    hours = past.get(board, Counter())
    ages = [max(0.0, at_ms / HOUR_MS - hour / 3600 - 0.5) for hour, count in hours.items() for _ in range(count)]
    by_hour = [0] * 24
    for hour, count in hours.items():
        by_hour[hour // 3600 % 24] += count
    # A board on which nothing was posted was watched as long as the others.
    return scan_of(ages)._replace(oldest_h=PAST_H), by_hour


def _as_restored(page: KnownRequests) -> tuple[Request, bool]:
    """Return a page as the ledger gets it back: whether it is open, hidden if it is gone."""
    request = page.request
    # No tail is restored, so that all comment pages of a thread that changes must be asked for, at any revision.
    if request.stage is Stage.COMMENT and not page.may_be_open:
        request = request._replace(revision="")
    return request._replace(is_hidden=page.is_gone), page.may_be_open


def _note_scan(scans: dict[str, tuple[int, int]], page: KnownRequests) -> None:
    """Note of each board the highest scan number, and when the first page was last fetched."""
    request = page.request
    if request.stage is not Stage.LIST:
        return
    scan, at = scans.get(request.key, (0, 0))
    # Scans by `seed`, `run` and start entries are named like run1700000000000 in place of a number, and do not count.
    number = int(request.revision) if request.revision.isdecimal() and len(request.revision) < 10 else 0
    scans[request.key] = (max(scan, number), max(at, page.done_at_ms if request.page == 1 else 0))
