"""The revisit policy in Lua does what its Python form does, which the simulation measures."""

from __future__ import annotations

import json
import random

import pytest
import redis

from crawl_tasks.frontier.admin.restore import scan_of
from crawl_tasks.frontier.redis_functions import prelude, scoped
from tests.freshness.revisit import (
    UNCHANGED_COST,
    BoardHistory,
    Pace,
    SiteTerms,
    busy_sums,
    expected_rate,
    interval,
    most_gap,
    moved_price,
    observe,
    paced,
    rate_of,
)

STEP = """
local steps, answers = cjson.decode(ARGV[1]), {}
for i, step in ipairs(steps) do
  local scan = {items = 0, heat = 0, past = 0, oldest = 0}
  for _, age in ipairs(step.ages) do add_item(scan, age) end
  local t = {price = step.price, mean = step.mean, least = step.least, most = step.most, busy = busy_sums(step.counts)}
  local h = observe({items = step.items, hours = step.hours, heat = step.heat, at = step.at}, scan, t, step.now)
  answers[i] = string.format('%.12g %.12g %.12g %.12g %.12g %.12g', h.items, h.hours, h.heat, rate_of(h, t),
    next_interval(h, t, step.cost), moved_price(step.price, 50, step.late, 2))
  local pace = paced({lag = step.lag, cost = step.cost}, step.planned, step.passed, step.reading, step.unchanged)
  answers[i] = answers[i] .. string.format(' %.12g %.12g %.12g', pace.lag, pace.cost,
    expected_rate(h, t, step.planned))
  answers[i] = answers[i] .. ' ' .. most_gap(h, step.unchanged, step.late > 0)
end
return answers
"""


def within(code: str, *files: str) -> str:
    """Put some Lua behind files of one home, where it sees what they share."""
    return f"{scoped(*files).removesuffix('end')}{code}end"


def step(draw: random.Random) -> dict[str, object]:
    now = draw.uniform(490_000, 500_000)
    most = draw.choice([0.02, 1, 24, 500])
    return {
        "ages": [draw.expovariate(1 / draw.choice([0.2, 5, 200])) for _ in range(draw.choice([0, 0, 1, 20]))],
        "price": 10 ** draw.uniform(-6, 6),
        "mean": draw.choice([0.0, 0.001, 0.5, 40]),
        "least": draw.choice([0.001, 0.016]),
        "most": most,
        "counts": [draw.randrange(draw.choice([1, 10, 1000])) for _ in range(24)],
        "items": draw.uniform(0, 100),
        "hours": draw.uniform(0, 140),
        "heat": draw.choice([0.0, draw.expovariate(1)]),
        "at": draw.choice([0.0, now - draw.expovariate(1 / most)]),
        "now": now,
        "late": draw.uniform(-3, 3),
        "lag": draw.uniform(-1, 1),
        "cost": draw.uniform(UNCHANGED_COST, 1),
        "planned": draw.choice([0.001, 1]),
        "passed": draw.expovariate(draw.choice([1000, 1])),
        "reading": draw.uniform(0, 0.1),
        "unchanged": draw.choice([False, True]),
    }


@pytest.mark.parametrize("seed", range(5))
def test_lua_and_python_give_the_same_intervals(seed: int, client: redis.Redis) -> None:
    draw = random.Random(seed)
    steps = [step(draw) for _ in range(2000)]

    answers = client.eval(within(STEP, "schedule/revisit"), 0, json.dumps(steps))

    for one, answer in zip(steps, answers, strict=True):
        terms = SiteTerms(one["price"], one["mean"], one["least"], one["most"], busy_sums(one["counts"]))
        before = BoardHistory(one["items"], one["hours"], one["heat"], one["at"])
        after = observe(before, scan_of(one["ages"]), terms, one["now"])
        moved = moved_price(one["price"], 50, one["late"], 2)
        spans = one["planned"], one["passed"], one["reading"]
        pace = paced(Pace(one["lag"], one["cost"]), *spans, is_unchanged=one["unchanged"])
        wanted = (*after[:3], rate_of(after, terms), interval(after, terms, one["cost"]), moved, *pace)
        wanted += (expected_rate(after, terms, one["planned"]),)
        wanted += (most_gap(after, has_news=one["unchanged"], is_shown=one["late"] > 0),)
        assert [float(word) for word in answer.split()] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


WAITS = """
local site, answers = {key = 'site', freshness = '3600 1 front'}, {}
for _, waits in ipairs(cjson.decode(ARGV[1])) do
  redis.call('DEL', 'site')
  for _, wait in ipairs(waits) do note_pinged(site, {ping = 1000, pinged = 1}, 1000 + wait) end
  local seen = {reading = 0, scan = new_scan()}
  take_pinged(site, seen, tonumber(ARGV[2]))
  answers[#answers + 1] = string.format('%.6g', seen.reading * HOUR)
end
return answers
"""


def test_items_that_wait_for_a_front_page_and_for_a_scan_are_expected_as_late_as_they_come(
    client: redis.Redis,
) -> None:
    draw, interval_ms, mean_ms = random.Random(1), 4000.0, 3000.0
    rounds = [[draw.expovariate(1 / mean_ms) for _ in range(100)] for _ in range(300)]

    home = [file for file in prelude() if file.startswith("schedule/")]
    answers = client.eval(within(WAITS, *home), 0, json.dumps(rounds), interval_ms)

    late = sorted(draw.uniform(0, interval_ms) + draw.expovariate(1 / mean_ms) for _ in range(100_000))
    expected = sum(0.95 * (interval_ms + float(answer)) for answer in answers) / len(answers)
    assert expected == pytest.approx(late[95_000], rel=0.1)
