"""`python -m tests.isolation.soak`: six changing forums, two of which fall ill, and what that costs the other four.

Two crawls of the same length and seed follow each other: one of the four well sites alone, one with the ill ones.
Workers
of threads and of processes, beat, a store worker and the notifier run as they do for anybody. In the second crawl one
site has hanging pages and a tag of 60,000 attributes, the other refuses all posts for a while and has a function that
hangs; a worker is killed, and one is started with an option that cannot work. The command ends with 1 when a well site
differs from the truth, a ledger does not balance, or an alert does not end.
"""

from __future__ import annotations

import argparse
import logging
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from crawl_tasks.frontier.admin.alert_state import AlertState
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.monitor import marks
from crawl_tasks.monitor.alerts import notifier
from crawl_tasks.monitor.cell_snapshots import Snapshots
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.hang_watch import HUNG_EXIT
from tests.changing.crawl import SITE_FILE, begin_full_pass, go_on_with_full_pass
from tests.changing.judge import Judge, by_kind
from tests.flow.test_events import events_of
from tests.flow.world import CELERY, World
from tests.isolation.ill_forums import ILLNESS, IllForum
from tests.waiting import PATIENCE_S, eventually

WELL = ("well1", "well2", "well3", "well4")
BAD_PAGES, REFUSES = "badpages", "refuses"
GATE = {"window": 4, "delay_s": 0.25, "deadline_s": 5.0, "retry_base_s": 0.5, "retry_max_s": 5.0}
CREW = {
    "list": ("list,control", "-c", "4"),
    "threads": ("detail", "-c", "8"),
    "processes": ("detail", "-P", "prefork", "-c", "4", "--time-limit", "60"),
    "store": ("store", "-c", "1"),
}
CHANGES_A_SECOND = 2
HOLD_MS = 5_000
OUTCOMES = re.compile(r"\b(done|gone|delayed|ready|parked|dead|lease lost)\b")
STATES = {"task-succeeded": "SUCCESS", "task-failed": "FAILURE", "task-retried": "RETRY"}
WINDOWS = 6
"""Parts of a crawl of which one is the window of the alerts, which is a quarter of an hour elsewhere."""


class Step(NamedTuple):
    """A step of the plan: when, as a share of the time, and the alert that must have begun before, if any."""

    at: float
    act: Callable[[], None]
    after: str = ""


@dataclass
class Result:
    """What a crawl came to."""

    seconds: float
    done: dict[str, int] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    alerts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    ledger: Counter[str] = field(default_factory=Counter)


class Soak:
    """One crawl on a world of its own."""

    def __init__(self, world: World, seconds: float, seed: int, *, is_ill: bool) -> None:
        self._world, self._seconds, self._seed = world, seconds, seed
        self._sites = [*WELL, *([BAD_PAGES, REFUSES] if is_ill else [])]
        self._fronts: dict[str, IllForum] = {}
        self._bases: dict[str, str] = {}
        self._began = 0.0
        self._firing: dict[str, float] = {}
        self._fired: set[str] = set()
        self.result = Result(seconds)
        self._illness = world.directory / ILLNESS.name
        look = Snapshots(world.frontier).look
        self._notifier = notifier.Notifier(
            look, AlertState(world.frontier.scripts), [], "soak", 3_600_000, hold_ms=HOLD_MS
        )

    def run(self) -> Result:
        """Crawl, let the forums come to rest, and judge."""
        with events_of(self._world.server.url) as events:
            self._start()
            plan = self._plan() if self._fronts else []
            self._go_on(lambda: self._lasts_s() >= self._seconds, plan)
            self.result.done = {site: self._counts(site).done for site in WELL}
            self._settle()
            self._compare_events(events)
        for front in self._fronts.values():
            front.server.stop()
        return self.result

    # -- the crawl -----------------------------------------------------------------------------------------------

    def _start(self) -> None:
        world = self._world
        for number, site in enumerate(self._sites):
            command = [sys.executable, "-m", "tests.changing.serve", "--port=0", f"--seed={self._seed + number}"]
            command += [
                f"--seconds={self._seconds}",
                f"--rate={CHANGES_A_SECOND}",
                f"--truth={self._file(site, 'truth')}",
            ]
            world.start(f"forum-{site}", *command, f"--port-file={self._file(site, 'port')}")
        for name, options in CREW.items():
            world.start_worker(name, *options, "-E")
        for site in self._sites:
            eventually(self._file(site, "port").exists)
            base = f"http://127.0.0.1:{int(self._file(site, 'port').read_text())}"
            if site not in WELL:
                self._fronts[site] = IllForum(base)
                base = self._fronts[site].server.base
            self._bases[site] = base
        for name in CREW:
            world.wait_for_worker(name)
        for site in self._sites:
            self._publish(site, GATE)
        world.start("beat", *CELERY, "beat")
        self._began = time.monotonic()

    def _publish(self, site: str, gate: dict[str, float]) -> None:
        terms = load_site(SITE_FILE).relocated(self._bases[site]).model_dump(by_alias=True, exclude_defaults=True)
        function = {"function": f"{IllForum.__module__}:hangs_on_some"}
        changes = {"name": site, "gate": gate, "items": [function] if site == REFUSES else []}
        publish_site(self._world.frontier, Site.model_validate(terms | changes), contact=None)

    def _plan(self) -> list[Step]:
        """Return what happens when. A cause lasts until its alert has begun, however short the crawl is."""
        bad_pages, refuses = self._fronts[BAD_PAGES], self._fronts[REFUSES]
        return [
            Step(
                0.05, lambda: self._note("three pages hang, one has 60,000 attributes", bad_pages, has_bad_pages=True)
            ),
            Step(0.05, self._let_functions_hang),
            Step(0.25, lambda: self._note("all posts of the other are refused", refuses, is_refusing=True)),
            Step(0.35, self._start_a_worker_that_cannot_work),
            Step(0.45, self._kill_a_worker),
            Step(
                0.55,
                lambda: self._note("posts are answered again", refuses, is_refusing=False),
                f"CrawlSiteRefuses {REFUSES}",
            ),
            Step(0.65, lambda: self._note("no page hangs", bad_pages, has_bad_pages=False)),
            Step(0.65, self._let_functions_return, f"CrawlHung {REFUSES}"),
        ]

    def _note(self, text: str, front: IllForum | None = None, **illness: bool) -> None:
        for name, value in illness.items():
            setattr(front, name, value)
        self.result.notes.append(f"{self._lasts_s():.0f} s: {text}")

    def _let_functions_hang(self) -> None:
        self._illness.touch()
        self._note("a function hangs")

    def _let_functions_return(self) -> None:
        self._illness.unlink()
        self._note("the function returns")

    def _start_a_worker_that_cannot_work(self) -> None:
        code = self._world.start_worker("refused", "detail", "--autoscale=10,2").wait(timeout=PATIENCE_S)
        del self._world.processes["refused"]
        self._note(f"--autoscale=10,2 is refused, exit code {code}")

    def _kill_a_worker(self) -> None:
        self._world.kill("threads")
        self._world.start_worker("threads", *CREW["threads"], "-E")
        self._note("a worker of 8 threads is killed and another started")

    def _go_on(self, is_over: Callable[[], object], plan: list[Step]) -> None:
        """Look for alerts, start workers that ended, and do what is planned, until all of it is over."""
        while plan or not is_over():
            while plan and self._is_due(plan[0]):
                plan.pop(0).act()
            self._supervise()
            self._look()
            time.sleep(0.5)

    def _is_due(self, step: Step) -> bool:
        late_s = self._lasts_s() - step.at * self._seconds
        if late_s > PATIENCE_S and step.after not in self._fired:
            self.result.faults.setdefault("alerts", []).append(f"{step.after} never began")
            return True
        return late_s >= 0 and (not step.after or step.after in self._fired)

    def _supervise(self) -> None:
        for name, options in CREW.items():
            code = self._world.processes[name].poll()
            if code is not None:
                lost = ", having lost most threads" if code == HUNG_EXIT else ""
                self._note(f"worker {name} ended with {code}{lost}, and another is started")
                self._world.start_worker(name, *options, "-E")

    def _look(self) -> None:
        for news in self._notifier.look():
            key = f"{news.problem.name} {news.problem.subject}"
            if key in self._firing:
                began = self._firing.pop(key)
                row = f"| `{news.problem.name}` | {news.problem.subject} | {began:.0f} s | {self._lasts_s():.0f} s |"
                self.result.alerts.append(row)
            else:
                self._firing[key] = self._lasts_s()
                self._fired.add(key)

    # -- the end -------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Let all come to rest; ask for the failed pages once more; make a full pass; judge."""
        world = self._world
        beat = world.processes.pop("beat")
        beat.terminate()
        beat.wait(timeout=PATIENCE_S)
        for site in self._sites:
            eventually(self._file(site, "truth").exists, every_s=0.1)
            self._publish(site, GATE | {"window": 16, "delay_s": 0.0})
        self._wait(self._is_idle)
        for site in self._fronts:
            counts = self._counts(site)
            self._note(
                f"{site}: {counts.done} done, {counts.parked} parked, {counts.dead} dead, each is asked for again"
            )
            retry = sys.executable, "-m", "crawl_tasks", "failed", "retry", "--site", site
            for state in ("dead", "parked"):
                world.run(f"retry-{site}-{state}", *retry, "--state", state)
        self._wait(self._is_idle)
        self._full_pass()
        self._wait(lambda: not self._firing)
        with Store(f"sqlite:///{world.directory / 'crawl.db'}") as store:
            for site in self._sites:
                found = by_kind(Judge(store, self._file(site, "truth"), site).differences())
                self.result.faults[site] = [*found, *filter(None, [self._counts(site).imbalance()])]
        self.result.faults["all"] = [*world.findings(), *(f"{key} still fires" for key in self._firing)]

    def _full_pass(self) -> None:
        world, before = self._world, -1
        for board in world.client.zrange("crawl:boards", 0, -1):
            world.client.zadd("crawl:boards", {board: 0})
        begin_full_pass(world)
        while before != (before := sum(self._counts(site).admitted for site in self._sites)):
            go_on_with_full_pass(world)
            world.frontier.produce()
            self._wait(self._is_idle)

    def _wait(self, is_over: Callable[[], object]) -> None:
        deadline = time.monotonic() + self._seconds + PATIENCE_S
        self._go_on(lambda: is_over() or time.monotonic() > deadline, [])

    def _is_idle(self) -> bool:
        return not any(self._counts(site).open for site in self._sites) and self._world.frontier.outbox.size() == 0

    def _compare_events(self, events: list[dict[str, object]]) -> None:
        """Count the tasks by their last states, as Flower does, and the ledger's pages and failures."""
        last = {
            str(event["uuid"]): f"{STATES[str(event['type'])]} {found[1]}"
            for event in list(events)
            if (found := OUTCOMES.search(str(event.get("exception", event.get("result", "")))))
        }
        self.result.events = Counter(last.values())
        for fields in (self._counts(site).fields for site in self._sites):
            self.result.ledger += Counter(
                {k: int(v) for k, v in fields.items() if k.startswith(("done:", "gone:", "failed:"))}
            )

    def _counts(self, site: str) -> RequestCounts:
        return Inspector(self._world.frontier).count_requests(site)

    def _file(self, site: str, kind: str) -> Path:
        return self._world.directory / f"{site}.{kind}"

    def _lasts_s(self) -> float:
        return time.monotonic() - self._began


def crawl(seconds: float, seed: int, *, is_ill: bool) -> Result:
    """Crawl in a temporary directory."""
    with TemporaryDirectory(prefix="crawl-soak-") as name:
        server = RedisServer(Path(name) / "redis")
        server.start()
        world = World(Path(name), server)
        try:
            return Soak(world, seconds, seed, is_ill=is_ill).run()
        finally:
            world.close()
            server.stop()


def main() -> int:
    """Crawl twice and print the figures."""
    logging.disable(logging.ERROR)
    parser = argparse.ArgumentParser(prog="python -m tests.isolation.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of both crawls together (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the forums (default: %(default)s)")
    options = parser.parse_args()
    seconds = options.minutes * 30
    marks.WINDOW_MS = round(seconds * 1000 / WINDOWS)
    alone, beside = (crawl(seconds, options.seed, is_ill=is_ill) for is_ill in (False, True))
    sys.stdout.write(report(alone, beside))
    return int(any(fault for result in (alone, beside) for fault in result.faults.values()))


def report(alone: Result, beside: Result) -> str:
    """Return the figures as tables."""
    hourly = 3600 / alone.seconds
    lines = ["| site | pages an hour alone | beside ill sites | share |", "|---|---|---|---|"]
    for site in WELL:
        ours, theirs = (round(result.done[site] * hourly) for result in (alone, beside))
        lines.append(f"| {site} | {ours:,} | {theirs:,} | {theirs / max(1, ours):.1%} |")
    lines += ["", "| alert | site | begins | ends |", "|---|---|---|---|", *beside.alerts, "", *beside.notes, ""]
    for name, result in (("alone", alone), ("beside ill sites", beside)):
        faults = [f"{site}: {fault}" for site, found in result.faults.items() for fault in found]
        lines += [f"{name}: {len(faults)} faults in {', '.join(result.faults)}", *faults]
        lines += [f"{name}, Celery's events: {_listed(result.events)}", f"{name}, the ledger: {_listed(result.ledger)}"]
    lines += [f"alone, alerts: {len(alone.alerts)}", *alone.alerts]
    return "\n".join([*lines, ""])


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
