"""What was given up comes back, or is let go, by bounded steps however much there is of it."""

from __future__ import annotations

import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import State
from tests.frontier.by_hand import post

MANY = 12_000


def test_one_call_looks_at_some_thousands_of_the_dead_and_all_that_are_meant_are_found(
    frontier: Frontier, client: redis.Redis
) -> None:
    def grave(rid: int) -> str:
        reason = "parse" if rid % 4000 == 0 else "timeout"
        return f'1 {reason} why\n{rid} post 5 3 {post(rid).address} ["{rid}",1,""]'

    client.hset("test:s:demo:dead", mapping={str(rid): grave(rid) for rid in range(1, MANY + 1)})
    client.hset("test:s:demo", "admitted", MANY)
    client.config_resetstat()

    assert Admin(frontier).failed.requests.retry(Selection("demo", State.DEAD, "parse", most=2)) == 2
    assert Admin(frontier).failed.requests.drop(Selection("demo", State.DEAD, "parse")) == 1

    calls = client.info("commandstats")
    assert calls["cmdstat_hscan"]["calls"] <= 50 * calls["cmdstat_fcall"]["calls"]
    assert Inspector(frontier).count_requests("demo").dead == MANY - 3
