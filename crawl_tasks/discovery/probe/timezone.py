"""The time zone of a forum, from statements and clocks on its pages. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from crawl_tasks.parse.values.clock_words import (
    HALF_BEFORE,
    HALF_BEHIND,
    HOURS_AHEAD,
    hour_of_day,
    minutes_ahead,
    with_clock,
)
from crawl_tasks.parse.values.dates import read_date

_OFFSET = re.compile(rf"(?:GMT|UTC)\s*([+−-])\s*{HOURS_AHEAD}", re.IGNORECASE)
_PLACE = re.compile(r"\b[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?\b")
_CLOCK = re.compile(
    rf"(?:({HALF_BEFORE})\s*)?(?<!\d)(\d{{1,2}}):(\d\d)(?::\d\d)?(?:\s*({HALF_BEHIND}))?", re.IGNORECASE
)
_NOW = re.compile(
    r"(?:current (?:date|time)[^:\d]{0,20}|time (?:now )?is(?: now)?|it is (?:currently|now)"
    r"|现在时间|当前时间|現在[時时][間刻]|aktuelle (?:uhr)?zeit|es ist (?:jetzt|gerade)"
    r"|heure actuelle|hora actual|текущее время)"
    r"(\D{0,12}.{0,30}?\d{1,2}:\d\d)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"\b(?:UTC|GMT)\b")
# The Etc zones have whole hours only.
_ODD_MINUTES = {
    -210: "America/St_Johns", 210: "Asia/Tehran", 270: "Asia/Kabul", 330: "Asia/Kolkata", 345: "Asia/Kathmandu",
    390: "Asia/Yangon", 570: "Australia/Darwin",
}  # fmt: skip


# Zones with clock changes and most forums. A clock alone cannot tell neighbours apart, nor a zone without changes.
_PLACES = (
    "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles",
    "Europe/London", "Europe/Berlin", "Europe/Helsinki", "Australia/Sydney",
)  # fmt: skip


# Languages of forums in one zone, by and large.
_HOMES = {
    "zh": "Asia/Shanghai", "ja": "Asia/Tokyo", "ko": "Asia/Seoul", "th": "Asia/Bangkok", "vi": "Asia/Ho_Chi_Minh",
    "de": "Europe/Berlin", "it": "Europe/Rome", "pl": "Europe/Warsaw", "nl": "Europe/Amsterdam", "cs": "Europe/Prague",
    "sv": "Europe/Stockholm", "el": "Europe/Athens", "uk": "Europe/Kyiv", "tr": "Europe/Istanbul",
    "ru": "Europe/Moscow",
}  # fmt: skip
_LATELY_S = 7200
# Hawaii, and New Zealand in summer.
_WESTERNMOST, _EASTERNMOST = -600, 780
_CLOCK_S = 900
_UTC = ZoneInfo("UTC")


class Zone(NamedTuple):
    """An IANA zone, and the evidence for this zone."""

    name: str
    why: str


def zone_said(text: str, *, language: str = "") -> Zone | None:
    """Return the zone that a text names: a place, or an offset such as GMT+8 or UTC+08:00."""
    shown = " ".join(text.split())
    for match in _PLACE.finditer(shown):
        if _exists(match[0]):
            return Zone(match[0], f"the page names {match[0]}")
    offset = _OFFSET.search(shown)
    if offset:
        name = zone_of_offset(minutes_ahead(offset[1], offset[2], offset[3]), language=language)
        return Zone(name, f"the page says {offset[0]}") if name else None
    return Zone("UTC", "the page says UTC") if _PLAIN.search(shown) else None


def zone_by_words(text: str, at_s: float, *, language: str = "") -> Zone | None:
    """Return the zone from a clock with a label: `The time is now 22:17`, `现在时间: 22:17`."""
    match = _NOW.search(" ".join(text.split()))
    return zone_by_clock(with_clock(match.string, *match.span(1)), at_s, language=language) if match else None


def zone_by_clock(text: str, at_s: float, *, language: str = "", changes: bool = False) -> Zone | None:
    """Return the zone in which a page's clock fits the moment of its response, to the quarter of an hour.

    With `changes` the clock is that of a place with summer time, not of a fixed offset.
    """
    shown = list(_CLOCK.finditer(text))
    if not shown:
        return None
    hour, minute, half = int(shown[-1][2]), int(shown[-1][3]), (shown[-1][4] or shown[-1][1] or "").lower()
    try:
        hour = hour_of_day(hour, half or None)
    except ValueError:
        return None
    moment = datetime.fromtimestamp(at_s, UTC)
    ahead = hour * 60 + minute - (moment.hour * 60 + moment.minute)
    # The page may have been made a minute before the response, and the day there may be another one.
    quarter = round(((ahead + 720) % 1440 - 720) / 15) * 15
    why = f"its clock shows {shown[-1][0].strip()} at {moment:%H:%M} UTC"
    if is_far(quarter):
        # A half of the day that was not understood is as likely. The date beside the clock is a second witness.
        wall = read_date(text, at_s, _UTC)
        if wall is None or not _has_day(text) or abs(wall - at_s - 60 * quarter) > _CLOCK_S:
            return None
    place = next((name for name in _PLACES if _minutes_ahead(name, moment) == quarter), None)
    if changes and quarter and place:
        return Zone(place, f"{why}; check this: it may be another place with that hour")
    name = zone_of_offset(quarter, language=language)
    return Zone(name, why) if name else None


def is_far(minutes: int) -> bool:
    """Return whether hardly anybody lives where clocks are so many minutes ahead of UTC."""
    return not _WESTERNMOST <= minutes <= _EASTERNMOST


def _has_day(text: str) -> bool:
    return re.search(r"\d", _CLOCK.sub("", text)) is not None


def _minutes_ahead(name: str, moment: datetime) -> int:
    return int((moment.astimezone(ZoneInfo(name)).utcoffset() or timedelta()).total_seconds()) // 60


def zone_by_times_ahead(early_s: float, at_s: float, *, language: str) -> Zone | None:
    """Return the zone of a language if times, read as UTC, are as far ahead as those of new posts are there."""
    home = _HOMES.get(language.lower().partition("-")[0])
    offset_s = 60 * _minutes_ahead(home, datetime.fromtimestamp(at_s, UTC)) if home else 0
    if home is None or not offset_s - _LATELY_S < early_s <= offset_s:
        return None
    return Zone(home, f"in {language}, times are up to {early_s / 60:.0f} min ahead of UTC; check this")


def place_of_offsets(spans: Sequence[tuple[float, float, int]]) -> str | None:
    """Return the first place whose offset from UTC was within a range, in minutes, at each of the moments."""
    return next(
        (
            name
            for name in _PLACES
            if all(low <= _minutes_ahead(name, datetime.fromtimestamp(at, UTC)) <= high for low, high, at in spans)
        ),
        None,
    )


def zone_of_offset(minutes: int, *, language: str = "") -> str | None:
    """Return the zone with an offset from UTC in minutes, None without one."""
    if minutes == 480 and language.lower().startswith("zh"):
        return "Asia/Shanghai"
    if minutes % 60:
        return _ODD_MINUTES.get(minutes)
    hours = minutes // 60
    if not -12 <= hours <= 14:
        return None
    # POSIX counts these names westwards: Etc/GMT-8 is eight hours ahead of UTC.
    return f"Etc/GMT{-hours:+d}" if hours else "UTC"


def _exists(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True
