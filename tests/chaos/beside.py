"""The plain Celery crawler under the same deaths, for the last column."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from contextlib import closing

from tests.chaos.ground import Ground, Nursery, new_ground
from tests.chaos.plain import POINTS, VISIBLE_S, app
from tests.chaos.points import Role
from tests.chaos.rows import Row, Scale

CREW = 4
QUIET_S = VISIBLE_S + 6


def run(scale: Scale, seed: int) -> list[Row]:
    """Kill plain workers."""
    chance = random.Random(seed)
    waiting = [(point, chance.randint(1, 6)) for point in POINTS for _ in range(scale.kills)]
    chance.shuffle(waiting)
    hits: Counter[str] = Counter()
    lost = extra = pages = 0
    with new_ground() as ground:
        ground.forum("--latency-ms", "10")
        database = ground.world.directory / "plain.db"
        environment = ground.world.environment | {"CHAOS_FORUM": ground.base, "CHAOS_DATABASE": str(database)}
        nursery = Nursery(ground.world.directory, environment, module="tests.chaos.plain")
        try:
            while waiting:
                ground.begin()
                _begin(ground, database)
                _crawl(ground, nursery, waiting, hits)
                missed, again, asked = _judge(ground, database)
                lost, extra, pages = lost + missed, extra + again, pages + asked
        finally:
            nursery.close()
    kills = hits.total()
    return [
        Row(
            f"beside: a plain Celery crawler, killed at {len(POINTS)} points",
            f"{kills} kills; {pages:,} pages",
            f"{lost} pages lost, {extra} extra fetches ({extra / max(1, kills):.2f} a kill)",
            "none: it is there to compare",
        )
    ]


def _begin(ground: Ground, database: object) -> None:
    with closing(sqlite3.connect(str(database))) as connection, connection:
        connection.execute("DROP TABLE IF EXISTS pages")
        connection.execute("CREATE TABLE pages (path PRIMARY KEY, status)")
    app.conf.broker_url = ground.server.url
    for board in (1, 2, 3, 4):
        ground.world.client.sadd("seen", f"/list/{board}/1")
        app.send_task("plain.crawl", [f"/list/{board}/1"])


def _crawl(ground: Ground, nursery: Nursery, waiting: list[tuple[str, int]], hits: Counter[str]) -> None:
    """Crawl until nothing was fetched for longer than the visibility timeout."""
    armed: dict[str, str] = {}
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_S:
        for child in [child for child in nursery.children.values() if child.code is not None]:
            if child.hit:
                hits[armed[child.name]] += 1
            del nursery.children[child.name]
        for _ in range(CREW - len(nursery.living())):
            at, passes = waiting.pop() if waiting else ("", 1)
            child = nursery.fork(Role.FETCH, at=at, passes=passes)
            armed[child.name] = at
        nursery.pump(0.05)
        if (size := len(ground.rows())) != seen:
            seen, since = size, time.monotonic()
    nursery.kill_all()


def _judge(ground: Ground, database: object) -> tuple[int, int, int]:
    truth = set(ground.world.truth()["paths"])
    with closing(sqlite3.connect(str(database))) as connection:
        stored = {path for (path,) in connection.execute("SELECT path FROM pages")}
    asked = Counter(str(row["path"]) for row in ground.rows())
    return len(truth - stored), sum(times - 1 for times in asked.values()), len(asked)
