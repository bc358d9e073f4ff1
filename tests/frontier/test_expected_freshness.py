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


def test_boards_that_a_page_of_all_news_hides_are_scanned_about_as_often_as_without_it() -> None:
    boards, hidden = forum("log-normal 2.0", BOARDS, seed=1), frozenset(range(0, BOARDS, 10))
    fixed_h = 1 / 0.2

    shown = Crawl(boards, Priced(boards, fixed_h), 0.2 * BOARDS, has_news_page=True, hidden=hidden).run()

    assert shown.longest_gap_h < 8 * fixed_h
