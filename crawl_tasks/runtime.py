"""The composition root: settings in, wired objects out, once per process and after any fork."""

from __future__ import annotations

import os
import threading
from functools import cached_property
from typing import TYPE_CHECKING

import redis

from crawl_tasks.drain import Drain
from crawl_tasks.frontier.client import open_client
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.schedule.inbox import Inbox
from crawl_tasks.schedule.pacer import Pacer
from crawl_tasks.schedule.produce import Producer
from crawl_tasks.settings import Settings, load_settings

if TYPE_CHECKING:
    from crawl_tasks.pipeline import Pages
    from crawl_tasks.recovery.sentry import Sentry
    from crawl_tasks.sitebook import SiteBook


def connect(settings: Settings) -> redis.Redis:
    """Make the client for the frontier; nothing is sent yet."""
    return open_client(
        settings.redis_url,
        settings.redis_master,
        socket_keepalive=True,
        socket_connect_timeout=5,
        socket_timeout=10,
        health_check_interval=30,
    )


class Runtime:
    """The objects of one process, each made when it is first used: a fetching worker never opens the database."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def frontier(self) -> Frontier:
        """The ledger."""
        return Frontier(
            connect(self.settings), self.settings.redis_prefix, self.settings.store_at, self.settings.outbox_max
        )

    @cached_property
    def sites(self) -> SiteBook:
        """The published sites."""
        # Rules, parsers and HTTP cost 60 ms, which a store worker and beat do without.
        from crawl_tasks.sitebook import SiteBook  # noqa: PLC0415
        from crawl_tasks.sites.steps import read_steps  # noqa: PLC0415

        return SiteBook(self.frontier, self.settings.contact, read_steps(self.settings.items))

    @cached_property
    def pages(self) -> Pages:
        """The life of a page."""
        from crawl_tasks.fetch.download import build_fetcher  # noqa: PLC0415 (as above)
        from crawl_tasks.pipeline import Pages  # noqa: PLC0415

        settings = self.settings
        fetcher = build_fetcher(
            settings.http_client,
            ca_file=settings.ca_file,
            proxy=settings.proxy.get_secret_value(),
            shelf=self.frontier.robots,
        )
        return Pages(self.frontier, self.sites, fetcher)

    @cached_property
    def drain(self) -> Drain:
        """The life of a batch of items."""
        # SQLAlchemy costs 0.25 s and 30 MB, and only the store needs it.
        from crawl_tasks.store.upsert import Store  # noqa: PLC0415

        settings = self.settings
        return Drain(
            self.frontier,
            lambda: Store(settings.database_url).open(),
            batch=settings.store_batch,
            worth=settings.store_at,
        )

    @cached_property
    def sentry(self) -> Sentry:
        """Who notices that Redis was emptied."""
        from crawl_tasks.recovery.sentry import Sentry  # noqa: PLC0415 (as above)
        from crawl_tasks.store.upsert import Store  # noqa: PLC0415

        settings = self.settings
        return Sentry(
            self.frontier,
            lambda: Store(settings.database_url).open(create=False),
            contact=settings.contact,
            by_itself=settings.recover == "auto",
        )

    @cached_property
    def producer(self) -> Producer:
        """What beat calls."""
        return Producer(self.frontier)

    @cached_property
    def pacer(self) -> Pacer:
        """The clockwork."""
        name = self.settings.start_key or f"{self.settings.redis_prefix}:start"
        return Pacer(self.frontier, Inbox(self.frontier, name))


_lock = threading.Lock()
_made: tuple[int, Runtime] | None = None


def runtime() -> Runtime:
    """Give this process's runtime; a forked child gets its own."""
    global _made
    made = _made
    if made is None or made[0] != os.getpid():
        with _lock:
            made = _made
            if made is None or made[0] != os.getpid():
                made = _made = (os.getpid(), Runtime(load_settings()))
    return made[1]
