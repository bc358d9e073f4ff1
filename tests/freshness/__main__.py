"""`make freshness`: the shipped revisit policy against those of other crawlers, in virtual time, with bars."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import mean
from typing import NamedTuple

from crawl_tasks.monitor.freshness import SHARE
from tests.freshness.bound import most_within
from tests.freshness.policies import POLICIES, Priced
from tests.freshness.simulation import Crawl, Outcome
from tests.freshness.world import MEASURED_H, forum

BOARDS, SEEDS = 200, 5
WORLDS = ("log-normal 2.0", "log-normal 1.5", "zipf 0.8", "zipf 1", "equal")
BUDGETS = (0.05, 0.2, 1.0)
"""List requests a board-hour."""

NEWS, FRONT = "priced + news page", "priced + front page"
BARS = {"log-normal 2.0": (0.60, 0.45), "log-normal 1.5": (0.90, 0.60)}
"""The most that p95 and mean may be, in relation to fixed intervals at the same budget, at 0.2 and 1."""

NEWS_BAR, GAP_BAR = 0.10, 24.0
EXPECTED_BAR = 0.20
"""The most by which the expected 95th percentile may differ from the true one, as a share of the latter."""

BOARD_ITEMS, BOARD_BAR, NEAR = 100, 0.50, 0.10
"""Of the boards with so many items, at least this share has its expected 95th percentile this near to the true one, at
0.2 and 1. At a smaller budget a board has a few scans a week, which are no percentile."""


class Case(NamedTuple):
    """One crawl: world, budget, seed, policy."""

    world: str
    budget: float
    seed: int
    policy: str


class Ratio(NamedTuple):
    """A crawl in relation to fixed intervals at the same budget, its longest gap in uniform intervals, and the bound.

    The bound is the share of items that any crawl could show within the bar of news pages, `NEWS_BAR`. `expected` is
    the expected 95th percentile in relation to the true one, where the policy has an expectation, and `boards` the
    share of the boards whose own is near.
    """

    p95: float
    mean: float
    requests: float
    gap: float
    bound: float = 1.0
    expected: float = 1.0
    boards: float = 1.0


def crawl(case: Case) -> tuple[Outcome, float, float]:
    """Crawl one forum by one policy. Return `Ratio.expected` and `Ratio.boards` as well."""
    worlds = forum(case.world, BOARDS, case.seed)
    policy = POLICIES[case.policy.partition(" + ")[0]](worlds, 1 / case.budget)
    pages = {"has_news_page": case.policy == NEWS, "has_front_page": case.policy == FRONT}
    outcome = Crawl(worlds, policy, case.budget * BOARDS, **pages).run()
    if not isinstance(policy, Priced) or any(pages.values()):
        return outcome, 1.0, 1.0
    return outcome, (policy.expected_h(SHARE) or 0.0) / outcome.quantile(SHARE), _near_boards(policy, outcome)


def _near_boards(policy: Priced, outcome: Outcome) -> float:
    true = {board: one for board, one in enumerate(outcome.of_boards) if len(one) >= BOARD_ITEMS}
    ratios = [policy.expected_of_h(board, SHARE) / one[int(SHARE * len(one))] for board, one in true.items()]
    return sum(abs(ratio - 1) <= NEAR for ratio in ratios) / max(1, len(ratios))


def measure(worlds: Sequence[str], seeds: int) -> dict[tuple[str, float, str], Ratio]:
    """Return the ratios by world, budget and policy, means over the seeds."""
    names = [*POLICIES, FRONT, NEWS]
    cases = [
        Case(world, budget, seed, name)
        for world in worlds
        for budget in BUDGETS
        for seed in range(seeds)
        for name in names
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        outcomes = dict(zip(cases, pool.map(crawl, cases, chunksize=4), strict=True))
    ratios = {
        case: _ratio(outcome, outcomes[case._replace(policy="fixed")][0], case)._replace(expected=expected, boards=near)
        for case, (outcome, expected, near) in outcomes.items()
    }
    return {
        (world, budget, name): Ratio(
            *(
                mean(column)
                for column in zip(*(ratios[Case(world, budget, seed, name)] for seed in range(seeds)), strict=True)
            )
        )
        for world in worlds
        for budget in BUDGETS
        for name in names
    }


def _ratio(outcome: Outcome, fixed: Outcome, case: Case) -> Ratio:
    return Ratio(
        outcome.quantile(0.95) / fixed.quantile(0.95),
        outcome.mean / fixed.mean,
        outcome.requests / fixed.requests,
        outcome.longest_gap_h * case.budget,
        _bound(case, fixed) if case.policy == FRONT else 1.0,
    )


def _bound(case: Case, fixed: Outcome) -> float:
    worlds = forum(case.world, BOARDS, case.seed)
    return most_within(worlds, case.budget * BOARDS * MEASURED_H, NEWS_BAR * fixed.quantile(0.95))


def missed_bars(ratios: dict[tuple[str, float, str], Ratio]) -> list[str]:
    """Return a line for each bar that is missed."""
    missed = []
    for (world, budget, name), ratio in ratios.items():
        where = f"{world} at {budget} requests a board-hour, {name}"
        if name == FRONT and budget >= 1 and ratio.p95 > NEWS_BAR:
            missed.append(f"{where}: p95 is {ratio.p95:.2f} of fixed, above {NEWS_BAR}")
        if name == NEWS:
            if ratio.p95 > NEWS_BAR:
                missed.append(f"{where}: p95 is {ratio.p95:.2f} of fixed, above {NEWS_BAR}")
            if ratio.gap > 1:
                missed.append(f"{where}: a board was not looked at for {ratio.gap:.1f} uniform intervals")
        if name != "priced":
            continue
        if abs(ratio.expected - 1) > EXPECTED_BAR:
            missed.append(f"{where}: the expected p95 is {ratio.expected:.2f} of the true one")
        if budget >= 0.2 and ratio.boards < BOARD_BAR:
            missed.append(f"{where}: the expected p95 is near the true one for {ratio.boards:.0%} of the boards")
        p95, mean_ = BARS.get(world, (1.0, 1.0)) if budget >= 0.2 else (1.0, 1.0)
        if ratio.p95 > p95 or ratio.mean > mean_:
            missed.append(f"{where}: p95 {ratio.p95:.3f} and mean {ratio.mean:.3f} of fixed, above {p95} or {mean_}")
        if ratio.gap > GAP_BAR:
            missed.append(f"{where}: a board was not looked at for {ratio.gap:.1f} uniform intervals")
    return missed


def table(ratios: dict[tuple[str, float, str], Ratio]) -> list[str]:
    """Return the lines of a Markdown table: 95th percentile and mean delay of each policy, fixed intervals being 1.

    The last columns are the bound beside a front page, the expected 95th percentile of `priced` by the true one,
    and the share of boards whose own is near.
    """
    names = [*POLICIES, FRONT, NEWS][1:]
    names_shown = " | ".join(names)
    head = f"| world | requests a board-hour | {names_shown} | bound | expected | boards |"
    lines = [head, "|---" * (len(names) + 5) + "|"]
    for world in WORLDS:
        for budget in BUDGETS:
            cells = (ratios[world, budget, name] for name in names)
            bound, priced = ratios[world, budget, FRONT].bound, ratios[world, budget, "priced"]
            said = " | ".join(f"{one.p95:.2f} {one.mean:.2f}" for one in cells)
            true = f"{bound:.2f} | {priced.expected:.2f} | {priced.boards:.0%}"
            lines.append(f"| {world} | {budget:g} | {said} | {true} |")
    return lines


def main() -> int:
    """Print the table and the missed bars. Return 1 where one is missed."""
    ratios = measure(WORLDS, SEEDS)
    missed = missed_bars(ratios)
    sys.stdout.writelines(f"{line}\n" for line in [*table(ratios), *missed])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
