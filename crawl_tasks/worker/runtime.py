"""The composition root: settings in, wired objects out, once per process and again after a fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING

import redis

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.frontier.replies import IdleState
from crawl_tasks.schedule.produce import admit_due
from crawl_tasks.schedule.start_requests import StartRequests
from crawl_tasks.schedule.ticker import Ticker
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.worker.hook_runner import HookRunner
from crawl_tasks.worker.store_task import OutboxConsumer

if TYPE_CHECKING:
    from crawl_tasks.fetch.web_archive import Archive
    from crawl_tasks.model import Parsed, Stage
    from crawl_tasks.monitor.traces import Traces
    from crawl_tasks.registry.site_registry import SiteRegistry
    from crawl_tasks.sites.grants import Grants
    from crawl_tasks.worker.database_guard import DatabaseGuard
    from crawl_tasks.worker.hang_watch import HangWatch
    from crawl_tasks.worker.idle_exit import IdleExit
    from crawl_tasks.worker.ledger_watch import LedgerWatch
    from crawl_tasks.worker.page_task import PageTask
    from crawl_tasks.worker.task_result import TaskResult


def connect(settings: Settings) -> redis.Redis:
    """Return the Redis client of the frontier in the first cell, not yet connected."""
    return open_client(
        settings.cells[0].url,
        settings.redis_master,
        socket_keepalive=True,
        socket_connect_timeout=5,
        socket_timeout=10,
        health_check_interval=30,
    )


def connect_frontier(settings: Settings) -> Frontier:
    """Return the frontier of the first cell, not yet connected."""
    return Frontier(
        connect(settings), settings.redis_prefix, settings.store_at, settings.outbox_max, settings.cells[0].name
    )


def grants_of(settings: Settings) -> Grants:
    """Return what a process with such settings gives to published sites."""
    # Reading sites costs 50 ms, which a store worker without hooks and beat do without.
    from crawl_tasks.sites.grants import Grants  # noqa: PLC0415

    return Grants(
        settings.sites_dir,
        frozenset(settings.dump_roots.split()),
        frozenset(settings.function_modules.split()),
        frozenset(settings.forum_secrets.split()),
        frozenset(settings.private_hosts.lower().split()),
    )


class Runtime:
    """The objects of one process, each built at its first use. So a fetching worker never opens the database.

    The settings are those of the process' own cell.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings.own()
        self._of_all_cells = settings
        self.is_cell_chosen = bool(settings.cell)
        self.hang_watch: HangWatch | None = None

    @cached_property
    def frontier(self) -> Frontier:
        """The frontier: guard, ledger and queues in Redis."""
        return connect_frontier(self.settings)

    @cached_property
    def cells(self) -> Cells:
        """The frontiers of all cells. That of this process is the same object."""
        settings, own = self._of_all_cells, self.settings.cells[0].name
        return Cells(
            self.frontier if cell.name == own else connect_frontier(settings.in_cell(cell)) for cell in settings.cells
        )

    @cached_property
    def hooks(self) -> HookRunner:
        """The runner of event hooks."""
        return HookRunner(read=lambda text: self.grants.read(text))

    @cached_property
    def grants(self) -> Grants:
        """The grants of this process."""
        return grants_of(self.settings)

    @cached_property
    def traces(self) -> Traces | None:
        """The traces of this process, None where they are off."""
        if not self.settings.traces:
            return None
        from crawl_tasks.monitor.traces import otlp_traces  # noqa: PLC0415 (0.2 s, and of an extra)

        return otlp_traces()

    @cached_property
    def sites(self) -> SiteRegistry:
        """The registry of the published sites."""
        # Rules, parsers and HTTP cost 60 ms, which a store worker and beat do without.
        from crawl_tasks.registry.site_registry import SiteRegistry  # noqa: PLC0415
        from crawl_tasks.sites.item_steps import read_steps  # noqa: PLC0415

        steps = read_steps(self.settings.items)
        return SiteRegistry(self.frontier, self.settings.contact, steps, self.grants.read)

    @cached_property
    def page_task(self) -> PageTask:
        """The page task, with its HTTP client."""
        from crawl_tasks.fetch.fetcher import build_fetcher  # noqa: PLC0415 (as above)
        from crawl_tasks.fetch.file_limit import raise_file_limit  # noqa: PLC0415 (as above)
        from crawl_tasks.fetch.login_sessions import Sessions  # noqa: PLC0415 (as above)
        from crawl_tasks.worker.page_task import PageTask  # noqa: PLC0415

        # A connection is kept for each of many polite sites; `celery worker` often begins with room for 1,024 files.
        raise_file_limit()
        settings = self.settings
        fetcher = build_fetcher(
            settings.http_client,
            ca_file=settings.ca_file,
            proxy=settings.proxy.get_secret_value(),
            robots_store=self.frontier.robots,
            sessions=Sessions(self.frontier.logins, settings.session_key.get_secret_value()),
            is_sandboxed=settings.render_sandbox,
        )
        return PageTask(self.frontier, self.sites, fetcher, self.hooks, self._mark_stored, self.archive, self.traces)

    def _mark_stored(self, parsed: Parsed, stages: Collection[Stage]) -> Parsed:
        return self._database_guard.mark(parsed, stages)

    @cached_property
    def _database_guard(self) -> DatabaseGuard:
        # SQLAlchemy costs 0.25 s and 30 MB, and only sites with this guard need it in a fetching worker.
        from crawl_tasks.store.upsert import Store  # noqa: PLC0415
        from crawl_tasks.worker.database_guard import DatabaseGuard  # noqa: PLC0415

        return DatabaseGuard(lambda: Store(self.settings.database_url).open())

    @cached_property
    def archive(self) -> Archive:
        """The archive of responses."""
        from crawl_tasks.fetch.web_archive import Archive  # noqa: PLC0415 (as above)

        settings = self.settings
        return Archive(
            settings.archive_dir,
            file_bytes=settings.archive_file_bytes,
            file_s=settings.archive_file_s,
            free_bytes=settings.archive_free_bytes,
        )

    def watch_hangs(
        self,
        *,
        threads: int = 1,
        end: Callable[[], None] | None = None,
        tell: Callable[[int, TaskResult], None] | None = None,
    ) -> None:
        """Start the watch over the threads that work on pages. HangWatch describes the parameters."""
        from crawl_tasks.worker.hang_watch import HangWatch  # noqa: PLC0415 (as above)

        self.hang_watch = HangWatch(self.page_task, threads=threads, end=end, tell=tell)
        self.hang_watch.start()

    @cached_property
    def store_task(self) -> OutboxConsumer:
        """The store task, which opens the database at its first batch."""
        # SQLAlchemy costs 0.25 s and 30 MB, and only the store needs it.
        from crawl_tasks.store.upsert import Store  # noqa: PLC0415

        settings = self.settings
        return OutboxConsumer(
            self.frontier,
            lambda: Store(settings.database_url).open(),
            batch=settings.store_batch,
            worth=settings.store_at,
            hooks=self.hooks,
            traces=self.traces,
        )

    @cached_property
    def ledger_watch(self) -> LedgerWatch:
        """The watch that notices an emptied Redis."""
        from crawl_tasks.store.upsert import Store  # noqa: PLC0415
        from crawl_tasks.worker.ledger_watch import LedgerWatch  # noqa: PLC0415 (as above)

        settings = self.settings
        return LedgerWatch(
            self.frontier,
            lambda: Store(settings.database_url).open(create=False),
            contact=settings.contact,
            by_itself=settings.recover == "auto",
            cells=self.cells,
        )

    def produce(self) -> str:
        """Admit scans of the boards that are due, and return the counts as a text."""
        return admit_due(self.frontier)

    @cached_property
    def idle_exit(self) -> IdleExit:
        """The idle exit of this process."""
        # Monitoring reads cost 20 ms, which the start of a worker without an idle exit does without.
        from crawl_tasks.worker.idle_exit import IdleExit  # noqa: PLC0415

        return IdleExit(self.frontier, self.settings.idle_exit_s)

    @cached_property
    def ticker(self) -> Ticker:
        """The ticker of this process."""
        name = self.settings.start_key or f"{self.settings.redis_prefix}:start"
        batch = self.settings.start_batch
        starts = StartRequests(self.frontier, name, batch=batch, read=lambda text: self.grants.read(text))
        return Ticker(self.frontier, starts, self._tell_idle)

    def _tell_idle(self, site: str, state: IdleState) -> None:
        try:
            text = self.frontier.sites.published(site) or ""
        except BackendError:
            # The ticker goes on, as it does when a tick fails.
            return
        if hooks := self.hooks.read(site, text, "site_idle", "site_finished"):
            self.hooks.tell_idle(site, hooks, state)


_lock = threading.Lock()
_made: tuple[int, Runtime] | None = None


def runtime() -> Runtime:
    """Return the runtime of this process."""
    global _made
    # A forked child gets a runtime of its own: two processes on one inherited socket would read each other's replies.
    # The first look is without the lock, because every task of every thread comes here.
    made = _made
    if made is None or made[0] != os.getpid():
        with _lock:
            made = _made
            if made is None or made[0] != os.getpid():
                made = _made = (os.getpid(), Runtime(load_settings()))
    return made[1]
