"""The store task: reads a batch of the outbox, stores the batch in one transaction, acknowledges the pages."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import add, attrgetter
from typing import TYPE_CHECKING

from crawl_tasks.errors import BackendError, ConfigError, DataRejected
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import SITES_OWN, Frontier
from crawl_tasks.frontier.histogram import AGES_S, observed, packed
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.logs import OutageLog
from crawl_tasks.model import Items, Request, StoredChange
from crawl_tasks.worker.hook_runner import HookRunner
from crawl_tasks.worker.sink import Sink
from crawl_tasks.worker.thread_watch import ThreadWatch

if TYPE_CHECKING:
    from crawl_tasks.monitor.traces import Traces

log = logging.getLogger(__name__)

TROUBLE_WAIT_S = 5.0
"""Time without a try after a failure of Redis or the database, in seconds."""

LOOK_EVERY_S = 30.0
"""Time after which a site is compared with its published text again, in seconds."""

NOTE_EVERY_S = 1.0
"""Time between two notes in the database of how far Redis is, in seconds: each is a transaction."""

MOST_BATCHES = 50
"""Batches that one task stores before its end, so that a shutdown never waits long."""


class OutboxConsumer:
    """The consumer of the outbox. A process stores one batch at a time, and several processes share the outbox."""

    def __init__(
        self,
        frontier: Frontier,
        open_store: Callable[[], Sink],
        *,
        batch: int,
        worth: int,
        hooks: HookRunner | None = None,
        clock: Callable[[], float] = time.monotonic,
        traces: Traces | None = None,
    ) -> None:
        self._frontier = frontier
        self._traces = traces
        self._inspector = Inspector(frontier)
        self._admin = Admin(frontier)
        self._open_store = open_store
        self._store: Sink | None = None
        self._batch = batch
        self._worth = worth
        self._clock = clock
        self._taker = f"{socket.gethostname()}:{os.getpid()}"
        self._lock = threading.Lock()
        self._resume_at = 0.0
        self._outage = OutageLog(log, "cannot store, items wait in the outbox", clock=clock)
        self._kept: dict[str, str] = {}
        self._looked: set[str] = set()
        self._look_at = self._note_at = 0.0
        self._drawn = 0
        self._watched_since: dict[str, float] = {}
        self._hooks = hooks or HookRunner()
        self._threads = ThreadWatch(frontier)

    def run(self) -> str:
        """Store batches while the outbox holds enough pages for a transaction, and return the outcome as a text.

        The ticker sends another store task for the rest within half a second. Killed anywhere, the batch is stored
        again, to no effect. While the database fails, items wait in the outbox.

        Raises:
            BackendError: Redis or the database failed. It is logged already.
        """
        # Tasks come again and again while items wait. Without the pause each of them would wait for a database that is
        # away. Without `blocking=False` they would queue up behind the one that stores, and occupy all threads.
        if self._clock() < self._resume_at or not self._lock.acquire(blocking=False):
            return "not now"
        try:
            return f"{self._store_all()} pages"
        except BackendError as error:
            self._resume_at = self._clock() + TROUBLE_WAIT_S
            self._outage.fail(error)
            raise
        finally:
            self._lock.release()

    def _store_all(self) -> int:
        if self._store is None:
            store = self._open_store()
            self._drawn, self._store = store.drawn(self._frontier.ledger), store
        self._store_decisions(self._store)
        pages = 0
        for _ in range(MOST_BATCHES):
            drawn, drawn_at = self._frontier.outbox.draw(self._taker, self._batch, self._drawn), time.monotonic()
            if not drawn.pages:
                break
            self._note_drawn(self._store, drawn.number)
            batch = self._readable(drawn.pages)
            # Before their items: from items alone, without the name of their ledger, no rebuild is possible.
            self._keep_sites(self._store, {items.site for _, items in batch})
            began_s = time.time()
            gains, stored, missed, change_id = self._write(self._store, batch, drawn.acked)
            if self._traces:
                self._traces.stored((items for _, items in batch), began_s, time.time())
            # Before the pages leave the outbox: killed here, the batch is stored and these pages are admitted again.
            self._admit_missed(missed)
            # By Redis' clock: one of this machine that is ahead would make all items seem that much older.
            now = drawn.at_ms / 1000 + time.monotonic() - drawn_at
            acked = self._frontier.outbox.ack(stored, self._statistics(gains, now), self._ages(gains, now), change_id)
            self._threads.note([items for _, items in batch], acked.short, self._clock())
            self._tell_stored(batch, stored, acked.ended)
            pages += len(drawn.pages)
            if acked.untaken < self._worth:
                break
        if pages:
            self._outage.end()
        self._threads.look(self._store.thread_counts, self._kept, self._clock())
        log.info("stored", extra={"pages": pages})
        return pages

    def _store_decisions(self, store: Sink) -> None:
        """Store the decisions of operators that the database lacks, with the sites and the name of their ledger."""
        while decisions := self._admin.decisions.unstored():
            self._keep_sites(store, {decision.site for decision in decisions})
            store.decide(decisions, self._frontier.ledger)
            self._admin.decisions.ack(decisions)

    def _note_drawn(self, store: Sink, number: int) -> None:
        """Note in the database how far Redis is, by which all workers notice one that comes back older."""
        self._drawn = number
        if self._clock() >= self._note_at:
            store.note_drawn(self._frontier.ledger, number)
            self._note_at = self._clock() + NOTE_EVERY_S

    def _statistics(self, gains: Iterable[StoredChange], now: float) -> dict[str, dict[str, int]]:
        """Return the counters of a batch by site, with the freshness of items posted since the site is watched."""
        counted: dict[str, dict[str, int]] = {}
        for gain in gains:
            stats = counted.setdefault(gain.site, {})
            changes = {"new": gain.new, "filled": gain.filled, "changed": gain.changed, "unchanged": gain.unchanged}
            changes["restored"] = gain.restored
            stats.update({f"{gain.kind}:{change}": count for change, count in changes.items() if count})
            # The age of an older item tells when the crawl began, and nothing about its speed.
            since = self._since(gain.site)
            ages = [max(0.0, now - posted) for posted in filter(since.__le__, gain.posted)]
            for name, number in observed("fresh", AGES_S, ages).items():
                stats[name] = stats.get(name, 0) + number
        return counted

    def _ages(self, gains: Iterable[StoredChange], now: float) -> dict[str, dict[str, list[int]]]:
        """Return the ages of stored items by site and board, of items written since the site is watched."""
        counted: dict[str, dict[str, list[int]]] = {}
        for gain in gains:
            since = self._since(gain.site)
            for board, posted in gain.by_board.items():
                ages = [max(0.0, now - at) for at in posted if at >= since]
                if ages:
                    of_site, more = counted.setdefault(gain.site, {}), packed(AGES_S, ages)
                    of_site[board] = list(map(add, of_site.get(board, [0] * len(more)), more))
        return counted

    def _keep_sites(self, store: Sink, names: set[str]) -> None:
        """Keep in the database the data of a rebuild: the published text of sites, and the name of their ledger."""
        if self._clock() >= self._look_at:
            self._looked, self._look_at = set(), self._clock() + LOOK_EVERY_S
        for name in names - self._looked:
            text, epoch = self._frontier.sites.published(name), self._admin.restore.epoch()
            # Another process may have kept another version since, so that the own memory alone proves nothing.
            is_kept = self._kept.get(name) == text and store.kept_site(name) == text
            if text is not None and epoch is not None and not is_kept:
                try:
                    is_new = store.keep(name, text, epoch, self._frontier.ledger)
                except ConfigError as error:
                    # Published where the database cannot be reached. Its items are the same rows, and are kept.
                    log.error("another installation's site", extra={"error": str(error)})
                    is_new = False
                if is_new and self._inspector.count_requests(name).stats.get("comment:new"):
                    log.error("the database is new, but items of this ledger are in another one", extra={"site": name})
                self._kept[name] = text
            self._looked.add(name)

    def _tell_stored(
        self, batch: Sequence[tuple[bytes, Items]], stored: Mapping[str, Sequence[bytes]], ended: Iterable[str]
    ) -> None:
        """Tell the hooks of the sites which items the store has, and which crawls have ended by that."""
        for page_id, items in batch:
            hooks = self._hooks.read(items.site, self._kept.get(items.site, ""), "item_stored")
            if hooks is not None and page_id in stored.get(items.site, ()):
                for item in (*items.posts, *items.comments):
                    self._hooks.tell(items.site, hooks, "item_stored", item=item)
        for site in ended:
            if hooks := self._hooks.read(site, self._kept.get(site, ""), "site_finished"):
                self._hooks.tell(site, hooks, "site_finished", reason="idle")

    def _since(self, site: str) -> float:
        if site not in self._watched_since:
            self._watched_since[site] = self._frontier.sites.watched_since_ms(site) / 1000
        return self._watched_since[site]

    def _readable(self, drawn: list[tuple[bytes, bytes]]) -> list[tuple[bytes, Items]]:
        """Return the readable items of a batch. Unreadable ones, as of a later version, are rejected."""
        batch = []
        for page_id, text in drawn:
            try:
                batch.append((page_id, read_items(text)))
            except BackendError as error:
                self._reject(page_id, error)
        return batch

    def _write(
        self, store: Sink, batch: Sequence[tuple[bytes, Items]], acked: int
    ) -> tuple[list[StoredChange], dict[str, list[bytes]], list[Request], int]:
        """Write a batch. If the database refuses a value in the batch, write all pages but those with such a value.

        Returns:
            The gains, the ids of the stored pages by site, the pages to fetch again, and the last change.
        """
        try:
            result = store.write([items for _, items in batch], self._frontier.ledger, acked)
        except DataRejected as error:
            if len(batch) == 1:
                self._reject(batch[0][0], error)
                return [], {}, [], 0
            # The error of a database names no page. Bisection finds one bad page of 500 in 9 rounds.
            middle = len(batch) // 2
            gains, ids, missed, before = self._write(store, batch[:middle], acked)
            more_gains, more_ids, more_missed, after = self._write(store, batch[middle:], acked)
            for site, page_ids in more_ids.items():
                ids.setdefault(site, []).extend(page_ids)
            return gains + more_gains, ids, missed + more_missed, max(before, after)
        stored: dict[str, list[bytes]] = {}
        for page_id, items in batch:
            stored.setdefault(items.site, []).append(page_id)
        return list(result.gains), stored, list(result.asked), result.change_id

    def _admit_missed(self, requests: Iterable[Request]) -> None:
        """Admit the pages whose items full passes missed, as far as the backlog has room."""
        # Pages beyond the limit are dropped, because the next full pass misses the same items and names them again.
        for (site, wait_s), group in groupby(requests, key=attrgetter("site", "wait_s")):
            try:
                self._frontier.admit(site, group, threshold=SITES_OWN, wait_s=wait_s)
            except ConfigError:
                # The site was removed meanwhile. Its items are stored, and the batch must not fail for it.
                log.warning("not asked for, the site is not published", extra={"site": site})

    def _reject(self, page_id: bytes, error: BackendError) -> None:
        self._admin.failed.items.put(page_id, str(error))
        log.error(
            "items rejected; see: crawl-tasks failed list --kind item",
            extra={"id": page_id.decode(), "error": str(error)[:500]},
        )
