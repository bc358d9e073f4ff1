"""What becomes of a request after each kind of error: the policy alone, values in and values out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_tasks.errors import (
    Gone,
    NoTurn,
    PageError,
    ParseError,
    RobotsRefused,
    Scope,
    ServerError,
    SlowDown,
    Unreachable,
)
from crawl_tasks.frontier.retry import RetryPolicy, Verdict, judge
from crawl_tasks.model import State

POLICY = RetryPolicy(max_attempts=3, base_s=2, max_s=5)
LUCK = 0.5  # three quarters of the ceiling
REFUSED: dict[str, Any] = {"slows_site": True, "scope": Scope.SITE}


@pytest.mark.parametrize(
    ("error", "attempt", "verdict"),
    [
        (ServerError("x"), 1, Verdict(State.DELAYED, "server_error", "x", delay_ms=1500)),
        (ServerError("x"), 2, Verdict(State.DELAYED, "server_error", "x", delay_ms=3000)),
        (ServerError("x"), 3, Verdict(State.DEAD, "server_error", "x")),
        (ServerError("x", is_busy=True), 1, Verdict(State.DELAYED, "server_error", "x", 1500, slows_site=True)),
        (Unreachable("x"), 1, Verdict(State.DELAYED, "unreachable", "x", 1500, rest_ms=1500, slows_site=True)),
        (Unreachable("x"), 2, Verdict(State.DELAYED, "unreachable", "x", 3000, rest_ms=2000, slows_site=True)),
        (SlowDown("x", 60.0), 1, Verdict(State.DELAYED, "slow_down", "x", 60_000, 60_000, **REFUSED, is_named=True)),
        (SlowDown("x", 0.1), 2, Verdict(State.DELAYED, "slow_down", "x", 3000, 100, **REFUSED, is_named=True)),
        (SlowDown("x", 60.0), 3, Verdict(State.DEAD, "slow_down", "x", 0, 60_000, **REFUSED, is_named=True)),
        (SlowDown("x"), 1, Verdict(State.DELAYED, "slow_down", "x", 1500, 1500, **REFUSED)),
        (NoTurn("x"), 9, Verdict(State.DELAYED, "no_turn", "x", 3750, scope=Scope.NOTHING)),
        (Gone("x"), 1, Verdict(State.DEAD, "gone", "x")),
        (RobotsRefused("x"), 1, Verdict(State.DEAD, "robots", "x")),
        (ParseError("x"), 1, Verdict(State.PARKED, "parse", "x", says_nothing=True)),
        (ParseError("x"), 9, Verdict(State.PARKED, "parse", "x", says_nothing=True)),
    ],
)
def test_an_error_decides_where_its_request_goes(error: PageError, attempt: int, verdict: Verdict) -> None:
    assert judge(error, attempt, POLICY, LUCK) == verdict


@given(attempt=st.integers(1, 40), luck=st.floats(0, 1, exclude_max=True))
def test_a_wait_doubles_up_to_its_ceiling_and_is_at_least_half_of_it(attempt: int, luck: float) -> None:
    policy = RetryPolicy(max_attempts=100, base_s=2, max_s=50)
    ceiling_ms = min(2 ** (attempt - 1) * 2, 50) * 1000

    delay_ms = judge(ServerError("x"), attempt, policy, luck).delay_ms

    assert ceiling_ms / 2 <= delay_ms <= ceiling_ms


def test_the_words_of_an_error_become_one_line_of_bounded_length() -> None:
    error = ServerError("HTTP 500\n\n  " + "very " * 1000)

    details = judge(error, 1, POLICY, LUCK).details

    assert details.startswith("HTTP 500 very very")
    assert len(details) == 500


def test_details_of_half_a_character_can_be_written() -> None:
    details = judge(ParseError("no post in 'party \ud83c'"), 1, POLICY, LUCK).details

    assert details == "no post in 'party \ufffd'"
