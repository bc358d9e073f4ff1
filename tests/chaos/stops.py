"""Rows h: processes that stand still past their lease and wake up, and clocks that go wrong."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from crawl_tasks.frontier.inspect.inspector import Inspector
from tests.chaos.changing import ground_of
from tests.chaos.ground import Child, Ground
from tests.chaos.points import POINTS, Role
from tests.chaos.rows import Row, Scale
from tests.flow.world import CELERY
from tests.waiting import PATIENCE_S

AT = (
    "after the lease",
    "request sent, no answer read",
    "after the fetch",
    "before the commit",
    "before a failure is written",
    "store: items drawn",
)
ARMED = [point for point in POINTS if point.name in AT]


def run(scale: Scale, seed: int) -> list[Row]:
    """Stop workers past their lease; then set clocks wrong."""
    return [_stops(scale, seed), _clocks(scale, seed)]


def _stops(scale: Scale, seed: int) -> Row:
    stops = extra = refused = 0
    faults: list[str] = []
    with ground_of(scale, seed) as ground:
        ground.forum("--latency-ms", "5", "--fault", "error /post/.* probability=0.15")
        for number in range(scale.repeats):
            ground.begin()
            sleepers = [
                ground.nursery.fork(point.role, point, passes=1 + number % 2, signal="SIGSTOP") for point in ARMED
            ]
            ground.world.frontier.produce()
            _until(ground, lambda sleepers=sleepers: _have_hit(ground, sleepers))
            ground.nursery.fork(Role.STORE)
            for _ in range(3):
                ground.nursery.fork(Role.FETCH)
            ground.wait_idle()  # what the sleepers held has run out and was done by others
            refused += _wake(ground, sleepers, faults)
            verdict = ground.judge()
            faults += verdict.faults
            stops, extra = stops + len(sleepers) + 2, extra + verdict.extra
            refused += _relay(ground, faults)
    return Row(
        "SIGSTOP past the lease, then SIGCONT",
        f"{stops} stops at {len(ARMED)} points, one of them with the page in another's hand",
        f"0 stale writes ({refused} were refused), {extra} extra fetches",
        "0 stale writes",
        tuple(faults),
    )


def _have_hit(ground: Ground, sleepers: list[Child]) -> bool:
    """Return whether all stand still. One that stores may be left, and those that would tell it of pages do not."""
    ground.world.frontier.tick("chaos")
    return all(child.hit for child in sleepers)


def _wake(ground: Ground, sleepers: list[Child], faults: list[str]) -> int:
    """Wake them; give how many late writes were refused by their token."""
    before = ground.world.count_requests()
    for child in sleepers:
        os.kill(child.pid, signal.SIGCONT)
    fetching = [child for child in sleepers if child.role is Role.FETCH]
    _until(ground, lambda: all(child.accepted is not None for child in fetching))
    _until(ground, ground.world.is_idle)
    after = ground.world.count_requests()
    faults += [f"a stale write was accepted: {child.point}" for child in fetching if child.accepted]
    if (before.done, before.admitted) != (after.done, after.admitted):
        faults.append(f"the ledger moved: done {before.done}, then {after.done}")
    return sum(child.accepted is False for child in fetching)


def _relay(ground: Ground, faults: list[str]) -> int:
    """Stop a worker before its commit, and, when its lease has ended, a second one with the same page; wake both."""
    at = next(point for point in ARMED if point.name == "before the commit")
    site = ground.begin(window=1)
    ground.publish_site(site.model_copy(update={"named_boards": site.named_boards[:1]}), lease_ms=1500)
    ground.world.frontier.produce()
    first = ground.nursery.fork(at.role, at, signal="SIGSTOP")
    _until(ground, lambda: first.hit)
    second = ground.nursery.fork(at.role, at, signal="SIGSTOP")
    _until(ground, lambda: second.hit)
    attempts = [request.address for request in Inspector(ground.world.frontier).in_hand("demo")]
    paths = [str(row["path"]) for row in ground.rows()]
    if len(attempts) != 1 or len(paths) != 2 or len(set(paths)) != 1:
        faults.append(f"the second worker did not get the first one's page: {paths}, {attempts}")
    os.kill(first.pid, signal.SIGCONT)
    _until(ground, lambda: first.accepted is not None)
    if first.accepted:
        faults.append("a stale commit ended the lease of another worker")
    return int(first.accepted is False)


def _until(ground: Ground, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {ground.world.count_requests()}"
        ground.nursery.pump(0.03)


def _clocks(scale: Scale, seed: int) -> Row:
    figure, goal = "clocks an hour fast and an hour slow", "no effect"
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if library is None or shutil.which("faketime") is None:
        return Row(figure, "-", "skipped: the package faketime is not installed", goal)
    with ground_of(scale, seed) as ground:
        ground.forum("--latency-ms", "5")
        ground.begin(lease_ms=20_000)
        clean = ground.world.environment
        for name, offset in (("fast", "+1h"), ("slow", "-1h")):
            ground.world.environment = clean | {"LD_PRELOAD": str(library), "FAKETIME": offset}
            ground.world.start(name, *CELERY, "worker", "-Q", "list,detail", "-n", f"{name}@%h", "-c", "4")
        ground.world.environment = clean
        ground.nursery.fork(Role.FETCH, threads=4, hasty=False)
        ground.nursery.fork(Role.STORE, hasty=False)
        eager = ground.world.ready_workers
        _until(ground, lambda: "fast@" in eager() and "slow@" in eager())
        ground.world.frontier.produce()
        ground.wait_idle()
        verdict = ground.judge()
    faults = verdict.faults + ((f"{verdict.extra} pages were fetched again",) if verdict.extra else ())
    size = f"{verdict.pages} pages by 3 workers, one an hour fast, one an hour slow"
    return Row(figure, size, f"items exact, {verdict.fetches / verdict.pages:.3f} fetches a page", goal, faults)
