"""`crawl-tasks check` beside a database that is locked or full, and a Redis that hangs: true, and soon."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.check import REPLY_S
from crawl_tasks.errors import StoreError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.monitor.problems.setup_kinds import DATABASE_BUSY, DATABASE_DOWN, SETUP_KINDS
from crawl_tasks.monitor.snapshot import BEAT_SILENT_MS
from crawl_tasks.operate.installation import BUSY_S
from crawl_tasks.store.upsert import Store
from tests.frontier.by_hand import TERMS
from tests.unit.command_line import run

SETUP = {kind.name for kind in SETUP_KINDS} - {DATABASE_BUSY.name, DATABASE_DOWN.name}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    file = tmp_path / "state" / "crawl.db"
    Store(f"sqlite:///{file}").open().close()
    return file


def problems(tmp_path: Path, redis_url: str, *options: str) -> dict[str, str]:
    result = run("check", "--json", *options, home=tmp_path, redis_url=redis_url)
    return {one["name"]: one["text"] for one in json.loads(result.stdout)["problems"] if one["name"] not in SETUP}


def test_a_database_that_is_locked_is_told_as_locked(
    database: Path, tmp_path: Path, client: redis.Redis, redis_server: RedisServer
) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        found = problems(tmp_path, redis_server.url)
        other.execute("ROLLBACK")

    assert "locked" in found["CrawlDatabaseBusy"]
    assert not problems(tmp_path, redis_server.url).keys() & {"CrawlDatabaseBusy", "CrawlDatabaseDown"}


def test_a_probe_leaves_nothing_and_fails_where_a_disk_is_full(database: Path) -> None:
    size = database.stat().st_size
    with Store(f"sqlite:///{database}").open(create=False) as store:
        store.database.probe(1.0)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM sites").fetchone() == (0,)

    # A limit of the size of files stands for a disk that is full: the write fails in the same place.
    code = (
        "import resource, sys\n"
        "from crawl_tasks.store.upsert import Store\n"
        f"with Store('sqlite:///{database}').open(create=False) as store:\n"
        f"    resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "    store.database.probe(1.0)\n"
    )
    full = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert full.returncode != 0
    assert StoreError.__name__ in full.stderr


def test_a_redis_that_hangs_is_told_within_five_seconds(database: Path, tmp_path: Path) -> None:
    hanging = RedisServer(tmp_path / "hanging")
    hanging.start()
    pid = int(redis.Redis.from_url(hanging.url).info("server")["process_id"])
    os.kill(pid, signal.SIGSTOP)
    try:
        found = problems(tmp_path, hanging.url)
    finally:
        os.kill(pid, signal.SIGCONT)
        hanging.stop()

    assert found.keys() == {"CrawlRedisDown"}
    assert REPLY_S + BUSY_S < 5


def test_a_check_at_rest_misses_no_process_and_names_the_sites_problems(
    database: Path, tmp_path: Path, client: redis.Redis, redis_server: RedisServer
) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    client.hset("test:stats", "produced_at", frontier.clock_ms() - 2 * BEAT_SILENT_MS)
    frontier.sites.pause("demo")

    found = problems(tmp_path, redis_server.url, "--at-rest")

    assert found.keys() == {"CrawlAtRest", "CrawlPaused"}
    assert {"CrawlNoWorker", "CrawlBeatSilent"} <= problems(tmp_path, redis_server.url).keys()
