"""Goal and expectation of the priced schedule, as status, alerts and `schedule list` say them."""

from __future__ import annotations

import random

import pytest

from crawl_tasks.monitor.freshness import expected_delay_s, read_freshness

GOAL = {"freshness": "3600 0.5"}


def test_a_goal_that_is_missed_says_what_it_would_take() -> None:
    found = read_freshness({**GOAL, "pulse": "1 10 5 40 10"}, {})

    assert found is not None
    assert not found.is_met
    assert str(found) == (
        "25% of new replies are expected within 30 min, 95 % need about 3.8 list requests a second; the budget is 1"
    )


def test_a_site_of_which_nothing_is_known_misses_nothing() -> None:
    found = read_freshness(GOAL, {})

    assert found is not None
    assert found.is_met
    assert "less than one new reply a day" in str(found)


def test_a_site_where_hardly_anybody_writes_misses_nothing() -> None:
    found = read_freshness({**GOAL, "pulse": "1 1 5 0.01 0.001"}, {})

    assert found is not None
    assert found.is_met
    assert "less than one new reply a day" in str(found)


def test_another_schedule_has_no_goal() -> None:
    assert read_freshness({"freshness": "", "pulse": "1 1 1 1 1"}, {}) is None


@pytest.mark.parametrize(("missed", "share"), [(19, 0.0), (20, 0.2)])
def test_a_page_of_all_news_hides_something_from_several_items_on(missed: int, share: float) -> None:
    found = read_freshness(GOAL, {"news:found": 80, "news:missed": missed})

    assert found is not None
    assert found.hidden_share == share


def test_the_expected_delay_is_that_of_scans_at_these_intervals() -> None:
    draw = random.Random(1)
    rates = [(draw.lognormvariate(0, 1.5), draw.uniform(60, 6000)) for _ in range(50)]
    weights, intervals = zip(*rates, strict=True)
    delays = sorted(draw.uniform(0, draw.choices(intervals, weights)[0]) for _ in range(40_000))

    for share in (0.5, 0.95):
        assert expected_delay_s(rates, share) == pytest.approx(delays[int(share * 40_000)], rel=0.03)
