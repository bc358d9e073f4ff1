"""Good pages beside hostile ones on one site, by `crawl-tasks run`: all are stored, and no page is asked too often."""

from __future__ import annotations

import pytest

from tests.isolation.hostile_run import Terms, run

HOSTILE = (
    "429 for a day",
    "503 for a second, without an end",
    "redirect in a circle",
    "a login wall",
    "zeros",
    "hangs",
    "drips a body until its end",
    "endless chunks",
    "gzip bomb",
    "reset at once",
    "not HTTP",
    "markup: attributes",
)


@pytest.mark.flow
@pytest.mark.timeout(300)
def test_good_pages_are_all_stored_beside_as_many_hostile_ones() -> None:
    outcome = run(Terms(good=12, hostile=HOSTILE, window=8, deadline_s=2.0))

    assert outcome.counts
    assert outcome.stored == 12
    assert outcome.counts.imbalance() == ""
    assert outcome.asked_too_often() == []
