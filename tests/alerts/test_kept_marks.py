"""Marks that one process keeps and others read: a rate needs no process that was there all the time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.redis_server import RedisServer, free_port
from crawl_tasks.model import Items, Lease, Parsed, State
from crawl_tasks.monitor.marks import STEPS, WINDOW_MS, packed, unpacked
from tests.frontier.by_hand import TERMS, posts, released
from tests.waiting import PATIENCE_S, eventually

PROGRAM = [sys.executable, "-m", "crawl_tasks"]


@pytest.fixture
def environment(redis_server: RedisServer, tmp_path: Path) -> dict[str, str]:
    return os.environ | {
        "CRAWL_REDIS_URL": redis_server.url,
        "CRAWL_REDIS_PREFIX": "test",
        "CRAWL_STATE_DIR": str(tmp_path),
        "CRAWL_SITES_DIR": str(tmp_path),
    }


def keep_marks(environment: dict[str, str], client: redis.Redis) -> None:
    """Start an exporter, and kill it once it has kept its marks."""
    listen = f"127.0.0.1:{free_port()}"
    exporter = subprocess.Popen([*PROGRAM, "exporter", "--listen", listen], env=environment)
    try:
        eventually(lambda: _answers(listen) and client.llen("test:marks") > 0)
    finally:
        exporter.kill()
        exporter.wait()


def _answers(listen: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{listen}/metrics") as answer:
            return bool(answer.read())
    except OSError:
        return False


def age_marks(client: redis.Redis, by_ms: int) -> None:
    """Let the kept marks be of an earlier moment."""
    at, _, text = client.lindex("test:marks", 0).partition(b" ")
    marks = unpacked(text)
    assert marks is not None
    aged = packed(replace(marks, at_ms=marks.at_ms - by_ms))
    client.lset("test:marks", 0, b"%d %b" % (int(at) - by_ms, aged))


def found(environment: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(
        [*PROGRAM, "check", "--json"], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return {row["name"]: row["text"] for row in json.loads(done.stdout)["problems"]}


def test_a_rate_is_judged_by_marks_of_a_process_that_is_dead(environment: dict[str, str], client: redis.Redis) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"window": 60}, [])
    frontier.admit("demo", posts(60))
    keep_marks(environment, client)
    for number, rid in enumerate(released(client)[:40]):
        lease = frontier.lease("demo", rid)
        assert isinstance(lease, Lease)
        if number % 4:
            frontier.commit(lease, Parsed(Items("demo")))
        else:
            frontier.fail(lease, Verdict(State.DEAD, "server_error", "500"))
    young = found(environment)
    age_marks(client, WINDOW_MS + WINDOW_MS // STEPS)
    old = found(environment)
    age_marks(client, WINDOW_MS)
    stale = found(environment)

    assert old["CrawlErrorRatio"] == "25% of the attempts fail"
    assert "CrawlErrorRatio" not in young | stale
