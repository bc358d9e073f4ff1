"""Rows b: Redis dies, loses its last writes, is emptied, or loses single keys; the crawl ends all the same."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from crawl_tasks.errors import BackendError
from tests.chaos.changing import ground_of
from tests.chaos.ground import Ground
from tests.chaos.points import Role
from tests.chaos.rows import Row, Scale

GOAL = "0 lost, 0 duplicates"

Harm = Callable[[], None]


class Ward:
    """One crawl after the other, each harmed once in its middle; notes how long it took to move again."""

    def __init__(self, ground: Ground, chance: random.Random) -> None:
        self.ground, self._chance = ground, chance
        self.faults: list[str] = []
        self.resumed_s: list[float] = []
        self.extra = self.crawls = 0

    def crawl(self, name: str, harm: Harm) -> None:
        """Crawl, do harm in the middle, and judge the end."""
        ground = self.ground
        ground.begin()
        for role in (*[Role.FETCH] * 4, Role.STORE):
            ground.nursery.fork(role)
        ground.world.frontier.produce()
        middle = self._chance.randint(60, 200)
        self.until(lambda: ground.world.count_requests().done >= middle and ground.database.exists())
        harm()
        self.until(lambda: ground.world.count_requests().admitted >= 0)  # the judge has a connection again
        began, done = time.monotonic(), ground.world.count_requests().done
        self.until(lambda: ground.world.count_requests().done > done or ground.is_idle())
        self.resumed_s.append(time.monotonic() - began)
        ground.wait_idle()
        verdict = ground.judge()
        sys.stderr.write(f"{name}: {self.resumed_s[-1]:.1f} s\n")
        self.faults += [f"{name}: {fault}" for fault in verdict.faults]
        self.extra, self.crawls = self.extra + verdict.extra, self.crawls + 1

    def until(self, condition: Callable[[], bool]) -> None:
        """Let the crawl go on until something is so."""
        deadline = time.monotonic() + 90
        while not self._holds(condition):
            assert time.monotonic() < deadline, f"does not move: {self._where()}"
            self.ground.nursery.pump(0.02)

    def _holds(self, condition: Callable[[], bool]) -> bool:
        try:
            return condition()
        except (BackendError, redis.RedisError):  # of the judge: Redis is away
            return False

    def _where(self) -> str:
        try:
            return str(self.ground.world.count_requests())
        except BackendError as error:
            return str(error)

    def rest(self, for_s: float) -> None:
        """Let the crawl go on for a while."""
        until = time.monotonic() + for_s
        self.until(lambda: time.monotonic() > until)

    def row(self, figure: str, what: str) -> Row:
        """Sum up."""
        worst, mean = max(self.resumed_s), sum(self.resumed_s) / len(self.resumed_s)
        result = f"{GOAL}; {self.extra} extra fetches; moves again after {mean:.1f} s, at most {worst:.1f} s"
        return Row(figure, f"{self.crawls} {what}", result, GOAL, tuple(self.faults))


@contextmanager
def _ward(scale: Scale, seed: int) -> Iterator[Ward]:
    with ground_of(scale, seed) as ground:
        ground.forum("--latency-ms", "10")
        yield Ward(ground, random.Random(seed))


def deaths(scale: Scale, seed: int) -> list[Row]:
    """Kill Redis and start it again."""
    with _ward(scale, seed) as ward:
        for _ in range(scale.redis):
            ward.crawl("killed", lambda: _restart(ward.ground, 0))
    return [ward.row("Redis killed with -9 and started again, workers running on", "deaths")]


def cuts(scale: Scale, seed: int) -> list[Row]:
    """Let Redis lose its last writes."""
    cuts = [1, 5_000, 60_000, 0.5, 2.0]
    with _ward(scale, seed) as ward:
        for number in range(scale.redis):
            cut = cuts[(number * 2 + 1) % len(cuts)]
            ward.crawl(f"cut {cut}", lambda cut=cut: _restart(ward.ground, cut))
    return [ward.row("power loss: the append-only file cut by 1 byte to 2 s of writes", "cuts")]


def _restart(ground: Ground, cut: float) -> None:
    """Kill Redis and start it again; its file is cut by so many bytes, or (below 10, but 1) seconds of writes."""
    size = _file(ground).stat().st_size
    if isinstance(cut, float):
        time.sleep(cut)
    os.kill(ground.server.pid, signal.SIGKILL)
    ground.server.stop()
    file = _file(ground)
    if isinstance(cut, float):
        os.truncate(file, size)
    elif cut:
        os.truncate(file, max(0, file.stat().st_size - cut))
    ground.server.start()


def _file(ground: Ground) -> Path:
    return next((ground.server.directory / "appendonlydir").glob("*.incr.aof"))


def floods(scale: Scale, seed: int) -> list[Row]:
    """Empty Redis."""
    with _ward(scale, seed) as ward:

        def flush() -> None:
            ward.ground.world.client.flushall()
            _command(ward.ground, "recover")

        for _ in range(max(1, scale.redis // 2)):
            ward.crawl("emptied", flush)
    return [ward.row("FLUSHALL in mid-crawl, then `crawl-tasks recover`", "times")]


def losses(scale: Scale, seed: int) -> list[Row]:
    """Delete all keys of a kind, another kind in each crawl; kinds are learned from what stands in Redis."""
    chance = random.Random(seed)
    waiting: list[str] = []
    seen: set[str] = set()
    most = 3 if scale.name == "short" else 1000
    with _ward(scale, seed) as ward:
        while len(seen) < most:

            def lose() -> None:
                keys = [key.decode() for key in ward.ground.world.client.keys("*")]
                waiting.extend(sorted({_kind(key) for key in keys} - seen - set(waiting)))
                if scale.name == "short":
                    chance.shuffle(waiting)
                kind = waiting.pop(0)
                doomed = [key for key in keys if _kind(key) == kind]
                if not doomed:  # of an earlier crawl: its turn comes when it is there again
                    return
                seen.add(kind)
                ward.ground.world.client.delete(*doomed)
                if ward.ground.check_deep("--mend"):
                    _command(ward.ground, "recover", "--force")

            ward.crawl(f"deleted {len(seen)}", lose)
            if not waiting:
                break
    return [
        ward.row("every kind of key deleted, then `check --mend`, then `recover --force` where it says so", "kinds")
    ]


def _kind(key: str) -> str:
    """Name the kind of a key: numbers, buckets and process names left out."""
    return re.sub(
        r"(:board|:seen:\w+|:tail|:ready:\w+):.*", r"\1", re.sub(r"pidbox.*|celeryev.*", "remote control", key)
    )


def _command(ground: Ground, *arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "crawl_tasks", *arguments],
        env=ground.world.environment,
        cwd=ground.world.directory,
        capture_output=True,
        timeout=150,
        check=False,
    )
    return done.returncode
