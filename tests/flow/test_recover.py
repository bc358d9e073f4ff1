"""Redis is emptied in the middle of a crawl; the database brings guard and ledger back."""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from crawl_tasks.frontier.inspect.inspector import Inspector
from tests.flow.world import ROOT, SHORT_LEASE_MS, World
from tests.waiting import eventually

pytestmark = pytest.mark.flow

RECOVER = [sys.executable, "-m", "crawl_tasks", "recover"]


def pages_stored(world: World) -> int:
    try:
        with closing(sqlite3.connect(f"file:{world.directory}/crawl.db?mode=ro", uri=True)) as connection:
            return int(connection.execute("select count(done) from requests").fetchone()[0])
    except sqlite3.OperationalError:  # no database, or no tables yet
        return 0


def paths_stored(world: World) -> set[str]:
    """Name the posts and comment pages of which the database knows that they were read."""
    with closing(sqlite3.connect(f"file:{world.directory}/crawl.db?mode=ro", uri=True)) as connection:
        rows = connection.execute("select address from requests where done is not null and stage <> 'list'").fetchall()
    return {urlsplit(address).path for (address,) in rows}


def test_an_emptied_redis_is_rebuilt_by_the_workers_themselves_if_so_set(world: World) -> None:
    world.environment["CRAWL_RECOVER"] = "auto"
    world.forum("--latency-ms", "30")
    world.publish(lease_ms=SHORT_LEASE_MS, deadline_s=1.0, window=8)
    world.workers()
    world.frontier.produce()
    eventually(lambda: pages_stored(world) > 60)

    world.client.flushall()
    eventually(lambda: world.frontier.sites.names() == ["demo"])
    eventually(world.is_idle, every_s=0.1)

    assert world.faults() == []
    assert set(world.fetched()) == set(world.truth()["paths"])


def test_an_emptied_redis_is_rebuilt_and_the_crawl_ends_as_if_nothing_had_been(world: World) -> None:
    world.forum("--latency-ms", "30")
    world.publish(lease_ms=SHORT_LEASE_MS, deadline_s=1.0, window=8)
    world.workers()
    world.frontier.produce()
    eventually(lambda: pages_stored(world) > 60)

    stored = paths_stored(world)
    world.client.flushall()
    emptied_at = time.monotonic()
    said = world.run("recover", *RECOVER)
    eventually(world.is_idle, every_s=0.1)

    assert "requests are open again" in said
    assert world.faults() == []
    assert set(world.fetched()) == set(world.truth()["paths"])
    later = {str(row["path"]) for row in world.requests() if float(str(row["start"])) > emptied_at}
    assert len(stored) > 10
    assert not later & stored  # only what was in hand or waited for the store is fetched again
    assert "nothing is lost" in world.run("recover", *RECOVER)


def test_a_run_outlives_an_emptied_redis_and_a_paused_site_stays_unasked(world: World) -> None:
    site = world.forum("--latency-ms", "30")
    (world.directory / "sites").mkdir()
    demo = (ROOT / "config" / "sites" / "demo.yaml").read_text("utf-8")
    for name, host in (("demo", site.base[7:]), ("other", "127.0.0.1:1"), ("nest", "127.0.0.1:2")):
        text = demo.replace("name: demo", f"name: {name}").replace("127.0.0.1:8765", host)
        (world.directory / "sites" / f"{name}.yaml").write_text(text)
    world.environment |= {"CRAWL_SITES_DIR": str(world.directory / "sites")}
    crawl_tasks = RECOVER[:-1]
    world.run("publish", *crawl_tasks, "sites", "check")
    world.frontier.produce()
    (world.directory / "sites" / "nest.yaml").unlink()
    world.run("pause", *crawl_tasks, "pause", "other", "--why", "a court order")
    process = world.start("run", *crawl_tasks, "run", "--until-idle")
    eventually(lambda: pages_stored(world) > 60)

    attempts = Inspector(world.frontier).count_requests("nest").count("attempts")
    world.client.flushall()
    eventually(lambda: "run: crawl-tasks recover" in world.log_of("run"))
    world.run("recover", *RECOVER)
    eventually(lambda: process.poll() is not None, every_s=0.1)

    assert world.processes.pop("run").returncode == 0, world.log_of("run")
    assert world.faults() == []
    assert set(world.fetched()) == set(world.truth()["paths"])
    assert Inspector(world.frontier).count_requests("other").count("attempts") == attempts == 0
    assert "a court order" in world.run("status", *crawl_tasks, "status", "other")
