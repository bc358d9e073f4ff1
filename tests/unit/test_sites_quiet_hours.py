"""Zones and quiet hours as the gate's scripts read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from crawl_tasks.sites.quiet_hours import AHEAD_DAYS, minutes, offsets

NOW = datetime(2026, 11, 21, 13, 30, tzinfo=UTC).timestamp()


def read(text: str) -> list[tuple[int, int]]:
    return [(int(east), int(since)) for east, _, since in (one.partition("@") for one in text.split())]


@pytest.mark.parametrize(("hours", "told"), [("23:00-07:00", "1380-420"), ("00:05-12:30", "5-750")])
def test_hours_are_minutes_of_the_day(hours: str, told: str) -> None:
    assert minutes(hours) == told


def test_a_zone_without_summer_time_has_one_offset() -> None:
    assert offsets(ZoneInfo("Asia/Shanghai"), NOW) == "28800@0"


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tehran", "UTC"])
def test_the_offset_is_right_in_every_hour_that_is_told(name: str) -> None:
    zone = ZoneInfo(name)
    told = read(offsets(zone, NOW))

    for hour in range(0, AHEAD_DAYS * 24, 7):
        at = datetime.fromtimestamp(NOW, UTC) + timedelta(hours=hour)
        east = [offset for offset, since in told if since <= at.timestamp() * 1000][-1]
        assert timedelta(seconds=east) == at.astimezone(zone).utcoffset()


def test_changes_stand_in_order_at_their_minute() -> None:
    told = read(offsets(ZoneInfo("Europe/Berlin"), NOW))

    assert all(before[1] < after[1] for before, after in pairwise(told))
    assert told[1] == (7200, int(datetime(2027, 3, 28, 1, tzinfo=UTC).timestamp() * 1000))
