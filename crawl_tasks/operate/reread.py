"""The reading of archived pages by today's rules into the database, without a request to the forum."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crawl_tasks.errors import AccessDenied, Challenged, ConfigError, Fate, PageError
from crawl_tasks.fetch.archive_reader import ArchivePage, archive_files, read_archive
from crawl_tasks.fetch.http_client import Limits
from crawl_tasks.fetch.http_status import failure
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Items, Stage
from crawl_tasks.operate.own_database import database_of, store_waiting
from crawl_tasks.registry.site_publisher import LEASE_GRACE_S
from crawl_tasks.registry.site_registry import CompiledSite
from crawl_tasks.store.corrections import Corrections
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.page_reading import gone_items, read_page


@dataclass(frozen=True, slots=True)
class Reread:
    """The result of a reread: pages and files that were read, rows that changed, and the unread pages by cause."""

    pages: int
    files: int
    added: int
    changed: int
    removed: int
    unread: Mapping[tuple[Stage, str], int]


def reread(frontier: Frontier, site: CompiledSite, archive_dir: Path, since: int, database_url: str) -> Reread:
    """Read the archived pages of a site that were fetched since a time, and correct the database.

    Raises:
        ConfigError: the database is another ledger's, or another reread of the site runs.
        StoreError: the database cannot be used, or the last pages of the site are not stored.
    """
    name = site.site.name
    files = archive_files(archive_dir, name)
    until_ms = frontier.clock_ms()
    with (
        database_of(database_url, frontier, name) as store,
        _scratch(archive_dir / f".reread-{name}") as scratch,
    ):
        reading = _ArchiveReading(site, Corrections(store, scratch, name))
        # Lists first: they tell the ids of posts, under which the other pages are stored.
        for stage in Stage:
            for path in files:
                for page in read_archive(path, since):
                    if page.lease.request.stage is stage and page.lease.token <= until_ms:
                        reading.read(page)
        _wait_for_leases(frontier, site, until_ms)
        store_waiting(
            frontier, store, f"{name}: what waits in the outbox is not stored; start a store worker, then again"
        )
        rows = reading.corrections.apply()
    return Reread(reading.pages, len(files), rows.added, rows.changed, rows.removed, reading.unread)


class _ArchiveReading:
    """The reading of archived pages of one site by its rules of today."""

    def __init__(self, site: CompiledSite, corrections: Corrections) -> None:
        self._site = site
        self._limits = Limits(site.policy.max_wire_bytes, site.policy.max_body_bytes)
        self._keys: dict[str, str] = {}
        self.corrections = corrections
        self.pages = 0
        self.unread: Counter[tuple[Stage, str]] = Counter()

    def read(self, archived: ArchivePage) -> None:
        """Read a page, and pass its items on. A page that cannot be read is counted."""
        archived = self._as_of_today(archived)
        page = archived.page
        refusal = None if page.is_unchanged else failure(page.url, page.status, page.headers, page.at_s)
        if refusal is not None and refusal.fate is not Fate.GONE:
            return
        try:
            items = self._items(archived, refusal)
        except (AccessDenied, Challenged):
            # A wall, whatever an earlier rule took for posts there.
            items = Items(self._site.site.name)
        except PageError as error:
            self.unread[archived.lease.request.stage, f"{error.reason}: {error}"] += 1
            return
        self.pages += 1
        self.corrections.add(page.seen_at, items._replace(read_by=self._site.site.version))

    def _items(self, archived: ArchivePage, refusal: PageError | None) -> Items:
        try:
            if refusal is not None:
                raise refusal
            return read_page(self._site, archived.lease, archived.decoded(self._limits)).items
        except PageError as error:
            if error.fate is not Fate.GONE:
                raise
            return gone_items(archived.lease.request, self._site.addresses, archived.page.seen_at)

    def _as_of_today(self, archived: ArchivePage) -> ArchivePage:
        """Return a page with the address and the post's id of today's site file."""
        lease, page = archived
        request = self._site.current(lease.request)
        if page.url == lease.request.address:
            page = page._replace(url=request.address)
        if request.stage is Stage.POST:
            key = self.corrections.post_at(request.address) or request.key
            if key != request.key:
                self._keys[request.key] = key
        if request.stage is not Stage.LIST:
            request = request._replace(key=self._keys.get(request.key, request.key))
        return ArchivePage(lease._replace(request=request), page)


@contextmanager
def _scratch(directory: Path) -> Iterator[Store]:
    """Yield an empty database for the time of a reread.

    Raises:
        ConfigError: another reread of the site runs.
    """
    directory.mkdir(parents=True, exist_ok=True)
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise ConfigError(f"{directory}: another reread works there; wait for its end") from error
    try:
        # Of a reread that was cut off.
        for file in directory.iterdir():
            file.unlink()
        with Store(f"sqlite:///{directory / 'scratch.db'}") as store:
            yield store
        shutil.rmtree(directory)
    finally:
        os.close(lock)


def _wait_for_leases(frontier: Frontier, site: CompiledSite, until_ms: int) -> None:
    """Wait until no page that was archived by then can be committed any more, with values of earlier rules."""
    over_ms = until_ms + (site.site.gate.deadline_s + LEASE_GRACE_S) * 1000
    while Inspector(frontier).count_requests(site.site.name).leased and frontier.clock_ms() < over_ms:
        time.sleep(0.5)
