"""A few bad pages among good ones: all good pages come first, the site keeps its pace, and the bad ones end alone."""

from __future__ import annotations

import pytest
import redis

from tests.isolation.bad_pages import Plan, Result, crawl

WINDOW = 4


def good_before_a_retry(plan: Plan, result: Result) -> int:
    return len(result.before_a_retry() - plan.bad_paths)


@pytest.mark.parametrize("fault", ["drip", "hang"])
def test_pages_that_hang_are_tried_again_when_all_others_had_their_turn(client: redis.Redis, fault: str) -> None:
    plan = Plan(good=100, fault=fault, window=WINDOW, deadline_s=1, latency_s=0.04)

    result = crawl(client, plan, lambda counts: counts.count("attempts") > plan.good + plan.bad)

    assert good_before_a_retry(plan, result) > plan.good - WINDOW
    assert "slow" not in result.counts.fields
    assert result.counts.stats.get("rest_ms", 0) == 0
    assert result.counts.imbalance() == ""


def test_all_pages_are_stored_when_a_forum_that_refused_every_one_relents(client: redis.Redis) -> None:
    plan = Plan(good=20, bad=0, window=WINDOW, latency_s=0.02, refusals=8)

    result = crawl(client, plan)

    counts = result.counts
    assert (counts.done, counts.dead, counts.open) == (plan.good, 0, 0)
    assert counts.count("failed:slow_down") == plan.refusals
    assert counts.imbalance() == ""


@pytest.mark.parametrize("fault", ["reset", "truncated", "error", "refused"])
def test_pages_that_fail_at_once_cost_only_themselves(client: redis.Redis, fault: str) -> None:
    plan = Plan(good=60, fault=fault, window=WINDOW, latency_s=0.02)

    result = crawl(client, plan, lambda counts: counts.dead == plan.bad)

    assert good_before_a_retry(plan, result) > plan.good - WINDOW
    assert (result.counts.done, result.counts.dead, result.counts.open) == (plan.good, plan.bad, 0)
    assert result.counts.imbalance() == ""
