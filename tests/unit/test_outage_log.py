"""A server that is away is told of once, counted now and then, and told of again when it is back."""

from __future__ import annotations

import logging

import pytest
from celery.beat import SchedulingError

from crawl_tasks.errors import BackendError
from crawl_tasks.logs import COUNT_EVERY_S, OutageLog
from crawl_tasks.worker.celery_signals import OutageFilter

LOG = logging.getLogger("outage")


class Told:
    """An outage under a clock of the test's own, and what it told."""

    def __init__(self, records: pytest.LogCaptureFixture) -> None:
        self.now = 1000.0
        self.outage = OutageLog(LOG, "Redis failed", clock=lambda: self.now)
        self._records = records

    def lines(self) -> list[tuple[int, str]]:
        return [(record.levelno, record.message) for record in self._records.records]

    def last(self) -> dict[str, object]:
        return vars(self._records.records[-1])


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    caplog.set_level(logging.INFO)
    return Told(caplog)


def test_a_thousand_failures_in_a_row_are_one_line_and_a_count(told: Told) -> None:
    for second in range(1000):
        told.now = 1000.0 + second * COUNT_EVERY_S / 999
        told.outage.fail(BackendError("read-only"))

    assert told.lines() == [(logging.ERROR, "Redis failed")] * 2
    assert told.last()["failures"] == "1000"
    assert told.last()["for_s"] == "60"


def test_the_end_says_how_long_it_was_once(told: Told) -> None:
    told.outage.fail(BackendError("read-only"))
    told.now += 12.5
    told.outage.end()
    told.outage.end()

    assert told.lines() == [(logging.ERROR, "Redis failed"), (logging.WARNING, "works again")]
    assert (told.last()["after_s"], told.last()["what"]) == ("12.5", "Redis failed")


def test_the_next_outage_is_told_of_at_once(told: Told) -> None:
    told.outage.fail(BackendError("read-only"))
    told.outage.end()
    told.outage.fail(BackendError("out of memory"))

    assert told.last()["error"] == "out of memory"
    assert len(told.lines()) == 3


def test_nothing_is_told_while_all_is_well(told: Told) -> None:
    told.outage.end()

    assert told.lines() == []


def test_beat_tells_of_a_broker_that_is_away_in_one_line_and_of_anything_else_as_ever(told: Told) -> None:
    beat = logging.getLogger("celery.beat")
    beat.addFilter(only_once := OutageFilter(told.outage))

    for error in (SchedulingError("refused"), SchedulingError("refused"), ValueError("x")):
        beat.error("Message Error: %s", error, exc_info=error)
    beat.removeFilter(only_once)

    assert [text for _, text in told.lines()] == ["Redis failed", "Message Error: x"]
