"""Moments and numbers in the formats of the forum's boards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from crawl_tasks.demo.content import Board, Style
from crawl_tasks.demo.texts import Language

# China has had no summer time since 1991, so a fixed offset will do.
SHANGHAI = timezone(timedelta(hours=8))
_DAYS = {
    Language.CHINESE: ("今天 ", "昨天 ", "前天 "),
    Language.ENGLISH: ("today at ", "yesterday at "),
}


def moment(board: Board, when: int, now: int) -> str:
    """Return the `time` element for a moment `when` before `now`."""
    local = datetime.fromtimestamp(when, SHANGHAI)
    if board.style is Style.ATTRIBUTE:
        label = f"{local.month}月{local.day}日" if board.language is Language.CHINESE else f"{local:%m/%d}"
        return f'<time datetime="{_iso(when)}">{label}</time>'
    if board.style is Style.HAN:
        return f"<time>{local.year}年{local.month}月{local.day}日 {local:%H:%M}</time>"
    relative = _relative(board.language, when, now) if board.style is Style.RELATIVE else None
    return f"<time>{relative or f'{local:%Y-%m-%d %H:%M}'}</time>"


def views(language: Language, number: int) -> str:
    """Return a number of views, shortened if the short form loses nothing."""
    if number < 1000:
        return str(number)
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 10_000:g}万" if language is Language.CHINESE else f"{number / 1000:.1f}k"


def _iso(when: int) -> str:
    """Return half of the moments in UTC and half in the forum's zone."""
    if when // 60 % 2:
        return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{datetime.fromtimestamp(when, SHANGHAI):%Y-%m-%dT%H:%M:%S}+08:00"


def _relative(language: Language, when: int, now: int) -> str | None:
    """Return a relative text if a reader can get the exact minute back."""
    ago = now - when
    if 60 <= ago < 3600 and ago % 60 == 0:
        return _ago(language, ago // 60, "分钟", "minute")
    if 3600 <= ago < 86_400 and ago % 3600 == 0:
        return _ago(language, ago // 3600, "小时", "hour")
    local, today = datetime.fromtimestamp(when, SHANGHAI), datetime.fromtimestamp(now, SHANGHAI)
    days = (today.date() - local.date()).days
    names = _DAYS[language]
    return f"{names[days]}{local:%H:%M}" if 0 <= days < len(names) else None


def _ago(language: Language, count: int, chinese: str, english: str) -> str:
    if language is Language.CHINESE:
        return f"{count} {chinese}前"
    return f"{count} {english}{'s' if count > 1 else ''} ago"
