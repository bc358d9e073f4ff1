"""Relative dates (`3 小时前`, `昨天 12:30`, `yesterday at 10:02 PM`) into moments. Pure tables, used by dates.py."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from crawl_tasks.parse.values.dates_by_language import AGO, DAY, DAYS, seconds_ago, seconds_before

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
_NOW = re.compile(r"刚刚|刚才|剛剛|剛才|方才|just now|moments? ago|たった今")
_CHINESE_AGO = re.compile(
    r"(?P<number>\d{1,5}|[半一二两兩三四五六七八九十几幾])\s*(?:个|個|多|[かカヵヶケ箇])?(?P<half>半)?\s*"
    r"(?P<unit>秒|分|小时|小時|时|時|钟头|鐘頭|天|日|周|週|星期|礼拜|月|年)(?:钟|鐘|間)?(?P<halved>半)?\s*(?:之|以)?前"
)
_ENGLISH_AGO = re.compile(
    r"\b(?P<number>\d{1,5}|half an?|an?|one)\s*"
    r"(?P<unit>second|sec|minute|min|hour|hr|day|week|wk|month|mo|year|yr|[smhdwy])s?\.?\s+ago\b"
)
_WEEKDAY = re.compile(r"(上)?(?:个|個)?(?:周|週|星期|礼拜)([一二三四五六日天])")
_ENGLISH_WEEKDAY = re.compile(r"\b(?:last )?(mon|tue|wed|thu|fri|sat|sun)[a-z]*\b")
_TIME = re.compile(
    r"(上午|下午|凌晨|清晨|早上|早晨|中午|傍晚|晚上|午後|午前|夜里|오전|오후|am|pm)?\s*"
    r"(\d{1,2})(?::|时|時|点|點|h(?=\d\d)|\.(?=\d\d(?![\d.])))(\d{2}|\d(?=分))?"
    r"(?:(?::|分)(\d{2}))?(?:秒|分)?(?:\.\d+)?\s*([ap]\.? ?m\b|[صم]\b)?"
)
# Hours as English says them without minutes: `6 p.m.`, `noon`.
_HOUR = re.compile(r"\b(?:(?P<hour>\d{1,2})\s*(?P<period>[ap])\.?m\b|(?P<noon>noon)\b)")
_AFTERNOON = ("下午", "傍晚", "晚上", "午後", "오후", "pm", "م")
_MORNING = ("上午", "凌晨", "清晨", "早上", "早晨", "午前", "오전", "am", "ص")


def is_relative(plain: str) -> bool:
    """Return whether a cleaned text counts from now."""
    return any(form.search(plain) for form in (_NOW, _CHINESE_AGO, _ENGLISH_AGO, AGO, DAY, _WEEKDAY)) or (
        _ENGLISH_WEEKDAY.search(plain) is not None and re.search(r"\d{4}", plain) is None
    )


def read_relative(plain: str, now: datetime) -> datetime | None:
    """Return the moment that a cleaned text names relative to `now`, or None.

    Months are 30 days and years 365 days, because such a text is no more exact.
    """
    if _NOW.search(plain):
        return now
    found = _CHINESE_AGO.search(plain) or _ENGLISH_AGO.search(plain)
    if found:
        number = _FIGURES[found["number"]] if found["number"] in _FIGURES else float(found["number"])
        if found.re is _CHINESE_AGO and (found["half"] or found["halved"]):
            number += 0.5
        one_s = UNIT_S[found["unit"]]
        return _ago(now, number * one_s + seconds_before(plain[: found.start()], one_s, _unit_s))
    found = AGO.search(plain)
    ago_s = seconds_ago(found) if found else None
    if ago_s is not None:
        return _ago(now, ago_s)
    found = DAY.search(plain)
    if found:
        return _at(now - timedelta(days=DAYS[found[0]]), around(found))
    return _weekday(plain, now)


def _unit_s(unit: str) -> int | None:
    return UNIT_S.get(unit) or UNIT_S.get(unit.removesuffix("s"))


def around(found: re.Match[str]) -> str:
    """Return the text behind a date and, apart, the one before it: `15:05, 23 Nov 2026` has its time there."""
    return f"{found.string[found.end() :]} | {found.string[: found.start()]}"


def time_of_day(text: str) -> tuple[int, int, int]:
    """Return hour, minute and second of the first time in a cleaned text, midnight for a text without a time.

    Raises:
        ValueError: The numbers are no time of a day.
    """
    found = _TIME.search(text)
    if found is None:
        return _whole_hour(text), 0, 0
    hour, minute, second = int(found[2]), int(found[3] or 0), int(found[4] or 0)
    period = (found[5] or found[1] or "").replace(".", "").replace(" ", "")
    if period in _AFTERNOON and hour < 12:
        hour += 12
    elif (period in _MORNING and hour == 12) or (hour == 24 and minute == 0):
        hour = 0
    elif period == "中午" and hour < 3:
        # `中午 1:30` (noon) is 13:30, but `中午 11:30` is 11:30.
        hour += 12
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"no time of day: {text[:40]!r}")
    return hour, minute, second


def _whole_hour(text: str) -> int:
    found = _HOUR.search(text)
    if found is None:
        return 0
    hour = 12 if found["noon"] else int(found["hour"])
    if not 0 < hour < 13:
        raise ValueError(f"no time of day: {text[:40]!r}")
    return hour % 12 + (12 if found["noon"] or found["period"] == "p" else 0)


def _weekday(plain: str, now: datetime) -> datetime | None:
    found = _WEEKDAY.search(plain)
    if found:
        wanted = "一二三四五六日".index(found[2].replace("天", "日"))
        # `上周三` is the Wednesday of last week, `周三` alone the latest Wednesday, today included.
        back = now.weekday() - wanted + 7 if found[1] else (now.weekday() - wanted) % 7
        return _at(now - timedelta(days=back), plain[found.end() :])
    found = _ENGLISH_WEEKDAY.search(plain)
    if found and ":" in plain and re.search(r"\d{4}", plain) is None:
        wanted = ("mon", "tue", "wed", "thu", "fri", "sat", "sun").index(found[1])
        # English forums write `today` for today, so the name of this weekday means a week ago.
        return _at(now - timedelta(days=(now.weekday() - wanted) % 7 or 7), plain[found.end() :])
    return None


def _ago(now: datetime, seconds: float) -> datetime | None:
    """Return `now` less some seconds of real time. Wall-clock time would jump in spring and autumn."""
    try:
        return datetime.fromtimestamp(now.timestamp() - seconds, now.tzinfo)
    except (OverflowError, ValueError, OSError):
        return None


def _at(day: datetime, rest: str) -> datetime | None:
    try:
        hour, minute, second = time_of_day(rest)
    except ValueError:
        return None
    return day.replace(hour=hour, minute=minute, second=second, microsecond=0)
