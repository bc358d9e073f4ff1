"""Relative dates (`3 小时前`, `昨天 12:30`, `yesterday at 10:02 PM`) into moments. Pure tables, used by dates.py."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from crawl_tasks.parse.values.clock_words import HALF_BEFORE, HALF_BEHIND, half_between, hour_of_day, zone_behind
from crawl_tasks.parse.values.dates_by_language import AGO, DAY, DAYS, NUMBER, seconds_ago, seconds_before
from crawl_tasks.parse.values.weekdays import weekday_alone

UNIT_S = {
    "秒": 1, "分": 60, "小时": 3600, "小時": 3600, "时": 3600, "時": 3600, "钟头": 3600, "鐘頭": 3600, "天": 86400,
    "日": 86400, "周": 604800, "週": 604800, "星期": 604800, "礼拜": 604800, "月": 2592000, "年": 31536000,
    "second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "hr": 3600, "day": 86400, "week": 604800,
    "month": 2592000, "year": 31536000, "wk": 604800, "mo": 2592000, "yr": 31536000, "s": 1, "m": 60, "h": 3600,
    "d": 86400, "w": 604800, "y": 31536000,
}  # fmt: skip
# `几` (a few) names no number, and three is as near as that text comes.
_FIGURES = {figure: float(number) for number, figure in enumerate("一二三四五六七八九十", 1)} | {
    "半": 0.5, "两": 2, "兩": 2, "几": 3, "幾": 3, "a": 1, "an": 1, "one": 1, "half a": 0.5, "half an": 0.5,
}  # fmt: skip
_DAY_S, _NIGHT = 86_400, 24
_NOW = re.compile(r"刚刚|刚才|剛剛|剛才|方才|just now|moments? ago|たった今")
_CHINESE_AGO = re.compile(
    rf"(?P<number>{NUMBER}|[半一二两兩三四五六七八九十几幾])\s*(?:个|個|多|[かカヵヶケ箇])?(?P<half>半)?\s*"
    r"(?P<unit>秒|分|小时|小時|时|時|钟头|鐘頭|天|日|周|週|星期|礼拜|月|年)(?:钟|鐘|間)?(?P<halved>半)?\s*(?:之|以)?前"
)
_ENGLISH_AGO = re.compile(
    rf"\b(?P<number>{NUMBER}|half an?|an?|one)\s*"
    r"(?P<unit>second|sec|minute|min|hour|hr|day|week|wk|month|mo|year|yr|[smhdwy])s?\.?\s+ago\b"
)
_WEEKDAY = re.compile(r"(上)?(?:个|個)?(?:周|週|星期|礼拜)([一二三四五六日天])")
# `10.05` and `10.05.33.123 PM`, which is no part of a longer row of numbers.
_SECONDS = r"[0-5]\d(?:\.\d{3,9})?(?!\.?\d)"
_DOT = rf"\.(?<!\.\d\.)(?<!\.\d\d\.)(?=\d\d(?:\.{_SECONDS}|(?!\.?\d)))"
_TIME = re.compile(
    rf"(?P<hour>\d{{1,2}})(?::|时|時|点|點|시|\s?h\s?(?=\d\d)|{_DOT})\s?(?P<minute>\d{{2}}|\d(?=분|分))?"
    rf"(?:(?::|分|분|\.(?={_SECONDS}))\s?(?P<second>\d{{2}}))?(?:秒|分|분|초|min\b)?(?:[.,]\d+)?"
    rf"(?:\s*(?P<behind>{HALF_BEHIND}))?"
)
_HALF_BEFORE = re.compile(rf"({HALF_BEFORE})の?\s*$")
_LONGEST_HALF = 24
_NOON = 12
# Hours as English says them without minutes: `6 p.m.`, `noon`.
_HOUR = re.compile(r"\b(?:(?P<hour>\d{1,2})\s*(?P<period>[ap])\.?m\b|(?P<noon>noon)\b)")


def is_relative(plain: str) -> bool:
    """Return whether a cleaned text counts from now."""
    return any(form.search(plain) for form in (_NOW, _CHINESE_AGO, _ENGLISH_AGO, AGO, DAY)) or (
        (_WEEKDAY.search(plain) is not None or weekday_alone(plain) is not None)
        and re.search(r"\d", _TIME.sub("", plain)) is None
    )


def read_relative(plain: str, page_text: str, now: datetime) -> datetime | None:
    """Return the moment that a cleaned text names relative to `now`, or None. `page_text` is the text on the page.

    Months are 30 days and years 365 days, because such a text is no more exact.

    Raises:
        ValueError: the text names no time of a day, or may name another one.
    """
    if _NOW.search(plain):
        return now
    match = _CHINESE_AGO.search(plain) or _ENGLISH_AGO.search(plain)
    if match:
        number = _FIGURES[match["number"]] if match["number"] in _FIGURES else float(match["number"].replace(",", "."))
        if match.re is _CHINESE_AGO and (match["half"] or match["halved"]):
            number += 0.5
        one_s = UNIT_S[match["unit"]]
        past_s = number * one_s + seconds_before(plain[: match.start()], one_s, _unit_s)
        return _ago(now, past_s, match, page_text, is_whole=one_s >= _DAY_S)
    match = AGO.search(plain)
    ago = seconds_ago(match) if match else None
    if match and ago is not None:
        return _ago(now, ago[0], match, page_text, is_whole=ago[1] >= _DAY_S)
    match = DAY.search(plain)
    if match:
        return _clock_of(now - timedelta(days=DAYS[match[0]]), around(match), page_text)
    return _weekday(plain, page_text, now)


def _unit_s(unit: str) -> int | None:
    return UNIT_S.get(unit) or UNIT_S.get(unit.removesuffix("s"))


def around(match: re.Match[str]) -> str:
    """Return the text behind a date and, apart, the one before it: `15:05, 23 Nov 2026` has its time there."""
    return f"{match.string[match.end() :]} | {match.string[: match.start()]}"


def clock_in(text: str, page_text: str, day: datetime, zone: ZoneInfo) -> datetime:
    """Return the moment of a day at the first time in a cleaned text, midnight for a text without a time.

    `page_text` is the text on the page. The moment has a zone where the text names one.

    Raises:
        ValueError: The numbers are no time of a day, or an unknown word behind may change it.
    """
    match = _TIME.search(text)
    if match is None:
        return day + timedelta(hours=_whole_hour(text))
    hour, minute, second = int(match["hour"]), int(match["minute"] or 0), int(match["second"] or 0)
    half = match["behind"] or _half_before(text, match.start())
    between = text[: match.start()]
    if half is None and hour <= _NOON and between and "|" not in between:
        half = half_between(between, hour)
    if hour > _NIGHT or minute > 59 or second > 59 or (hour == _NIGHT and minute + second):
        raise ValueError(f"no time of day: {text[:40]!r}")
    moment = day + timedelta(hours=hour_of_day(hour, half), minutes=minute, seconds=second)
    rest = text[match.end() :].partition("|")[0]
    named = zone_behind(rest, page_text, moment, zone, hour=hour, is_known=half is not None)
    return moment if named is None else moment.replace(tzinfo=named)


def _half_before(text: str, end: int) -> str | None:
    # Of nearly all times a blank or a mark is before, and no word right before that.
    before = text[max(0, end - _LONGEST_HALF) : end].rstrip()
    match = _HALF_BEFORE.search(before) if before and not before[-1].isdigit() and before[-1] not in ",|-" else None
    return match[1] if match else None


def _whole_hour(text: str) -> int:
    match = _HOUR.search(text)
    if match is None:
        return 0
    hour = 12 if match["noon"] else int(match["hour"])
    if not 0 < hour < 13:
        raise ValueError(f"no time of day: {text[:40]!r}")
    return hour % 12 + (12 if match["noon"] or match["period"] == "p" else 0)


def _weekday(plain: str, page_text: str, now: datetime) -> datetime | None:
    # A date beside is the day itself: its weekday is none of the last week's.
    if re.search(r"\d", _TIME.sub("", plain)):
        return None
    match = _WEEKDAY.search(plain)
    if match:
        wanted = "一二三四五六日".index(match[2].replace("天", "日"))
        # `上周三` is the Wednesday of last week, `周三` alone the latest Wednesday, today included.
        back = now.weekday() - wanted + 7 if match[1] else (now.weekday() - wanted) % 7
        return _clock_of(now - timedelta(days=back), plain[match.end() :], page_text)
    named = weekday_alone(plain)
    if named is None or not _TIME.search(plain):
        return None
    wanted, end = named
    # Forums write `today` for today, so the name of this weekday means a week ago.
    return _clock_of(now - timedelta(days=(now.weekday() - wanted) % 7 or 7), plain[end:], page_text)


def _ago(
    now: datetime, seconds: float, match: re.Match[str], page_text: str, *, is_whole: bool
) -> datetime | None:  # fmt: skip
    """Return `now` less some seconds of real time. Wall-clock time would jump in spring and autumn.

    With `is_whole` the smallest unit is a day or more: `2 Days Ago, 08:15 AM` names the hour of that day.
    """
    try:
        moment = datetime.fromtimestamp(now.timestamp() - seconds, now.tzinfo)
    except (OverflowError, ValueError, OSError):
        return None
    rest = around(match)
    if not is_whole or not _TIME.search(rest):
        return moment
    return _clock_of(now - timedelta(days=seconds // _DAY_S), rest, page_text)


def _clock_of(day: datetime, rest: str, page_text: str) -> datetime:
    zone = day.tzinfo if isinstance(day.tzinfo, ZoneInfo) else ZoneInfo("UTC")
    moment = clock_in(rest, page_text, day.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None), zone)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=day.tzinfo)
    # Today may be another day in the zone that the text names.
    return moment + (day.astimezone(moment.tzinfo).date() - day.date())
