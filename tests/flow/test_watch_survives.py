"""Workers and beats die by kill -9 in mid-scan and Redis is emptied: what was learned is back, and nothing is lost."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from contextlib import closing
from threading import Event, Thread

import pytest

from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.flow.world import CELERY, World
from tests.freshness.live_forum import RULES, LiveForum, live_forum
from tests.waiting import eventually

pytestmark = pytest.mark.flow

RECOVER = [sys.executable, "-m", "crawl_tasks", "recover"]
BOARDS, RATE_S = 6, 2.0
SITE = f"""{RULES.replace("name: live", "name: demo")}
gate: {{window: 4, delay_s: 0.05, deadline_s: 1}}
boards: [{", ".join(str(number + 1) for number in range(BOARDS))}, {{id: front, kind: front, address: /front}}]
freshness: {{goal_s: 4, requests_s: 5}}
"""


def start_beat(world: World, name: str) -> None:
    world.start(name, *CELERY, "beat")


def scans(world: World) -> dict[str, int]:
    return {
        board.board: int(world.client.hget(f"crawl:s:demo:board:{board.board}", "scan") or 0)
        for board in Inspector(world.frontier).boards("demo")
    }


def wait_for_scans(world: World) -> None:
    """Wait until each board was scanned from now on."""
    before = scans(world)
    eventually(lambda: len(now := scans(world)) == len(before) and all(now[one] > before[one] + 1 for one in before))


def rates(world: World) -> dict[str, float]:
    return {board.board: board.rate_h for board in Inspector(world.frontier).boards("demo")}


def stored(world: World) -> Counter[str]:
    try:
        with closing(sqlite3.connect(f"file:{world.directory}/crawl.db?mode=ro", uri=True)) as connection:
            rows = connection.execute("select post_id from posts where body is not null").fetchall()
            return Counter(row[0] for row in (*rows, *connection.execute("select comment_id from comments")))
    except sqlite3.OperationalError:  # no database, or no tables yet
        return Counter()


def all_is_stored(world: World, forum: LiveForum) -> bool:
    return set(stored(world)) == {str(item.number) for item in forum.items}


@pytest.mark.long
def test_a_watch_goes_on_after_dead_workers_two_beats_and_an_emptied_redis(world: World) -> None:
    with live_forum(BOARDS, RATE_S, seed=3) as forum:
        publish_site(world.frontier, parse_site(SITE, "demo.yaml").relocated(forum.base), contact=None)
        world.workers()
        start_beat(world, "beat0")
        start_beat(world, "beat1")
        eventually(lambda: is_watched_since(world, 0))
        eventually(lambda: all_is_stored(world, forum))
        quiet = Counter(path for _, path in forum.log if path.startswith("/thread"))
        is_over = Event()
        posting = Thread(target=post_until, args=(forum, is_over))
        posting.start()
        try:
            wait_for_scans(world)
            learned = rates(world)

            for victim in ("list0", "detail0", "beat0"):
                eventually(lambda: world.client.scard("crawl:s:demo:scanning"))
                world.kill(victim)
                killed_ms = world.frontier.clock_ms()
                if victim == "beat0":
                    start_beat(world, victim)
                else:
                    world.worker(victim, victim.rstrip("0"))
                eventually(lambda at=killed_ms: is_watched_since(world, at))
            # The mean rate falls a little as this hour proves busier than others. A lost history would be near 0.
            assert rates(world)["front"] > learned["front"] / 2

            known = stored(world).total()
            world.client.flushall()
            said = world.run("recover", *RECOVER)
            emptied_ms = world.frontier.clock_ms()
            back = rates(world)
            eventually(lambda: is_watched_since(world, emptied_ms), every_s=0.1)
        finally:
            is_over.set()
            posting.join()
        eventually(lambda: all_is_stored(world, forum), every_s=0.1)
        eventually(world.is_idle, every_s=0.01)
        world.frontier.sites.pause("demo")

        assert "requests are open again" in said
        # The front page shows what was posted on all boards, of which the database knows the last week. Hours that are
        # long ago count less: 168 of them are 97.
        assert back["front"] == pytest.approx(known / 97, rel=0.2)
        assert back.keys() == learned.keys()
        # A thread without a new post is not read again, whoever died.
        touched = {str(item.thread) for item in forum.items[forum.past :]}
        asked = Counter(path for _, path in forum.log if path.startswith("/thread"))
        assert {path for path, count in asked.items() if count > quiet[path]} <= {f"/thread/{one}" for one in touched}
        assert set(stored(world).values()) == {1}


def post_until(forum: LiveForum, is_over: Event) -> None:
    while not is_over.is_set():
        forum.post(0.5)


def is_watched_since(world: World, at_ms: int) -> bool:
    """Return whether each board and the front page were scanned since a time."""
    states = Inspector(world.frontier).boards("demo")
    return len(states) == BOARDS + 1 and all(board.scanned_at_ms > at_ms for board in states)
