"""`python -m tests.isolation.hostile_run`: good pages beside hostile ones on one site, by `crawl-tasks run`.

Ends with 1 where a good page is not stored in twice its time alone, one deadline and the rests that the site names by
Retry-After, or where an address is asked for more often than its attempts and probes allow.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from tests.flow.world import ROOT
from tests.frontier.small_crawl import RULES
from tests.isolation.hostile_pages import GOOD, REFUSALS, hostile_pages, html
from tests.unit.hostile_server import HostileServer, Visit, not_found
from tests.waiting import PATIENCE_S

SITE = "demo"
MOST_ATTEMPTS = 5
HOPS = 6
"""Requests of one attempt: five redirects are followed, and an idle connection that was closed costs a second one."""

NAMED_S = 1 + 7 + 3
"""Rests that the hostile pages name by Retry-After, and the one in place of a day."""

FAR_S = 1800.0
"""A request that waits longer has been asked to: nobody waits for it here."""


@dataclass(frozen=True)
class Terms:
    """The terms of a run."""

    good: int = 50
    hostile: tuple[str, ...] = tuple(dict(hostile_pages()))
    window: int = 16
    deadline_s: float = 10.0
    latency_s: float = 0.1
    seed: int = 1


@dataclass
class Outcome:
    """The seconds until the last good page was stored, how often each address was asked for, and what became of it."""

    stored: int = 0
    took_s: float = 0.0
    ended_after_s: float = 0.0
    counts: RequestCounts | None = None
    asked: Counter[str] = field(default_factory=Counter)
    names: dict[str, str] = field(default_factory=dict)

    def asked_too_often(self) -> list[str]:
        """Name the pages that were asked for more often than their attempts, and as probes of a site that refuses."""
        # The distance of probes doubles from a second on.
        probes = math.ceil(math.log2(self.ended_after_s + 2))
        return [
            f"{self.names[path]}: {times} times"
            for path, times in self.asked.items()
            if times > MOST_ATTEMPTS * (HOPS if "redirect" in self.names[path] else 2) + probes
        ]


@contextmanager
def _forum(terms: Terms, names: dict[str, str]) -> Iterator[HostileServer]:
    """Serve a board that lists good and hostile pages in a drawn order; note the names of the hostile ones."""
    answers = dict(hostile_pages())
    numbers = list(range(1, terms.good + len(terms.hostile) + 1))
    random.Random(terms.seed).shuffle(numbers)
    rows = "".join(
        f"<div class=row data-id={number}><a class=t>x</a><i class=n>0</i></div>" for number in sorted(numbers)
    )

    def good_page(visit: Visit) -> None:
        time.sleep(terms.latency_s)
        html(GOOD)(visit)

    def any_page(visit: Visit) -> None:
        good_page(visit) if visit.target in good else not_found(visit)

    good = {f"/post/{number}" for number in numbers[: terms.good]}
    forum = HostileServer({"/list/1/1": html(rows)}, any_page)
    for number, name in zip(numbers[terms.good :], terms.hostile, strict=True):
        forum.routes[f"/post/{number}"] = answers[name]
        names[f"/post/{number}"] = name
    try:
        yield forum
    finally:
        forum.stop()


def run(terms: Terms, *, most_s: float = PATIENCE_S, until_settled_s: float = 0.0) -> Outcome:
    """Crawl until all good pages are stored, and further until the hostile ones have ended as well."""
    outcome = Outcome()
    with TemporaryDirectory(prefix="crawl-hostile-") as name, _forum(terms, outcome.names) as forum:
        home, process = Path(name), None
        gate = f"gate: {{window: {terms.window}, delay_s: 0, deadline_s: {terms.deadline_s}}}\nboards: [1]\n"
        text = RULES.replace("gate: {window: 50, delay_s: 0, retry_base_s: 0.1}\n", gate)
        text = text.replace("http://127.0.0.1:1\n", f'{forum.base}\nprivate_hosts: ["{forum.place}"]\n')
        (home / f"{SITE}.yaml").write_text(text, "utf-8")
        try:
            with (home / "run.log").open("wb") as log:
                process = _start(home, terms, log)
                _watch(forum, home, terms, outcome, most_s, until_settled_s)
        finally:
            if process:
                process.terminate()
                process.wait(timeout=PATIENCE_S)
        outcome.asked = Counter(visit.target.partition("?")[0] for visit in forum.visits)
        outcome.asked = Counter({path: outcome.asked[path] for path in outcome.names})
    return outcome


def _start(home: Path, terms: Terms, log: object) -> subprocess.Popen[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("CRAWL_")}
    env |= {"CRAWL_SITES_DIR": str(home), "CRAWL_STATE_DIR": str(home / "state"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "crawl_tasks", "run", SITE, "--until-idle", "--threads", str(terms.window)]
    return subprocess.Popen(command, cwd=home, env=env, stdout=log, stderr=log, start_new_session=True)


def _watch(
    forum: HostileServer, home: Path, terms: Terms, outcome: Outcome, most_s: float, until_settled_s: float
) -> None:
    while not any(path.startswith("/post/") for path in forum.paths()):
        time.sleep(0.02)
    began = time.monotonic()
    while (stored := _stored(home)) < terms.good and time.monotonic() - began < most_s:
        time.sleep(0.05)
    outcome.stored, outcome.took_s = stored, time.monotonic() - began
    sys.stderr.write(f"{outcome.stored} good pages after {outcome.took_s:.1f} s\n")
    url = (home / "state" / "redis.url").read_text("utf-8").strip()
    with redis.Redis.from_url(url) as client:
        while True:
            outcome.counts = Inspector(Frontier(client, "crawl")).count_requests(SITE)
            waits = client.zcount(f"crawl:s:{SITE}:delayed", (time.time() + FAR_S) * 1000, "+inf")
            outcome.ended_after_s = time.monotonic() - began
            if outcome.counts.open <= waits or outcome.ended_after_s > outcome.took_s + until_settled_s:
                return
            time.sleep(0.5)


def _stored(home: Path) -> int:
    file = f"file:{home}/state/crawl.db?mode=ro"
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(file, uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM posts WHERE body = 'hello'").fetchone()[0])
    return 0


def main() -> int:
    """Run the good pages alone and beside the hostile ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.isolation.hostile_run", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only hostile pages whose name holds a word")
    for name in ("good", "window", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Terms(), name), help="(default: %(default)s)")
    parser.add_argument("--deadline", type=float, default=Terms().deadline_s, help="seconds (default: %(default)s)")
    parser.add_argument(
        "--settle", type=float, default=1800.0, help="seconds for good ones, and again for hostile ones"
    )
    chosen = parser.parse_args()
    hostile = tuple(name for name in Terms.hostile if not chosen.words or any(word in name for word in chosen.words))
    terms = Terms(chosen.good, hostile, chosen.window, chosen.deadline, seed=chosen.seed)
    alone = run(replace(terms, hostile=()))
    beside = run(terms, most_s=chosen.settle, until_settled_s=chosen.settle)
    allowed_s = 2 * alone.took_s + terms.deadline_s + NAMED_S
    counts, much = beside.counts, beside.asked_too_often()
    assert counts
    sys.stdout.write(
        f"{terms.good} good pages: {alone.took_s:.1f} s alone, {beside.took_s:.1f} s beside {len(beside.names)} hostile"
        f" ones, allowed {allowed_s:.1f} s; {beside.stored} stored\nafter {beside.ended_after_s:.0f} s: {counts.done}"
        f" done, {counts.parked} parked, {counts.dead} dead, {counts.open} open; {beside.asked.total()} requests\n"
    )
    for path, times in beside.asked.most_common(15):
        sys.stdout.write(f"  {times:3} {beside.names[path]}{' (a refusal)' * (beside.names[path] in REFUSALS)}\n")
    sys.stdout.write(f"too often: {much or 'none'}\n")
    return int(bool(much) or beside.stored < terms.good or beside.took_s > allowed_s)


if __name__ == "__main__":
    sys.exit(main())
