"""How a process reads Redis' clock, and what it makes of its own slowness."""

from __future__ import annotations

import time

import pytest

from crawl_tasks.frontier.slot_clock import DRIFT, MOST_S, Expectile, SlotClock

AHEAD_S = 1_000_000.0
NOW_S = 50.0


def told(at_s: float, ahead_s: float = AHEAD_S) -> int:
    """Say what Redis' clock shows at a moment of ours."""
    return round((at_s + ahead_s) * 1e6)


def off_by_s(clock: SlotClock) -> float:
    return abs(clock.local((NOW_S + AHEAD_S) * 1000) - NOW_S)


def settled(trip_s: float) -> SlotClock:
    clock = SlotClock()
    clock.note(NOW_S, NOW_S + trip_s, told(NOW_S + trip_s / 2))
    return clock


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_an_instant_is_off_by_half_a_round_trip_at_the_most(share: float) -> None:
    clock = SlotClock()

    clock.note(NOW_S, NOW_S + 0.05, told(NOW_S + 0.05 * share))

    assert off_by_s(clock) <= 0.0251


def test_a_reply_that_took_longer_is_not_believed() -> None:
    clock = settled(0.002)

    clock.note(NOW_S, NOW_S + 0.5, told(NOW_S + 0.4))

    assert off_by_s(clock) < 0.0001


def test_a_reply_that_was_quicker_is_believed() -> None:
    clock = SlotClock()
    clock.note(NOW_S, NOW_S + 0.5, told(NOW_S + 0.4))

    clock.note(NOW_S + 1, NOW_S + 1.002, told(NOW_S + 1.001))

    assert off_by_s(clock) < 0.0001


def test_a_clock_that_was_set_is_believed_at_once() -> None:
    clock = settled(0.002)

    clock.note(NOW_S, NOW_S + 0.5, told(NOW_S + 0.25, AHEAD_S + 60))

    assert clock.local((NOW_S + AHEAD_S + 60) * 1000) == pytest.approx(NOW_S, abs=0.001)


def test_an_estimate_is_renewed_when_the_clocks_may_have_parted() -> None:
    clock, later = settled(0.002), NOW_S + 0.01 / DRIFT

    clock.note(later, later + 0.01, told(later + 0.005 + 0.003))

    assert clock.local((later + AHEAD_S + 0.003) * 1000) == pytest.approx(later, abs=0.0001)


def test_the_first_look_takes_the_quickest_of_some_replies() -> None:
    clock, asked = SlotClock(), 0

    def read_us() -> int:
        nonlocal asked
        asked += 1
        return time.monotonic_ns() // 1000

    clock.settle(read_us)
    clock.settle(read_us)

    assert asked > 1
    assert clock.local(1000.0) == pytest.approx(1.0, abs=0.1)


def test_what_is_late_now_and_then_raises_the_slack_quickly_and_lowers_it_slowly() -> None:
    late = Expectile(0.5, 0.01)

    late.note(0.1)
    raised = late.value
    late.note(0.0)

    assert raised == pytest.approx(0.05)
    assert raised * 0.98 < late.value < raised


def test_one_long_stall_is_no_habit() -> None:
    late = Expectile(0.5, 0.01)

    late.note(3600.0)

    assert late.value <= MOST_S
