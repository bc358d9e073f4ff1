"""A whole crawl in one thread, of a few pages, through every verb of ledger and store: the same calls each time.

Redis is reached as a worker reaches it. Whatever fails, the crawl goes on as the processes of an installation do: a
task that failed is over, the ticker ticks again, beat produces again, the operator repeats a command that failed.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import redis
from sqlalchemy import create_engine, text

from crawl_tasks.errors import CrawlError
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Stage, State
from crawl_tasks.registry.site_publisher import board_terms, terms_of
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.schedule.produce import admit_due
from crawl_tasks.schedule.start_requests import StartRequests
from crawl_tasks.schedule.ticker import Ticker
from crawl_tasks.settings import Settings
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.site_json import dump_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.runtime import connect
from crawl_tasks.worker.store_task import OutboxConsumer
from crawl_tasks.worker.task_message import TaskMessage
from tests.frontier.small_crawl import RULES, SmallForum, small_forum
from tests.waiting import PATIENCE_S

LEASE_MS = 150
BROKEN = "/post/13"
TABLES = {
    "posts": "post_id, title, body, state",
    "comments": "post_id, comment_id, author, body",
    "memberships": "post_id, forum_id",
    "requests": "stage, key, page, address, done IS NOT NULL",  # which revision was last, order decides
}

Rows = dict[str, list[tuple[object, ...]]]


class OnceBroken(dict[str, str | bytes]):
    """Pages of which one is served broken the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.is_mended = False

    def get(self, path: str, default: object = None) -> object:
        """Return a page."""
        if path == BROKEN and not self.is_mended:
            self.is_mended = True
            return "<p>under construction"
        return super().get(path, default)


@contextmanager
def tiny_forum() -> Iterator[SmallForum]:
    """Serve one board, three threads, one of them with a second page of comments."""
    with small_forum() as forum:
        forum.pages = OnceBroken()
        forum.board("1", 1, "11 1", "12 2", "13 0")
        forum.thread("11", "1 one")
        forum.thread("12", "2 two", more="<a class=pages href=/comment/12/2>2</a>")
        forum.pages["/comment/12/2"] = "<body><div class=c data-id=3><b class=who>bob</b><p class=say>three</div>"
        forum.thread("13")
        yield forum


class TinyCrawl:
    """One crawl from nothing to its end. `aside` is a client that no fault reaches: the broker's part and the judge."""

    schedule = "interval: {min_s: 600, start_s: 600, max_s: 600, full_pass_s: 86400}"

    def __init__(
        self, redis_url: str, aside: redis.Redis, forum: SmallForum, store_url: str, wrap: Callable[[Store], None]
    ) -> None:
        self._aside, self._forum, self._wrap = aside, forum, wrap
        self._client = connect(Settings(redis_url=redis_url))
        self.frontier = Frontier(self._client, "crawl", store_at=2)
        self._judge = Frontier(aside, "crawl")
        self.store: Store | None = None
        self._store_url = store_url
        self._pages = PageTask(self.frontier, SiteRegistry(self.frontier, None), _fetcher())
        self._drain = OutboxConsumer(self.frontier, self.open_store, batch=50, worth=2)
        self._pacer = Ticker(self.frontier, StartRequests(self.frontier, "crawl:start", clock=_always_due()))

    def open_store(self) -> Store:
        """Open the database, as a store worker does at its first task."""
        self.store = Store(self._store_url, busy_timeout_s=1)
        self._wrap(self.store)
        return self.store.open()

    def run(self) -> None:
        """Crawl until nothing is open and everything is stored."""
        self.begin()
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_over():
            assert time.monotonic() < deadline, f"does not end: {Inspector(self._judge).count_requests('demo')}"
            self.turn()

    def begin(self) -> None:
        """Publish the site; a program pushes a start entry."""
        self._forum.pages.is_mended = False  # type: ignore[attr-defined]  # OnceBroken
        self._forum.asked.clear()
        self._aside.lpush("crawl:start:demo", json.dumps({"post": "12"}))
        self._repeat(self.publish)

    def turn(self) -> None:
        """Let everybody act once: beat, pacer, workers, store, operator."""
        _try(lambda: admit_due(self.frontier))
        _try(self._pacer.once)
        for ask in self._take():
            _try(partial(self._pages.handle, ask))
        if self._aside.delete("store"):
            _try(self._drain.run)
        _try(lambda: Admin(self.frontier).failed.requests.retry(Selection("demo", State.PARKED)))
        _try(lambda: self.frontier.heartbeat("chaos", ["list"]))
        time.sleep(0.01)

    def close(self) -> None:
        """Return the connections back."""
        self._client.close()
        if self.store is not None:
            self.store.close()

    def fetches(self) -> Counter[str]:
        """Count what the forum was asked for; the broken page has to be asked for twice."""
        return Counter(self._forum.asked)

    def imbalance(self) -> str:
        """Say what does not add up in the ledger."""
        return Inspector(self._judge).count_requests("demo").imbalance()

    def publish(self) -> None:
        """Publish the site with leases that end soon."""
        rules = f"{RULES}boards: [1]\n{self.schedule}\n"
        site = parse_site(rules, "demo.yaml").relocated(self._forum.url)
        terms = terms_of(site) | {"lease_ms": LEASE_MS, "max_attempts": 9}
        self.frontier.sites.publish(site.name, site.version, dump_site(site), terms, board_terms(site))

    def _take(self) -> list[TaskMessage]:
        hints = [(stage, json.loads(hint)) for stage in Stage for hint in self._aside.rpop(stage.value, 100) or ()]
        return [TaskMessage("demo", stage, rid=json.loads(hint["body"])[1]["rid"]) for stage, hint in hints]

    def is_over(self) -> bool:
        """Return whether nothing is open and everything is stored."""
        return Inspector(self._judge).count_requests("demo").done > 0 and self.is_done()

    def is_done(self) -> bool:
        """Return whether nothing waits anywhere."""
        counts = Inspector(self._judge).count_requests("demo")
        is_idle = counts.open == 0 and counts.parked == 0
        return is_idle and not self._aside.xlen("crawl:outbox") and not self._aside.exists("crawl:start:demo")

    def _repeat(self, command: Callable[[], object]) -> None:
        while not _try(command):
            time.sleep(0.01)


def _try(work: Callable[[], object]) -> bool:
    """Do what a task, a thread or a command does; an error ends it, as it ends those."""
    try:
        work()
    except CrawlError:
        return False
    return True


@cache
def _fetcher() -> Fetcher:
    return Fetcher(build_client("requests"))


def _always_due() -> Callable[[], float]:
    seconds = iter(range(0, 1 << 40, 10))
    return lambda: float(next(seconds))


def result(url: str) -> Rows:
    """Read what was stored."""
    engine = create_engine(url)
    with engine.connect() as connection:
        rows = {
            table: sorted(tuple(row) for row in connection.execute(text(f"SELECT {columns} FROM {table}")))
            for table, columns in TABLES.items()
        }
    engine.dispose()
    return rows
