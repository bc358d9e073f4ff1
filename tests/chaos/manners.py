"""Rows e and f: thresholds, slots and politeness, as the ledger and the forum's own log measure them."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from urllib.parse import urlsplit

from crawl_tasks.frontier.slot_throttle import TOLERANCE_S
from tests.chaos.door import Door, busy_machine
from tests.chaos.ground import Ground, new_ground
from tests.chaos.kills import Gauntlet
from tests.chaos.points import POINTS, Role
from tests.chaos.rows import Row, Scale

THRESHOLD = 100
NARROW = 20
EXPECTED = 30  # children of a list page, until one brings more
INTERVAL_S = 1.0
DELAY_S = 0.04
WINDOW = 3
CLOCK_S = 0.001  # Redis' clock counts in milliseconds here


@contextmanager
def _ground() -> Iterator[Ground]:
    with new_ground() as ground:
        ground.forum("--latency-ms", "60")
        yield ground


def threshold(scale: Scale, seed: int) -> list[Row]:
    """Produce and admit more than may wait."""
    with _ground() as ground:
        ground.begin(max_backlog=THRESHOLD)
        ground.world.frontier.sites.pause("demo")  # nothing leaves: whoever is wrong by one is wrong for ever
        for _ in range(20):
            ground.nursery.fork(Role.PRODUCER, threshold=THRESHOLD)
        most = samples = 0
        until = time.monotonic() + 3 * scale.repeats + 3
        while time.monotonic() < until:
            most, samples = max(most, ground.world.count_requests().open), samples + 1
            ground.nursery.pump()
        calls = ground.world.count_requests().count("known")
        ground.nursery.kill_all()
        faults = () if most == THRESHOLD else (f"the backlog was {most}",)
    return [
        Row(
            f"20 processes that admit and produce at a threshold of {THRESHOLD}",
            f"{samples:,} samples, {calls:,} requests were refused as known",
            f"backlog at most {most}",
            "never above the threshold",
            faults,
        )
    ]


def backlog(scale: Scale, seed: int) -> list[Row]:
    """Crawl at a threshold that one list page's children pass, while a worker dies every second."""
    with _ground() as ground:
        ground.begin(max_backlog=NARROW, window=8)
        for role, count in {Role.FETCH: 4, Role.STORE: 1, Role.BEAT: 1}.items():
            for _ in range(count):
                ground.nursery.fork(role)
        most = samples = kills = 0
        began = time.monotonic()
        while not ground.world.is_idle():
            most, samples = max(most, ground.world.count_requests().open), samples + 1
            ground.nursery.pump()
            if kills < min(12 * scale.repeats, time.monotonic() - began - 1):
                ground.nursery.kill(next(child for child in ground.nursery.living() if child.role is Role.FETCH))
                ground.nursery.fork(Role.FETCH)
                kills += 1
        bound = NARROW + max(EXPECTED, *map(int, ground.world.count_requests().fields.get("max_children", "0").split()))
        verdict = ground.judge()
        faults = verdict.faults + ((f"the backlog was {most}",) if most > bound else ())
    return [
        Row(
            f"a crawl at a threshold of {NARROW}, 4 workers, a death every second",
            f"{samples:,} samples, {verdict.pages} pages, {kills} kills",
            f"backlog at most {most}",
            f"never above {bound}, the threshold and one page's children",
            faults,
        )
    ]


def slots(scale: Scale, seed: int) -> list[Row]:
    """Make boards due for many at once."""
    with _ground() as ground:
        ground.begin(window=50)
        site = ground.world.publish(ground.base, window=50)
        once = site.interval.model_copy(update={"min_s": INTERVAL_S, "start_s": INTERVAL_S, "max_s": INTERVAL_S})
        ground.publish_site(site.model_copy(update={"interval": once}))
        for role, count in ((Role.BEAT, 5), (Role.PRODUCER, 3), (Role.FETCH, 3), (Role.STORE, 1)):
            for _ in range(count):
                ground.nursery.fork(role, threshold=0)
        began = time.monotonic()
        while time.monotonic() < began + 8 + 4 * scale.repeats:
            ground.nursery.pump(0.05)
        ground.world.frontier.sites.pause("demo")
        starts: dict[str, list[float]] = defaultdict(list)
        for row in ground.rows():
            if str(row["path"]).startswith("/list/") and str(row["path"]).endswith("/1"):
                starts[str(row["path"])].append(float(str(row["start"])))
        slots = (time.monotonic() - began) / INTERVAL_S + 1
        scans = sum(map(len, starts.values()))
        # The ledger's count too: what was begun too often may not have been fetched yet.
        keys, client = ground.world.frontier.keys, ground.world.client
        begun = {board.id: int(client.hget(keys.board("demo", board.id), "scan") or 0) for board in site.boards}
        counted = {path: len(times) for path, times in starts.items()} | begun
        faults = [f"{board}: {count} scans in {slots:.1f} slots" for board, count in counted.items() if count > slots]
    return [
        Row(
            "5 beats and 3 producers, boards due every second",
            f"{scans} scans of {len(starts)} boards in {slots:.0f} slots each",
            f"at most {max(begun.values())} scans of a board begun, {max(map(len, starts.values()))} fetched",
            "one scan for each board and slot",
            tuple(faults),
        )
    ]


def politeness(scale: Scale, seed: int) -> list[Row]:
    """Kill workers of a site that wants to be asked slowly, on a machine that has something else to do."""
    with _ground() as ground, closing(Door(urlsplit(ground.base).port or 0)) as door, busy_machine():
        ground.world.base = f"http://127.0.0.1:{door.port}"
        chance = random.Random(seed)
        fetching = [point for point in POINTS if point.role is Role.FETCH and not point.is_rare]
        gauntlet = Gauntlet(
            ground,
            [(point, chance.randint(1, 4)) for point in chance.choices(fetching, k=12 * scale.repeats)],
            crew={Role.FETCH: 8, Role.STORE: 1, Role.BEAT: 1},
            gate={"window": WINDOW, "delay_s": DELAY_S},
        )
        gauntlet.run()
    gaps = [after - before for before, after in pairwise(sorted(door.arrivals))]
    least = DELAY_S - TOLERANCE_S - CLOCK_S
    early = [gap for gap in gaps if gap < least]
    in_flight = max(int(str(row["in_flight"])) for row in gauntlet.rows)
    faults = list(gauntlet.faults)
    if in_flight > WINDOW:
        faults.append(f"{in_flight} requests were in flight at once")
    if early:
        faults.append(f"{len(early)} came too early, one by {(DELAY_S - min(early)) * 1000:.0f} ms")
    return [
        Row(
            f"politeness at the forum's door: 8 workers, window {WINDOW}, {DELAY_S * 1000:.0f} ms apart, busy cores",
            f"{len(door.arrivals):,} requests, robots.txt too, {sum(gauntlet.hits.values())} kills",
            f"at most {in_flight} in flight; {len(early)} too early; the nearest {min(gaps) * 1000:.1f} ms apart",
            f"at most {WINDOW} in flight; none nearer than {least * 1000:.0f} ms",
            tuple(faults),
        )
    ]
