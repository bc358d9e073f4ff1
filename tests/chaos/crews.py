"""Rows: a whole local crawl killed at once, and its supervisor alone; no process is left, and the next run is right."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tests.chaos.rows import Row, Scale
from tests.flow.demo_run import Demo
from tests.waiting import eventually

KILLS_A_CRAWL = 4  # a page that each of them hits is tried a fifth time, which is its last
GONE_S = 30.0
DEADLINE_S = 5.0  # a lease lasts 15 s longer, and a killed page is asked for again after it
LATENCY_MS = 60  # a crawl of 337 pages takes longer than a start and a kill

Kill = Callable[[Demo, "subprocess.Popen[str]"], None]


def run(scale: Scale, seed: int) -> list[Row]:
    """Kill everything at once, then the supervisor alone, at drawn moments of starts and of crawls."""
    return [
        _row("a local crawl killed with -9, all its processes at once", scale.redis, seed, _kill_all),
        _row("the supervisor of a local crawl killed with -9 alone", 2 * scale.redis, seed, _kill_supervisor),
    ]


def _kill_all(demo: Demo, _: subprocess.Popen[str]) -> None:
    for process in demo.processes():
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _kill_supervisor(_: Demo, supervisor: subprocess.Popen[str]) -> None:
    supervisor.kill()


def _row(figure: str, kills: int, seed: int, kill: Kill) -> Row:
    chance, faults, killed, crawls = random.Random(f"{seed} {figure}"), [], 0, 0
    while killed < kills and len(faults) < kills:
        with TemporaryDirectory(prefix="crawl-crew-") as name:
            demo = Demo(Path(name).resolve())
            demo.write_site(deadline_s=DEADLINE_S)
            for _ in range(min(KILLS_A_CRAWL, kills - killed)):
                if not _is_killed(demo, kill, chance):
                    break
                killed += 1
                faults += _left(demo, killed)
            faults += [f"{fault}, after kill {killed}" for fault in _end(demo)]
            crawls += 1
        sys.stderr.write(f"{figure}: {killed}\n")
    goal = "0 processes left, the truth at the end"
    return Row(figure, f"{killed} kills in {crawls} crawls", goal if not faults else "see faults", goal, tuple(faults))


def _is_killed(demo: Demo, kill: Kill, chance: random.Random) -> bool:
    """Start or go on, and kill at a drawn moment: of the start, or a few pages later. False: it had ended before."""
    before, pages, until = demo.fetched(), chance.randint(1, 60), time.monotonic() + chance.uniform(0.2, 8)
    is_of_start = chance.random() < 0.5
    supervisor = demo.start("--latency-ms", str(LATENCY_MS))
    eventually(
        lambda: (
            supervisor.poll() is not None
            or (time.monotonic() >= until if is_of_start else demo.fetched() >= before + pages)
        )
    )
    is_there = supervisor.poll() is None
    if is_there:
        kill(demo, supervisor)
    supervisor.wait()
    assert supervisor.stdout
    supervisor.stdout.close()
    return is_there


def _left(demo: Demo, number: int) -> list[str]:
    """Name the processes that outlive a kill, and end them."""
    until = time.monotonic() + GONE_S
    while (left := demo.processes()) and time.monotonic() < until:
        time.sleep(0.1)
    named = [f"kill {number} left {' '.join(process.cmdline())[-120:]}" for process in left]
    for process in left:
        process.kill()
    return named


def _end(demo: Demo) -> list[str]:
    """Let the crawl go to its end, and compare."""
    with demo.start("--latency-ms", "0") as process:
        output, _ = process.communicate()
    if process.returncode:
        return [f"exit code {process.returncode}: {output[-400:]}"]
    report = json.loads((demo.home / "report.json").read_text("utf-8"))
    flaws = [ledger["imbalance"] for ledger in report["ledger"] if ledger["imbalance"]]
    return flaws if report["is_right"] else [*flaws, str(report["truth"])[:300]]
