"""Runs and seeds that do not go all the way."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.selection_options import SinceOption
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, Lease, Parsed, Priority, Reach
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.operate.crawl import Plan, is_idle, walk
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.unit.command_line import run, site_text, write_site

SITE = parse_site(site_text(), "tiny.yaml")


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    frontier = Frontier(client, "test")
    publish_site(frontier, SITE, None)
    return frontier


def test_a_limited_run_walks_its_boards_and_is_idle_when_they_are_done(frontier: Frontier) -> None:
    plan = Plan((SITE,), boards=("b2",), reach=Reach(pages=3))
    since_ms = frontier.clock_ms()
    assert walk(frontier, SITE, plan) == 1
    cells = Cells([frontier])

    lease = frontier.lease("tiny", 1)
    assert isinstance(lease, Lease)
    assert (lease.request.key, lease.request.reach) == ("b2", Reach(pages=3))
    assert not is_idle(take_snapshot(frontier), cells, since_ms, plan.scanned)
    frontier.commit(lease, Parsed(Items("tiny")))
    assert not is_idle(take_snapshot(frontier), cells, since_ms, plan.scanned)  # what was done is not stored yet
    frontier.outbox.ack({"tiny": [page_id for page_id, _ in frontier.outbox.draw("store", 10).pages]})
    assert is_idle(take_snapshot(frontier), cells, since_ms, plan.scanned)
    assert not is_idle(take_snapshot(frontier), cells, since_ms)


def test_a_seeded_board_may_be_limited(tmp_path: Path, redis_server: RedisServer, client: redis.Redis) -> None:
    write_site(tmp_path, site_text())
    for arguments in (("sites", "check"), ("seed", "tiny", "--board", "1", "--pages", "2", "--since", "2026-01-31")):
        assert run(*arguments, home=tmp_path, redis_url=redis_server.url).exit_code == Exit.OK

    lease = Frontier(client, "test").lease("tiny", 1)
    assert isinstance(lease, Lease)
    assert lease.request.reach == Reach(2, 1_769_817_600)
    assert lease.request.priority == Priority.BACKFILL


def test_a_time_ago_counts_from_now() -> None:
    before = int(time.time())

    assert before - 7 * 86_400 <= SinceOption().convert("7d", None, None) <= time.time() - 7 * 86_400 + 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--boards", "1"), "--boards are of one site"),
        (("run", "tiny", "--since", "yesterday"), "is neither a time ago (30m, 12h, 7d, 4w) nor a date"),
        (("run", "tiny", "--since", "9000-01-01"), "is still to come"),
        (("run", "tiny", "--pages", "0"), "0 is not in the range"),
    ],
)
def test_a_reach_that_cannot_be_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments, home=tmp_path)

    assert (result.exit_code, said in result.output) == (2, True), result.output
