"""`crawl-tasks reread`: archived pages read by today's rules into the database, without a request to the forum."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from crawl_tasks.cli.backend import chosen_sites, open_cells
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.selection_options import SinceOption
from crawl_tasks.cli.site_removal import database_of, store_waiting
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import AccessDenied, Challenged, ConfigError, Fate, PageError
from crawl_tasks.fetch.archive_reader import ArchivePage, archive_files, read_archive
from crawl_tasks.fetch.http_client import Limits
from crawl_tasks.fetch.http_status import failure
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.logs import printable
from crawl_tasks.model import Items, Stage
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.registry.site_publisher import LEASE_GRACE_S
from crawl_tasks.registry.site_registry import CompiledSite, SiteRegistry
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.item_steps import read_steps
from crawl_tasks.store.corrections import Corrections
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.page_reading import gone_items, read_page
from crawl_tasks.worker.runtime import grants_of


@click.command(
    epilog=examples(
        "crawl-tasks sites check demo && crawl-tasks reread demo     # after a rule was mended",
        "crawl-tasks reread demo --since 7d",
    )
)
@click.argument("name")
@click.option("--since", type=SinceOption(), help="Read only pages that were fetched since then, as 7d or 2026-01-31.")
@click.pass_context
def command(ctx: click.Context, name: str, since: int | None) -> None:
    """Read the archived pages of site NAME by its published rules, and correct the database.

    Posts, comments, versions and boards become as if these rules had read the pages from the beginning.
    Nothing is fetched, and no link is followed. A page that these rules cannot read changes nothing. You may run the
    command beside the crawl, and repeat it after an interruption. The exit code is 1 when a page could not be read.
    """
    settings = load_settings()
    frontier = chosen_sites(open_cells(settings), (name,))[name]
    registry = SiteRegistry(frontier, settings.contact, read_steps(settings.items), grants_of(settings).read)
    site = registry.latest(name)
    files = archive_files(settings.archive_dir, name)
    until_ms = frontier.clock_ms()
    with (
        database_of(settings, frontier, name) as store,
        _scratch(settings.archive_dir / f".reread-{name}") as scratch,
    ):
        reread = _Reread(site, Corrections(store, scratch, name))
        # Lists first: they tell the ids of posts, under which the other pages are stored.
        for stage in Stage:
            for path in files:
                for page in read_archive(path, since or 0):
                    if page.lease.request.stage is stage and page.lease.token <= until_ms:
                        reread.read(page)
        _wait_for_leases(frontier, site, until_ms)
        store_waiting(
            frontier, store, f"{name}: what waits in the outbox is not stored; start a store worker, then again"
        )
        rows = reread.corrections.apply()
    unread = sum(reread.unread.values())
    read = counted(reread.pages, "page")
    click.echo(f"{name}: {read} of {counted(len(files), 'file')} read by {site.site.version}")
    click.echo(f"{rows.added} rows added, {rows.changed} changed, {rows.removed} removed")
    for (stage, why), count in reread.unread.most_common(10):
        click.echo(
            f"not read, left as it was: {counted(count, f'{stage.value} page')}, {printable(why, 200)}", err=True
        )
    ctx.exit(Exit.FAILURES if unread else Exit.OK)


class _Reread:
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
