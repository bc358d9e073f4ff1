"""Rows a: workers that die at every point of a page's life, and what it costs."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter, deque
from collections.abc import Mapping
from types import MappingProxyType

from tests.chaos.changing import ground_of
from tests.chaos.ground import Child, Ground
from tests.chaos.points import POINTS, KillPoint, Role
from tests.chaos.rows import Row, Scale

CREW = {Role.FETCH: 5, Role.STORE: 2, Role.BEAT: 1}

STANDS_STILL_S = 120.0

Order = tuple[KillPoint, int]


class Gauntlet:
    """Keeps a crew at work, each member armed with the next death that is ordered, crawl after crawl."""

    def __init__(
        self,
        ground: Ground,
        orders: list[Order],
        crew: Mapping[Role, int] = CREW,
        gate: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self._ground, self._crew, self._gate = ground, crew, gate
        self.rows: list[dict[str, object]] = []
        self._waiting: dict[Role, deque[Order]] = {role: deque() for role in Role}
        for point, passes in orders:
            self._waiting[point.role].append((point, passes))
        self._armed: dict[str, Order] = {}
        self.hits: Counter[str] = Counter()
        self.faults: list[str] = []
        self.pages = self.extra = self.crawls = self.overrun = self.parked = 0

    def run(self) -> None:
        """Crawl until every ordered death was died."""
        while any(self._waiting.values()):
            self._ground.begin(**self._gate)
            before = sum(self.hits.values())
            self._crawl()
            verdict = self._ground.judge()
            self.rows += self._ground.rows()
            kills = sum(self.hits.values()) - before
            self.faults += verdict.faults
            if parked := self._ground.world.count_requests().parked:
                self.parked += parked
                self.faults.append(f"{parked} pages parked for {kills} kills, {verdict.overrun} overrun leases")
            if verdict.extra > kills:
                self.faults.append(f"{verdict.extra} extra fetches for {kills} kills, {verdict.overrun} overrun leases")
            self.pages += verdict.pages
            self.extra += verdict.extra
            self.overrun += verdict.overrun
            self.crawls += 1
            sys.stderr.write(f"crawl {self.crawls}: {kills} kills, {self.hits.total()} in all\n")

    def _crawl(self) -> None:
        moved, since = (0, 0), time.monotonic()
        self._armed.clear()
        while not self._ground.world.is_idle():
            counts = self._ground.world.count_requests()
            if (now := (counts.done, self.hits.total())) != moved:
                moved, since = now, time.monotonic()
            assert time.monotonic() < since + STANDS_STILL_S, f"the crawl does not end: {counts}"
            self._bury()
            self._fill()
            self._ground.nursery.pump(0.03)
        self._bury()
        for point, _ in self._armed.values():  # what did not come to pass is ordered again, for the first pass
            self._waiting[point.role].appendleft((point, 1))

    def _fill(self) -> None:
        living = Counter(child.role for child in self._ground.nursery.living())
        for role, count in self._crew.items():
            for _ in range(count - living[role]):
                order = self._waiting[role].popleft() if self._waiting[role] else None
                child = self._ground.nursery.fork(role, *(order or ()))
                if order:
                    self._armed[child.name] = order

    def _bury(self) -> None:
        for child in list(self._ground.nursery.children.values()):
            if child.code is not None:
                self._count(child)
                del self._ground.nursery.children[child.name]

    def _count(self, child: Child) -> None:
        order = self._armed.pop(child.name, None)
        if child.hit and order:
            self.hits[order[0].name] += 1
        else:
            self.faults.append(f"a {child.role} worker ended by itself with {child.code}")


def orders(kills: int, seed: int, points: tuple[KillPoint, ...] = POINTS) -> list[Order]:
    """Order so many deaths at each point, each after a random number of passes, in random order, rare ones first."""
    chance = random.Random(seed)
    drawn = [(point, chance.randint(1, point.passes)) for point in points for _ in range(kills)]
    chance.shuffle(drawn)
    return sorted(drawn, key=lambda order: order[0].is_rare, reverse=True)


def run(scale: Scale, seed: int) -> list[Row]:
    """Kill workers at every point."""
    with ground_of(scale, seed) as ground:
        ground.forum("--latency-ms", "10", "--fault", "error /post/.* probability=0.15")
        gauntlet = Gauntlet(ground, orders(scale.kills, seed))
        gauntlet.run()
    kills = sum(gauntlet.hits.values())
    missed = [point.name for point in POINTS if gauntlet.hits[point.name] < scale.kills]
    return [
        Row(
            f"SIGKILLs of workers over {len(POINTS)} kill points",
            f"{kills} kills, at least {min(gauntlet.hits.values())} at each point; {gauntlet.pages:,} pages in"
            f" {gauntlet.crawls} crawls",
            f"0 lost, 0 duplicates, {gauntlet.extra} extra fetches ({gauntlet.extra / kills:.2f} a kill),"
            f" {gauntlet.overrun} of them for leases overrun by the living; {gauntlet.parked} parked",
            "0, 0, at most 1 a kill, 0 parked",
            (*gauntlet.faults, *(f"not hit often enough: {name}" for name in missed)),
        )
    ]
