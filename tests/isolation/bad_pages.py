"""A forum of good pages and a few bad ones, crawled by worker threads until all good pages are stored."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.model import Request, Stage
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.frontier.small_crawl import RULES
from tests.frontier.workers import Workers
from tests.unit.hostile_server import Answer, HostileServer, Visit, page
from tests.waiting import eventually

SITE = "demo"
GOOD = b"<h1>post</h1><div class=body>hello</div>"

FAULTS: dict[str, Answer] = {
    "drip": lambda visit: visit.drip(GOOD, every_s=0.2),
    "hang": Visit.hang,
    "reset": Visit.reset,
    "truncated": lambda visit: (visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + GOOD), visit.close())[
        1
    ],
    "error": page(b"sorry", "500 Internal Server Error"),
    "refused": page(b"later", "503 Service Unavailable"),
    "unreadable": page(b"<p>nothing that the rules find</p>"),
}


@dataclass
class Result:
    """The visits of a crawl in order, and its seconds until the last good page was stored."""

    took_s: float
    counts: RequestCounts
    paths: list[str] = field(default_factory=list)

    def before_a_retry(self) -> set[str]:
        """Return the pages that were asked for before any page was asked for a second time."""
        seen: set[str] = set()
        for path in self.paths:
            if path in seen:
                break
            seen.add(path)
        return seen


@dataclass(frozen=True)
class Plan:
    """The terms of a crawl. The bad pages stand among the first, spread over as many good ones."""

    good: int = 401
    bad: int = 3
    fault: str = "drip"
    window: int = 4
    deadline_s: float = 10.0
    latency_s: float = 0.1
    refusals: int = 0
    """The first visits that are refused, whatever page they ask for."""

    @property
    def bad_paths(self) -> set[str]:
        """Return the addresses of the bad pages."""
        return {f"/post/{2 * number + 1}" for number in range(self.bad)}


def crawl(client: redis.Redis, plan: Plan, until: Callable[[RequestCounts], bool] | None = None) -> Result:
    """Crawl on an empty Redis until all good pages are stored, and further `until` a condition holds."""

    def good_page(visit: Visit) -> None:
        if len(visit.server.visits) <= plan.refusals:
            FAULTS["refused"](visit)
            return
        time.sleep(plan.latency_s)
        # A client may send a request again whose kept-alive connection was closed. Here each has its own.
        visit.reply(GOOD, Content_Type="text/html", Connection="close")
        visit.close()

    numbers = range(1, plan.good + plan.bad + 1)
    forum = HostileServer({f"/post/{number}": good_page for number in numbers})
    forum.routes |= dict.fromkeys(plan.bad_paths, FAULTS[plan.fault])
    frontier = Frontier(client, "test")
    gate = (
        f"gate: {{window: {plan.window}, delay_s: 0, deadline_s: {plan.deadline_s}, retry_base_s: 0.1, retry_max_s: 1}}"
    )
    text = RULES.replace("gate: {window: 50, delay_s: 0, retry_base_s: 0.1}", gate)
    publish_site(frontier, parse_site(text, "demo.yaml").relocated(forum.base), contact=None)
    frontier.admit(SITE, [Request(SITE, Stage.POST, str(n), f"{forum.base}/post/{n}") for n in numbers])

    def counts() -> RequestCounts:
        return Inspector(frontier).count_requests(SITE)

    began = time.monotonic()
    try:
        with Workers(client, frontier, plan.window + 2):
            eventually(lambda: counts().done == plan.good, every_s=0.02)
            took_s = time.monotonic() - began
            eventually(lambda: until is None or until(counts()), every_s=0.02)
            forum.stopped.set()
    finally:
        forum.stop()
    return Result(took_s, counts(), forum.paths())
