"""Hours of a healthy crawl alarm nobody: what real processes showed within a minute, as scrapes of Prometheus."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tests.watched.quiet_day import EVENTS, SCRAPES_AN_HOUR, Recording, firing, hours, record

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (Debian: prometheus)"),
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("quiet"), 0.5)


OF_THE_MACHINE = {"CrawlSlotsLate"}
"""It says that a machine has too much to do, and one that runs tests may have."""


@pytest.mark.long
def test_no_alert_fires_in_some_hours_of_ten_healthy_forums(recording: Recording, tmp_path: Path) -> None:
    scrapes = islice(hours(recording), len(EVENTS) * SCRAPES_AN_HOUR)  # each hour has another event

    assert firing(scrapes, tmp_path) <= OF_THE_MACHINE


def test_an_hour_in_which_beat_is_dead_alarms_somebody(recording: Recording, tmp_path: Path) -> None:
    scrapes = list(islice(hours(recording), 2 * SCRAPES_AN_HOUR))
    for number in range(SCRAPES_AN_HOUR, 2 * SCRAPES_AN_HOUR):
        step = scrapes[number]
        if step is not None:
            dead = {name: 0.0 for name in step.gauges if name.startswith("crawl_beat_alive")}
            scrapes[number] = replace(step, gauges={**step.gauges, **dead})

    assert firing(scrapes, tmp_path) - OF_THE_MACHINE == {"CrawlBeatSilent"}
