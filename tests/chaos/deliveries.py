"""Row d: every message arrives several times, in any order, and again a month late."""

from __future__ import annotations

import random
import re
import time

from tests.chaos.changing import ground_of
from tests.chaos.ground import Ground
from tests.chaos.points import Role
from tests.chaos.rows import Row, Scale

MONTH_MS = 30 * 86_400_000
STAGES = ("list", "post", "comment")
ASIDE = "control"
"""The queue that the workers serve here: between it and those of the stages stands the postman."""


class Postman:
    """Carries messages from the stages' queues to the workers: each 2 to 8 times, shuffled, with old ones between."""

    def __init__(self, ground: Ground, chance: random.Random) -> None:
        self._client, self._chance = ground.world.client, chance
        self._bag: list[bytes] = []
        self._carried: list[bytes] = []
        self.messages = self.deliveries = 0

    def carry(self) -> None:
        """Empty the queues into the bag, and deliver about half of the bag, the workers' next ones first of all."""
        for stage in STAGES:
            for message in self._client.rpop(stage, 1000) or ():
                self.messages += 1
                self._carried.append(message)
                self._bag += [message] * self._chance.randint(2, 8)
        if self._carried and self._client.llen(ASIDE) < 200:
            self._bag += map(_late, self._chance.choices(self._carried, k=3))
            self._chance.shuffle(self._bag)
            half = (len(self._bag) + 1) // 2
            self._deliver(self._bag[:half])
            del self._bag[:half]

    def replay(self) -> None:
        """Deliver all that ever was, once more, a month late."""
        replayed = [_late(message) for message in self._carried] + self._bag
        self._chance.shuffle(replayed)
        self._deliver(replayed)

    def is_through(self) -> bool:
        """Return whether the workers have taken all that was delivered."""
        return self._client.llen(ASIDE) == 0

    def _deliver(self, messages: list[bytes]) -> None:
        self._client.lpush(ASIDE, *messages)
        self.deliveries += len(messages)


def _late(message: bytes) -> bytes:
    return re.sub(rb'"crawl_at":(\d+)', lambda at: b'"crawl_at":%d' % (int(at[1]) - MONTH_MS), message)


def run(scale: Scale, seed: int) -> list[Row]:
    """Deliver too often, too late and in disorder."""
    chance = random.Random(seed)
    messages = deliveries = pages = fetches = 0
    faults: list[str] = []
    with ground_of(scale, seed) as ground:
        ground.forum("--latency-ms", "2")
        for _ in range(scale.repeats):
            ground.begin(lease_ms=20_000)
            for _ in range(2):
                ground.nursery.fork(Role.FETCH, queues=[ASIDE], threads=8, hasty=False)
            ground.nursery.fork(Role.STORE)
            postman = Postman(ground, chance)
            ground.world.frontier.produce()
            _carry_all(ground, postman)
            before = ground.world.count_requests()
            postman.replay()
            _carry_all(ground, postman)
            after = ground.world.count_requests()
            if (before.done, before.admitted) != (after.done, after.admitted):
                faults.append(f"a month-old message was worked on: done {before.done}, then {after.done}")
            verdict = ground.judge()
            faults += verdict.faults
            if verdict.extra:
                faults.append(f"{verdict.extra} pages were fetched again")
            messages, deliveries = messages + postman.messages, deliveries + postman.deliveries
            pages, fetches = pages + verdict.pages, fetches + verdict.fetches
    return [
        Row(
            "every message 2 to 8 times, shuffled, and all again a month late",
            f"{messages:,} messages, {deliveries:,} deliveries to 16 threads of 2 workers",
            f"items exact, {fetches / pages:.3f} fetches a page",
            "items exact, 1.000 fetches a page",
            tuple(faults),
        )
    ]


def _carry_all(ground: Ground, postman: Postman) -> None:
    deadline = time.monotonic() + 120
    while not (ground.world.is_idle() and postman.is_through()):
        assert time.monotonic() < deadline, f"the crawl does not end: {ground.world.count_requests()}"
        postman.carry()
        ground.nursery.pump(0.02)
