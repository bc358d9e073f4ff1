"""Tests for the expectation of freshness: a whole crawl in virtual time shows new items as late as was expected."""

from __future__ import annotations

import pytest

from crawl_tasks.monitor.freshness import SHARE
from tests.freshness.policies import Priced
from tests.freshness.simulation import Crawl
from tests.freshness.world import forum

BOARDS = 200


@pytest.mark.parametrize(("world", "budget"), [("log-normal 1.5", 0.2), ("log-normal 1.5", 1.0), ("zipf 1", 1.0)])
def test_new_items_are_shown_as_late_as_was_expected(world: str, budget: float) -> None:
    boards = forum(world, BOARDS, seed=0)
    policy = Priced(boards, 1 / budget)

    shown = Crawl(boards, policy, budget * BOARDS).run()

    assert policy.expected_h(SHARE) == pytest.approx(shown.quantile(SHARE), rel=0.04)
