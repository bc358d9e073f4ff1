"""`python -m tests.freshness.live`: the time from posting to the row, with real workers, beat and Redis.

A forum of 50 boards with 0.5 new items a second stands behind a gate of two requests a second. Each policy watches it
in turn, at about the same number of list requests. Times are those of the forum's own log and of the database.
With `--history N` a first crawl of N threads a board goes on meanwhile.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.monitor.freshness import SHARE, expected_delay_s
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.flow.world import CELERY, World
from tests.freshness.live_forum import PAST_THREADS, RULES, LiveForum, live_forum
from tests.waiting import eventually

BOARDS, RATE_S, GATE_S = 50, 0.5, 2.0
SITE = "live"
PAGES_A_SCAN = 1.3
"""List pages of a scan in the mean, as a scan with news walks on. Scans at fixed intervals know no budget."""
LOOK_S = 0.1
"""Seconds between two looks at the database."""

POLICIES = {
    "fixed": "schedule: fixed\ninterval: {{min_s: 1, start_s: {uniform:g}, max_s: 86400}}",
    # Bounds that spend about the budget: by halves and x 1.5 it scans where a scan finds something in 37 of 100.
    "adaptive": "schedule: adaptive\ninterval: {{min_s: 15, start_s: {uniform:g}, max_s: 900}}",
    "priced": "freshness: {{goal_s: {goal:g}, requests_s: {budget:g}}}\ninterval: {{min_s: 1, start_s: {uniform:g}}}",
}
POLICIES["news"] = POLICIES["front"] = POLICIES["priced"]


@dataclass(frozen=True)
class Plan:
    """A run: seconds of posting measured, before and after, list requests a second, goal in seconds, and the seed.

    With `history`, the first crawl of so many threads a board goes on while the forum is watched.
    """

    seconds: float = 240.0
    warm_up_s: float = 90.0
    drain_s: float = 60.0
    budget_s: float = 1.0
    goal_s: float = 10.0
    seed: int = 1
    history: int = 0

    @property
    def uniform_s(self) -> float:
        """The interval by which fixed scans spend the budget."""
        return BOARDS * PAGES_A_SCAN / self.budget_s

    def site_file(self, policy: str, *, is_open: bool) -> str:
        """Return the site file. An open gate is for the first crawl."""
        boards = [str(number + 1) for number in range(BOARDS)]
        if policy in ("news", "front"):
            boards.append(f"{{id: {policy}, kind: {policy}, address: /{policy}}}")
        terms = POLICIES[policy].format(uniform=self.uniform_s, goal=self.goal_s, budget=self.budget_s)
        gate = "{window: 16, delay_s: 0}" if is_open else f"{{window: 4, delay_s: {1 / GATE_S:g}}}"
        return f"{RULES}gate: {gate}\nboards: [{', '.join(boards)}]\n{terms}\n"


@dataclass
class Result:
    """Requests a second, delays in seconds, and by board the predicted and the true 95th percentile until listed."""

    lists_s: float
    requests_s: float
    to_list: list[float]
    to_fetch: list[float]
    to_row: list[float]
    listed_to_row: list[float]
    missing: int
    predicted_s: float | None = None
    boards: list[tuple[str, int, float, float]] = field(default_factory=list)


@dataclass
class Run:
    """One policy at work."""

    world: World
    forum: LiveForum
    plan: Plan
    policy: str
    looks: list[dict[str, tuple[float, float]]] = field(default_factory=list)

    def publish(self, *, is_open: bool) -> None:
        text = self.plan.site_file(self.policy, is_open=is_open)
        publish_site(self.world.frontier, parse_site(text, "live.yaml").relocated(self.forum.base), contact=None)

    def first_crawl(self) -> None:
        """Crawl the forum's past through an open gate, and spread the boards' due times over their intervals.

        With a history the gate is narrow from the beginning, and only the first pages of all boards are waited for.
        """
        self.publish(is_open=not self.plan.history)
        self.world.environment["CRAWL_PRODUCE_EVERY_S"] = "1"
        self.world.workers()
        self.world.start("beat", *CELERY, "beat")
        begun = f"crawl:s:{SITE}:unscanned"
        if self.plan.history:
            while self.world.client.exists(begun):
                time.sleep(LOOK_S)
            return
        eventually(lambda: not self.world.client.exists(begun) and self._open() == 0, every_s=0.2)
        self.publish(is_open=False)
        draw, now = random.Random(self.plan.seed), self.world.frontier.clock_ms()
        for board in Inspector(self.world.frontier).boards(SITE):
            due = now + draw.random() * board.interval_ms
            self.world.client.zadd("crawl:boards", {f"{SITE} {board.board}": due}, xx=True)

    def _open(self) -> int:
        return Inspector(self.world.frontier).count_requests(SITE).open

    def watch(self) -> Result:
        """Post for a while, and measure the items of the span behind the warm-up."""
        stopped = Event()
        threads = [Thread(target=task, args=(stopped,)) for task in (self._watch_rows, self._watch_boards)]
        for thread in threads:
            thread.start()
        self.forum.post(self.plan.warm_up_s)
        begin, first = time.time(), len(self.forum.items)
        self.looks.clear()
        self.forum.post(self.plan.seconds)
        end, last = time.time(), len(self.forum.items)
        # What is posted meanwhile is not measured. It keeps the scans as busy as before.
        self.forum.post(self.plan.drain_s)
        stopped.set()
        for thread in threads:
            thread.join()
        return self._result(begin, end, first, last)

    def _watch_rows(self, stopped: Event) -> None:
        database = sqlite3.connect(f"file:{self.world.directory / 'crawl.db'}?mode=ro", uri=True, timeout=30)
        seen = {"posts": 0, "comments": 0}
        while not stopped.wait(LOOK_S):
            items = {item.number: item for item in self.forum.items[self.forum.past :]}
            for table, name in (("posts", "post_id"), ("comments", "comment_id")):
                body = " and body is not null" if table == "posts" else ""
                rows = database.execute(
                    f"select {name}, change_id from {table} where change_id > ?{body}", [seen[table]]
                ).fetchall()
                for number, change in rows:
                    seen[table] = max(seen[table], change)
                    item = items.get(int(number))
                    if item is not None:
                        item.stored = item.stored or time.time()
        database.close()

    def _watch_boards(self, stopped: Event) -> None:
        while not stopped.wait(5.0):
            boards = Inspector(self.world.frontier).boards(SITE)
            self.looks.append({board.board: (board.expected_h, board.gap_s) for board in boards})

    def _result(self, begin: float, end: float, first: int, last: int) -> Result:
        paths = [path for at, path in self.forum.log if begin <= at < end]
        items, now = self.forum.items[first:last], time.time()
        result = Result(
            lists_s=sum(not path.startswith("/thread") for path in paths) / (end - begin),
            requests_s=len(paths) / (end - begin),
            # An item that was never found counts with its age: its delay is at least that.
            to_list=[(item.listed or now) - item.posted for item in items],
            to_fetch=[(item.fetched or now) - item.posted for item in items],
            to_row=[(item.stored or now) - item.posted for item in items],
            listed_to_row=[(item.stored or now) - (item.listed or now) for item in items],
            missing=sum(item.stored is None for item in items),
        )
        if POLICIES[self.policy] == POLICIES["priced"]:
            predicted = [expected_delay_s(list(look.values()), SHARE) for look in self.looks]
            result.predicted_s = _mean([one for one in predicted if one is not None])
        if self.policy == "priced":  # beside a page of all news it is not the board's own scan that counts
            result.boards = [
                (
                    board,
                    sum(item.board == board for item in items),
                    SHARE * _weighted([look[board] for look in self.looks]),
                    quantile([delay for item, delay in zip(items, result.to_list, strict=True) if item.board == board]),
                )
                for board in self.forum.rates
            ]
        return result


def _mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))


def _weighted(looks: list[tuple[float, float]]) -> float:
    """Return the mean gap of a board in seconds, each look by the items that were expected at it."""
    return sum(rate * gap for rate, gap in looks) / max(1e-9, sum(rate for rate, _ in looks))


def quantile(values: list[float], share: float = SHARE) -> float:
    """Return the value below which a share of the values lies, 0 without values."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def measure(policy: str, plan: Plan) -> Result:
    """Watch a new forum by one policy."""
    past = plan.history or PAST_THREADS
    with TemporaryDirectory(prefix="crawl-live-") as name, live_forum(BOARDS, RATE_S, plan.seed, past) as forum:
        server = RedisServer(Path(name) / "redis")
        server.start()
        world = World(Path(name), server)
        try:
            run = Run(world, forum, plan, policy)
            run.first_crawl()
            return run.watch()
        finally:
            world.close()
            server.stop()


def lines(policy: str, result: Result) -> list[str]:
    """Return the row of a policy, and below it the busiest boards with prediction and truth."""
    cells = [policy, f"{result.lists_s:.2f}", f"{result.requests_s:.2f}", str(len(result.to_row))]
    for delays in (result.to_list, result.to_fetch, result.to_row, result.listed_to_row):
        shown = [quantile(delays, share) for share in (0.5, 0.95, 0.99)] + [_mean(delays)]
        cells.append(" · ".join(f"{delay:.1f}" for delay in shown))
    cells += [str(result.missing), f"{result.predicted_s:.1f}" if result.predicted_s is not None else "-"]
    told = [f"| {' | '.join(cells)} |"]
    busiest = sorted(result.boards, key=lambda board: -board[1])[:8]
    return told + [
        f"  board {board}: {count} items, p95 until listed predicted {predicted:.1f}, true {true:.1f}"
        for board, count, predicted, true in busiest
    ]


def main() -> None:
    """Measure each policy in turn, and print its row as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m tests.freshness.live", description=__doc__)
    parser.add_argument("--seconds", type=float, default=Plan.seconds, help="measured seconds (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=Plan.warm_up_s, help="seconds before (default: %(default)s)")
    parser.add_argument("--drain", type=float, default=Plan.drain_s, help="seconds after (default: %(default)s)")
    parser.add_argument("--policies", default=",".join(POLICIES), help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=Plan.seed, help="of the forum (default: %(default)s)")
    parser.add_argument(
        "--history", type=int, default=0, help="threads a board of a first crawl that goes on meanwhile"
    )
    said = parser.parse_args()
    names = said.policies.split(",")
    if unknown := set(names) - POLICIES.keys():
        parser.error(f"there is no policy {', '.join(sorted(unknown))}; there are {', '.join(POLICIES)}")
    plan = Plan(said.seconds, said.warm_up, said.drain, seed=said.seed, history=said.history)
    head = ["policy", "lists/s", "requests/s", "items", "listed p50 · p95 · p99 · mean, s"]
    head += ["fetched", "row", "listed to row", "not found", "predicted p95 until listed, s"]
    sys.stdout.write(f"| {' | '.join(head)} |\n{'|---' * len(head)}|\n")
    for policy in names:
        sys.stdout.writelines(f"{line}\n" for line in lines(policy, measure(policy, plan)))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
