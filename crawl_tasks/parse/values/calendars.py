"""Calendars other than the Gregorian one, and words of letters with marks, rewritten for the reader of dates. Pure."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from crawl_tasks.parse.values.dates_by_language import MONTHS
from crawl_tasks.parse.values.weekdays import WEEKDAYS

# Those of forums. Later ones are of the lunar calendar, whose months no rule gives to the day.
_FIRST_SOLAR, _LAST_SOLAR = 1360, 1410
# From this year to 1634, eight of 33 years are leap years (Borkowski, The Persian calendar for 3000 years, 1996). So
# many were before, less those of the Gregorian calendar at its beginning.
_BASE, _LEAPS_BEFORE = 1210, 294
_SOLAR_MONTHS: Final = {
    name: month
    for names in (
        "فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند",
        "حمل ثور جوزا سرطان اسد سنبله میزان عقرب قوس جدی دلو حوت",
    )
    for month, name in enumerate(names.split(), 1)
}
_YEAR: Final = r"(1[34]\d\d)"
_SOLAR_FIGURES: Final = re.compile(rf"(?<!\d){_YEAR}\s?[-/.]\s?(\d{{1,2}})\s?[-/.]\s?(\d{{1,2}})(?!\d)")
_SOLAR_LAST: Final = re.compile(rf"(?<![\d/.-])(1[3-9]|[23]\d)\s?[-/.]\s?(\d{{1,2}})\s?[-/.]\s?{_YEAR}(?!\d)")
_SOLAR_WORDS: Final = re.compile(rf"(?<!\d)(\d{{1,2}})\s+({'|'.join(_SOLAR_MONTHS)})(?:\s?ماه)?[\s،,]+{_YEAR}(?!\d)")
_ERA: Final = re.compile(r"(令和|平成|昭和|民國|民国)\s?(元|\d{1,3})\s?年")
_ERAS: Final = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "民国": 1911}
_ERA_LETTER: Final = re.compile(
    r"(?<![^\W_])([rhs])(\d{1,2})\s?[-/.年]\s?(1[0-2]|0?[1-9])\s?[-/.月]\s?(3[01]|[12]\d|0?[1-9])(?!\d)日?"
)
_ERAS_BY_LETTER: Final = {"r": 2018, "h": 1988, "s": 1925}
_BUDDHIST: Final = re.compile(r"(?<!\d)(2[45]\d\d)(?!\d)")
_BUDDHIST_S: Final = 543
_THAI: Final = re.compile("[\u0e01-\u0e4e]")
_MARKED: Final = re.compile("[\u0900-\u097f\u0e01-\u0e4e]")
_WORDS: Final = (
    {
        name: MONTHS[month]
        for names in (
            "มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม",
            "ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.",
            "जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
            "जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितम्बर अक्तूबर नवम्बर दिसम्बर",
        )
        for month, name in enumerate(names.split())
    }
    | {
        day: name
        for days in (
            "วันจันทร์ วันอังคาร วันพุธ วันพฤหัสบดี วันศุกร์ วันเสาร์ วันอาทิตย์",
            "सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार",
        )
        for day, name in zip(days.split(), WEEKDAYS, strict=True)
    }
    | {
        "วันนี้": "today", "เมื่อวานนี้": "yesterday", "เมื่อวาน": "yesterday", "आज": "today", "कल": "yesterday",
        "วินาที": " second ", "นาที": " minute ", "ชั่วโมง": " hour ", "วัน": " day ", "สัปดาห์": " week ",
        "เดือน": " month ", "ปี": " year ", "ที่แล้ว": " ago", "ที่ผ่านมา": " ago", "ก่อน": " ago",
        "ก่อนเที่ยง": "am", "หลังเที่ยง": "pm", "เวลา": " ", "น.": " ", "พ.ศ.": " ", "ค.ศ.": " ",
        "मिनट": " minute ", "घंटे": " hour ", "घंटा": " hour ", "दिन": " day ", "पहले": " ago", "बजे": " ",
        "पूर्वाह्न": "am", "अपराह्न": "pm",
    }
)  # fmt: skip
_VIETNAMESE: Final = re.compile(r"\s?\b(?:tháng|thg)\s?(1[0-2]|[1-9])(?!\d)(?:,| năm)?")
_EASTERN: Final = re.compile(r"(?<!\d)(1[0-2]|[1-9])月(?!\d)")
_EASTERN_DAY: Final = re.compile(r"年|\d\s?日|月\d")
_ANY_WORD: Final = re.compile("|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))))


def in_usual_words(plain: str) -> str:
    """Return a cleaned text with days of other calendars as ISO 8601, and words of Thai and Hindi in English."""
    if not plain.isascii():
        if _MARKED.search(plain):
            plain = _ANY_WORD.sub(lambda match: _WORDS[match[0]], plain)
        if _EASTERN_DAY.search(plain) is None:
            # `6月 17th, 2026`: the names of months in the formats of another language.
            plain = _EASTERN.sub(lambda match: f"{MONTHS[int(match[1]) - 1]}", plain)
        plain = _ERA.sub(lambda match: f"{_ERAS[match[1]] + int(match[2].replace('元', '1'))}年", plain)
        plain = _SOLAR_WORDS.sub(lambda match: _solar(match[3], _SOLAR_MONTHS[match[2]], match[1], match[0]), plain)
    plain = _ERA_LETTER.sub(
        lambda match: f"{_ERAS_BY_LETTER[match[1]] + int(match[2])}-{int(match[3]):02}-{int(match[4]):02}", plain
    )
    if "th" in plain:
        plain = _VIETNAMESE.sub(lambda match: f" {MONTHS[int(match[1]) - 1]}", plain)
    plain = _SOLAR_FIGURES.sub(lambda match: _solar(match[1], match[2], match[3], match[0]), plain)
    plain = _SOLAR_LAST.sub(lambda match: _solar(match[3], match[2], match[1], match[0]), plain)
    return _BUDDHIST.sub(lambda match: f"{int(match[1]) - _BUDDHIST_S}", plain)


def is_of_other_calendar(plain: str) -> bool:
    """Return whether a cleaned text may need another calendar or other words: a quick test for nearly all texts."""
    return _SIGNS.search(plain) is not None


_SIGNS: Final = re.compile(
    r"(?<!\d)(?:1[34]|2[45])\d\d(?!\d)|[\u0900-\u097f\u0e01-\u0e4e]|\d月(?!\d)|令和|平成|昭和|民[國国]|t(?:háng|hg)|[rhs]\d{1,2}\s?[-/.年]"
)


def _solar(year: str, month: str | int, day: str, written: str) -> str:
    moment = solar_hijri(int(year), int(month), int(day))
    return f"{moment:%Y-%m-%d}" if moment is not None else written


def solar_hijri(year: int, month: int, day: int) -> date | None:
    """Return the Gregorian day of the Solar Hijri calendar, None for none or outside of the years of forums."""
    if not (_FIRST_SOLAR <= year <= _LAST_SOLAR and 1 <= month <= 12):
        return None
    leap, march = _new_year(year)
    last = 30 if month < 12 or leap == 0 else 29
    if not 1 <= day <= (31 if month <= 6 else last):
        return None
    passed = 31 * (month - 1) - max(0, month - 7) + day - 1
    return date(year + 621, 3, march) + timedelta(days=passed)


def _new_year(year: int) -> tuple[int, int]:
    """Return the years since the last leap year, and the day of March on which a Solar Hijri year begins."""
    passed = year - _BASE
    leaps = _LEAPS_BEFORE + passed // 33 * 8 + (passed % 33 + 3) // 4
    gregorian = year + 621
    march = 20 + leaps - (gregorian // 4 - (gregorian // 100 + 1) * 3 // 4 - 150)
    return ((passed + 1) % 33 - 1) % 4, march
