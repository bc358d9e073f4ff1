"""Rows c: every call to Redis and to the database fails once, before and after it took effect, until none is left."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import redis
from sqlalchemy import event
from sqlalchemy.engine import make_url

from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.store.upsert import Store
from tests.chaos.changing_tiny import Changing, changing_forum, standing, told, true_rows
from tests.chaos.haste import hasten
from tests.chaos.proxy import Proxy, Side
from tests.chaos.rows import Row, Scale
from tests.chaos.tiny import BROKEN, TinyCrawl, result, tiny_forum
from tests.frontier.small_crawl import SmallForum
from tests.store.conftest import empty_schema, new_cluster

GOAL = "all end as the fault-free run, at most 1 extra fetch each"


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the crawls run: addresses through which faults come, and clean ones beside them."""

    redis_url: str
    aside: redis.Redis
    forum: SmallForum
    fail: Callable[[int, Side], None]
    was_struck: Callable[[], bool]
    calls: Callable[[], int]
    new_store: Callable[[], tuple[str, str]]  # as the crawl reaches it, as the judge does
    wrap: Callable[[Store], None] = lambda _: None
    is_changing: bool = False


def every_call(figure: str, bench: Bench, step: int) -> Row:
    """Fail call 1, 2, 3 ... (or every so-manieth) on each side, until a crawl passes without being struck."""
    bench.fail(0, Side.BEFORE)
    expected, fetched = _crawl(bench)
    calls, runs, faults = bench.calls(), 0, []
    for side in Side:
        for number in count(1, step):
            bench.fail(number, side)
            try:
                stored, asked = _crawl(bench)
            except AssertionError as error:
                stored, asked = expected, fetched
                faults.append(f"{side} {number}: {error}")
            if not bench.was_struck():
                break
            runs += 1
            if stored != expected:
                tables = [table for table in expected if stored[table] != expected[table]]
                faults.append(f"{side} {number}: {', '.join(tables)} differ")
            if asked > fetched + 1 and not bench.is_changing:
                faults.append(f"{side} {number}: {asked - fetched} extra fetches")
    bench.fail(0, Side.BEFORE)
    passed = runs - len({fault.partition(":")[0] for fault in faults})
    size = f"{calls} calls in a crawl, {runs} faults{f' (one call in {step})' if step > 1 else ''}"
    return Row(figure, size, f"{passed} of {runs} end as the fault-free run", GOAL, tuple(faults))


def _crawl(bench: Bench) -> tuple[object, int]:
    bench.aside.flushall()
    store_url, clean_url = bench.new_store()
    kind = Changing if bench.is_changing else TinyCrawl
    crawl = kind(bench.redis_url, bench.aside, bench.forum, store_url, bench.wrap)
    try:
        crawl.run()
    finally:
        crawl.close()
    asked = crawl.fetches()
    assert asked[BROKEN] >= 2
    assert not crawl.imbalance(), crawl.imbalance()
    if isinstance(crawl, Changing):
        stored, true = standing(clean_url), true_rows(crawl.changing)
        assert stored == true, told(stored, true)
        return true, asked.total()
    return result(clean_url), asked.total()


def _new_sqlite(directory: Path) -> Callable[[], tuple[str, str]]:
    numbers = count()

    def new() -> tuple[str, str]:
        url = f"sqlite:///{directory}/{next(numbers)}.db"
        return url, url

    return new


def _redis_calls(server: RedisServer, aside: redis.Redis, forum: SmallForum, directory: Path, scale: Scale) -> Row:
    with Proxy(server.port) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}/0"
        store = _new_sqlite(directory)
        calls = Bench(url, aside, forum, proxy.fail, lambda: proxy.struck, lambda: proxy.calls, store)
        return every_call("every call to Redis, lost before or its answer after", *_sized(calls, scale))


def _sized(bench: Bench, scale: Scale) -> tuple[Bench, int]:
    """Return the bench of a scale, and which call in how many fails: a changing forum makes more calls."""
    return replace(bench, is_changing=scale.is_changing), scale.step * (4 if scale.is_changing else 1)


def _postgresql_calls(server: RedisServer, aside: redis.Redis, forum: SmallForum, scale: Scale) -> Row:
    figure = "every call to PostgreSQL, lost before or its answer after"
    if not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        return Row(figure, "-", "skipped: no PostgreSQL in /usr/lib/postgresql", GOAL)
    with new_cluster() as cluster, Proxy(int(make_url(cluster.url).port or 0)) as proxy:

        def new() -> tuple[str, str]:
            url = make_url(empty_schema(cluster.url))
            return tuple(each.render_as_string(hide_password=False) for each in (url.set(port=proxy.port), url))

        bench = Bench(server.url, aside, forum, proxy.fail, lambda: proxy.struck, lambda: proxy.calls, new)
        return every_call(figure, *_sized(bench, scale))


class Shaky:
    """Counts what SQLite is asked for, and fails one: with the error of a failing disk, before it or after."""

    def __init__(self) -> None:
        self.calls, self.struck, self._at, self._side = 0, False, 0, Side.BEFORE

    def fail(self, call: int, side: Side) -> None:
        """Count from 0 again, and fail that call; 0 fails none."""
        self.calls, self.struck, self._at, self._side = 0, False, call, side

    @contextmanager
    def call(self) -> Iterator[None]:
        """Stand round one call."""
        self.calls += 1
        is_it = self.calls == self._at
        self.struck |= is_it
        if is_it and self._side is Side.BEFORE:
            raise sqlite3.OperationalError("disk I/O error")
        yield
        if is_it:
            raise sqlite3.OperationalError("disk I/O error")

    def wrap(self, store: Store) -> None:
        """Stand between a store and its file."""
        shaky = self

        class Cursor(sqlite3.Cursor):
            def execute(self, *args: Any) -> sqlite3.Cursor:
                with shaky.call():
                    return super().execute(*args)

            def executemany(self, *args: Any) -> sqlite3.Cursor:
                with shaky.call():
                    return super().executemany(*args)

        class Connection(sqlite3.Connection):
            def cursor(self, *_: Any) -> sqlite3.Cursor:
                return super().cursor(Cursor)

            def commit(self) -> None:
                with shaky.call():
                    super().commit()

        def connect(_: Any, __: Any, args: list[Any], named: dict[str, Any]) -> sqlite3.Connection:
            return sqlite3.connect(*args, factory=Connection, **named)

        event.listen(store.database.engine, "do_connect", connect)


def _sqlite_calls(server: RedisServer, aside: redis.Redis, forum: SmallForum, directory: Path, scale: Scale) -> Row:
    shaky = Shaky()
    bench = Bench(
        server.url,
        aside,
        forum,
        shaky.fail,
        lambda: shaky.struck,
        lambda: shaky.calls,
        _new_sqlite(directory),
        shaky.wrap,
    )
    return every_call("every SQLite statement and COMMIT, failing before or after", *_sized(bench, scale))


def run(scale: Scale, seed: int) -> list[Row]:
    """Fail every call."""
    hasten()
    with TemporaryDirectory(prefix="crawl-chaos-") as name:
        directory = Path(name)
        with RedisServer(directory / "redis") as server:
            forums = changing_forum if scale.is_changing else tiny_forum
            with redis.Redis.from_url(server.url) as aside, forums() as forum:
                return [
                    _redis_calls(server, aside, forum, directory / "r", scale),
                    _sqlite_calls(server, aside, forum, directory / "s", scale),
                    _postgresql_calls(server, aside, forum, scale),
                ]
