"""One whole crawl of a changing forum: worker processes, deaths, a rest, a full pass, and the judge."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from crawl_tasks.recovery.fsck import Check
from crawl_tasks.registry.site_publisher import board_terms, terms_of
from crawl_tasks.sites.loader import load_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import dump_site
from crawl_tasks.sites.stages import Walk
from crawl_tasks.store.upsert import Store
from tests.changing.feed import Reader
from tests.changing.judge import Difference, Judge
from tests.changing.named import Named
from tests.flow.world import SHORT_LEASE_MS, SITE, World, whole_lines
from tests.waiting import PATIENCE_S, eventually

SITE_FILE = Path(__file__).with_name("site.yaml")
CREW = {"list0": "list", "detail0": "detail", "detail1": "detail", "store0": "store"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a crawl goes.

    For `seconds` the forum changes, and so many `passes` over the whole of it begin meanwhile; `forum` are further
    options of its process. `database` is empty for SQLite. What is given in words is known to `words_s`.
    """

    seed: int = 1
    seconds: float = 20.0
    forum: tuple[str, ...] = ()
    kills: int = 0
    passes: int = 1
    database: str = ""
    has_full_pass: bool = True
    walk: Walk = Walk.CHAIN
    words_s: int = 60


class ChangingCrawl:
    """Acts on a world whose Redis runs, and leaves the processes to it."""

    def __init__(self, world: World, plan: Plan) -> None:
        self.world, self._plan = world, plan
        self.files = {name: world.directory / name for name in ("port", "truth.json", "requests.log", "answers.log")}
        url = plan.database or f"sqlite:///{world.directory / 'crawl.db'}"
        world.environment["CRAWL_DATABASE_URL"] = url
        self._store = Store(url)
        self._rng = Random(plan.seed)
        self.killed: list[str] = []

    def run(self) -> list[Difference]:
        """Crawl while the forum changes, to its rest and through a full pass; say what is wrong then."""
        plan = self._plan
        start_forum(self.world, ("--seed", str(plan.seed), "--seconds", str(plan.seconds), *plan.forum))
        self.publish()
        for name, queues in CREW.items():
            self._start(name, queues)
        for name in CREW:
            self.world.wait_for_worker(name)
        with self._store:
            reader = Reader(self._store, self.world.directory)
            self._crawl_on(reader)
            eventually(self.world.is_idle, every_s=0.1)
            for _ in range(1 if self._plan.has_full_pass else 2):  # a list that was kept hides what it led to
                self.world.crawl()
            if self._plan.has_full_pass:
                full_pass(self.world)
            return self.judge(reader)

    def publish(self) -> Site:
        """Publish the site with leases that end soon."""
        site = load_site(SITE_FILE).relocated(self.world.base)
        site = site.model_copy(update={"list": site.list.model_copy(update={"walk": self._plan.walk})})
        terms = terms_of(site) | {"lease_ms": SHORT_LEASE_MS}
        self.world.frontier.sites.publish(site.name, site.version, dump_site(site), terms, board_terms(site))
        return site

    def judge(self, reader: Reader) -> list[Difference]:
        """Hold everything against everything."""
        counts = self.world.count_requests()
        judge = Judge(self._store, self.files["truth.json"], SITE, self._plan.words_s)
        found = judge.differences()
        if not self._plan.has_full_pass:
            named = Named(judge.truth, self._answers())
            found = [one for one in found if one not in named]
        found += [Difference("change feed", "", fault) for fault in reader.faults()]
        if said := counts.imbalance():
            found.append(Difference("ledger", "", said))
        if counts.dead or counts.parked:
            found.append(Difference("dead or parked", "", f"{counts.dead} dead, {counts.parked} parked"))
        found += [Difference("fsck", "", str(one)) for one in Check(self.world.frontier, self._store).run()]
        return found

    def changes_of(self, post_id: str) -> list[str]:
        """Say what happened to a thread, in order."""
        truth = json.loads(self.files["truth.json"].read_text("utf-8"))
        return list(truth["posts"].get(post_id, {}).get("was", ()))

    def answers_about(self, post_id: str) -> list[str]:
        """Say what the forum's answers told of a thread, the last ones first."""
        return [
            f"{row['at']:.2f} {row['path']} {row['status']} v{row['versions'][post_id]} by {row['front']}"
            + (f", kept for {row['age_s']:.1f} s" if row["is_kept"] else "")
            for row in self._answers()
            if post_id in row["versions"]
        ][::-1]

    def _answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in whole_lines(self.files["answers.log"])]

    def _start(self, name: str, queues: str) -> None:
        options = ("-c", "1") if queues == "store" else ("-c", "8")
        self.world.start_worker(name, queues, *options)

    def _crawl_on(self, reader: Reader) -> None:
        """Look for due boards, kill workers and read the feed, until the forum rests."""
        plan = self._plan
        deaths = sorted(self._rng.uniform(0.1, 0.95) * plan.seconds for _ in range(plan.kills))
        passes = [plan.seconds * (number + 1) / (plan.passes + 1) for number in range(plan.passes)]
        began = time.monotonic()
        while not self.files["truth.json"].exists():
            lasts_s = time.monotonic() - began
            assert lasts_s < plan.seconds + PATIENCE_S, f"does not come to rest: {self.world.log_of('forum')}"
            if passes and lasts_s > passes[0]:
                del passes[0]
                begin_full_pass(self.world)
            go_on_with_full_pass(self.world)
            self.world.frontier.produce()
            while deaths and lasts_s > deaths[0]:
                del deaths[0]
                self._kill(self._rng.choice(sorted(CREW)))
            reader.read_on()
            time.sleep(0.25)

    def _kill(self, name: str) -> None:
        self.world.kill(name)
        self.killed.append(name)
        self._start(name, CREW[name])


def start_forum(world: World, options: tuple[str, ...]) -> None:
    """Start the changing forum's process; the world knows its address then."""
    port = world.directory / "port"
    port.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.changing.serve", "--port", "0", "--port-file", str(port)]
    command += ["--truth", str(world.directory / "truth.json"), "--log", str(world.directory / "requests.log")]
    world.start("forum", *command, "--answers", str(world.directory / "answers.log"), *options)
    eventually(lambda: world.ended("forum") or port.exists())
    world.base = f"http://127.0.0.1:{int(port.read_text())}"


def begin_full_pass(world: World) -> None:
    """Make the full pass of every board due."""
    for name in world.client.zrange("crawl:fulls", 0, -1):
        site, board = name.decode().split(" ")
        world.client.hset(f"crawl:s:{site}:board:{board}", "full_due", 0)


def go_on_with_full_pass(world: World) -> None:
    """Let every full pass under way take its next step when boards are looked for, without the pause between two."""
    for name in world.client.zrange("crawl:fulls", 0, -1):
        world.client.zadd("crawl:fulls", {name: 0})


def full_pass(world: World, wait: Callable[[], None] | None = None) -> None:
    """Make a full pass over all boards, from its beginning to its end."""
    begin_full_pass(world)
    before = -1
    while before != (before := world.count_requests().admitted):
        go_on_with_full_pass(world)
        world.frontier.produce()
        if wait is None:
            eventually(world.is_idle, every_s=0.05)
        else:
            wait()
