"""The plain Celery crawler under the same deaths, for the last column."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.ground import Ground, Nursery, new_ground
from tests.chaos.plain import POINTS, VISIBLE_S, app
from tests.chaos.points import Role
from tests.chaos.rows import Row, Scale

CREW = 4
QUIET_S = VISIBLE_S + 6
MIDDLE, PAGES = 100, 337
POISON_S = 40.0
STOPS_AT = "before the items are stored"
ASIDE = "anytime"


def run(scale: Scale, seed: int) -> list[Row]:
    """Do to the plain crawler what is done to ours."""
    chance = random.Random(seed)
    with new_ground() as ground:
        ground.forum("--latency-ms", "10")
        database = ground.world.directory / "plain.db"
        environment = ground.world.environment | {"CHAOS_FORUM": ground.base, "CHAOS_DATABASE": str(database)}
        nursery = Nursery(ground.world.directory, environment, module="tests.chaos.plain")
        try:
            plain = Plain(ground, nursery, database)
            rows = [_kills(plain, chance, scale)]
            rows += [_harmed(plain, what, harm) for what, harm in HARMS.items()]
            return [*rows, _deliveries(plain, chance), _stops(plain), _manners(plain), _poison(plain)]
        finally:
            nursery.close()


@dataclass(frozen=True, slots=True)
class Plain:
    """The plain crawler's installation."""

    ground: Ground
    nursery: Nursery
    database: Path

    def begin(self) -> None:
        """Empty all, and send the boards' first pages."""
        self.nursery.kill_all()
        self.ground.begin()
        _begin(self.ground, self.database)

    def until_quiet(self, then: Callable[[], object] = lambda: None, within_s: float = 90.0) -> None:
        """Wait until nothing was fetched for longer than the visibility timeout; meanwhile do something."""
        began = since = time.monotonic()
        seen = -1
        while time.monotonic() - since < QUIET_S and time.monotonic() - began < within_s:
            then()
            self.nursery.pump(0.05)
            if (size := len(self.ground.rows())) != seen:
                seen, since = size, time.monotonic()

    def until_middle(self) -> None:
        """Wait for some pages."""
        deadline = time.monotonic() + 60
        while len(self.ground.rows()) < MIDDLE:
            assert time.monotonic() < deadline, "the plain crawler does not move"
            self.nursery.pump(0.02)

    def row(self, what: str, size: str, more: str = "") -> Row:
        """Judge."""
        lost, extra, pages = _judge(self.ground, self.database)
        return _row(what, size, f"{lost} of {PAGES} pages lost, {(pages + extra) / pages:.3f} fetches a page{more}")


def _row(what: str, size: str, result: str) -> Row:
    return Row(f"beside: {what}", size, result, "none: it is there to compare")


def _restart(ground: Ground) -> None:
    os.kill(ground.server.pid, signal.SIGKILL)
    ground.server.stop()
    ground.server.start()


HARMS: dict[str, Callable[[Ground], object]] = {
    "Redis killed with -9 and started again": _restart,
    "FLUSHALL": lambda ground: ground.world.client.flushall(),
    "the queue's key deleted": lambda ground: ground.world.client.delete("celery"),
    "the key of kombu's binding deleted": lambda ground: ground.world.client.delete("_kombu.binding.celery"),
}


def _harmed(plain: Plain, what: str, harm: Callable[[Ground], object]) -> Row:
    plain.begin()
    for _ in range(CREW):
        plain.nursery.fork(Role.FETCH)
    plain.until_middle()
    harm(plain.ground)
    plain.until_quiet()
    return plain.row(what, "1")


def _deliveries(plain: Plain, chance: random.Random) -> Row:
    plain.begin()
    client = plain.ground.world.client
    messages = deliveries = 0
    for _ in range(CREW):
        plain.nursery.fork(Role.FETCH, queues=[ASIDE])

    def carry() -> None:
        nonlocal messages, deliveries
        for message in client.rpop("celery", 1000) or ():
            copies = chance.randint(2, 8)
            client.lpush(ASIDE, *[message] * copies)
            messages, deliveries = messages + 1, deliveries + copies

    plain.until_quiet(carry)
    return plain.row("every message 2 to 8 times", f"{messages:,} messages, {deliveries:,} deliveries")


def _stops(plain: Plain) -> Row:
    plain.begin()
    sleepers = [plain.nursery.fork(Role.FETCH, at=STOPS_AT, passes=5, signal="SIGSTOP") for _ in range(CREW)]
    plain.nursery.fork(Role.FETCH)
    plain.until_quiet()
    for child in sleepers:
        os.kill(child.pid, signal.SIGCONT)
    plain.until_quiet()
    stopped = sum(child.hit for child in sleepers)
    return plain.row(
        "SIGSTOP past the visibility timeout, then SIGCONT",
        f"{stopped} stops",
        "; each that woke wrote what it held: nothing refuses it",
    )


def _manners(plain: Plain) -> Row:
    plain.begin()
    for _ in range(8):
        plain.nursery.fork(Role.FETCH)
    most = 0

    def look() -> None:
        nonlocal most
        most = max(most, int(plain.ground.world.client.llen("celery")))

    plain.until_quiet(look)
    rows = plain.ground.rows()
    starts = sorted(float(str(row["start"])) for row in rows)
    span = min(after - before for before, after in zip(starts, starts[10:], strict=False))
    in_flight = max(int(str(row["in_flight"])) for row in rows)
    result = f"{in_flight} in flight; 11 requests within {span:.3f} s; backlog up to {most}"
    return _row("politeness and backlog of 8 workers that nobody holds back", f"{len(rows)} requests", result)


def _poison(plain: Plain) -> Row:
    plain.begin()
    truth = json.loads((plain.ground.world.directory / "truth.json").read_text())
    path = next(path for path in truth["paths"] if path.startswith("/post/"))

    def fill() -> None:
        for child in [child for child in plain.nursery.children.values() if child.code is not None]:
            del plain.nursery.children[child.name]
        for _ in range(CREW - len(plain.nursery.living())):
            plain.nursery.fork(Role.FETCH, poison=[path])

    plain.until_quiet(fill, within_s=POISON_S)
    runs = sum(row["path"] == path for row in plain.ground.rows())
    return _row("a page that ends its process", "1", f"it ran {runs} times in {POISON_S:.0f} s, without an end")


def _kills(plain: Plain, chance: random.Random, scale: Scale) -> Row:
    waiting = [(point, chance.randint(1, 6)) for point in POINTS for _ in range(scale.kills)]
    chance.shuffle(waiting)
    hits: Counter[str] = Counter()
    lost = extra = pages = 0
    while waiting:
        plain.begin()
        _crawl(plain.ground, plain.nursery, waiting, hits)
        missed, again, asked = _judge(plain.ground, plain.database)
        lost, extra, pages = lost + missed, extra + again, pages + asked
    kills = hits.total()
    return _row(
        f"a plain Celery crawler, killed at {len(POINTS)} points",
        f"{kills} kills; {pages:,} pages",
        f"{lost} pages lost, {extra} extra fetches ({extra / max(1, kills):.2f} a kill)",
    )


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
