"""A dozen made-up forums, of those that `python -m tests.layouts` measures: none is read wrongly without a word."""

from __future__ import annotations

import pytest

from tests.layouts.measure import Verdict, measured

RIGHT = (0, 8, 16, 24, 50, 72, 88, 104, 124)
REFUSED = (102, 172, 184)


@pytest.mark.parametrize("seed", RIGHT)
def test_a_file_for_a_made_up_forum_reads_every_record_right(seed: int) -> None:
    outcome = measured(seed)

    assert (outcome.verdict, outcome.why) == (Verdict.RIGHT, "")
    assert outcome.requests <= 40


@pytest.mark.parametrize("seed", REFUSED)
def test_a_forum_that_is_not_understood_is_refused_with_a_reason(seed: int) -> None:
    outcome = measured(seed)

    assert outcome.verdict is Verdict.REFUSED
    assert outcome.why
