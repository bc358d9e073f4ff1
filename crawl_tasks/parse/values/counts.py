"""Counts as forums write them (`1.2万`, `3.4k`, `1,234`) into integers, None for a text without a number."""

from __future__ import annotations

import re
import unicodedata

LARGEST = 10**12
_LONGEST_TEXT = 200
_UNITS = {"万": 10**4, "萬": 10**4, "만": 10**4, "w": 10**4, "百万": 10**6, "亿": 10**8, "億": 10**8, "억": 10**8} | {
    word: 10**power
    for power, words in (
        (3, "千 천 k tys tis tsd tuh tūkst tūks thd тыс тис хил χιλ rb ribu mil bin ألف אלף"),
        (6, "m mio mln млн εκ jt juta"),
    )
    for word in words.split()
}  # fmt: skip
# No letter may follow a unit in letters: `3 km` is no 3,000 and `5 min` no 5,000,000.
_UNIT = rf"({'|'.join(sorted(_UNITS, key=len, reverse=True))})"
_ENDS = r"(?:(?<=[万萬千亿億만천억])|(?![^\W\d_]))"
_NUMBER = re.compile(rf"(-?)(\d[\d,'’]*(?: \d{{3}})*)(?:\.(\d+))?\s*(?:{_UNIT}{_ENDS})?", re.IGNORECASE)
# `1,2k` and `1,2 tys.`: with a unit, a comma before one or two figures parts a fraction.
_FRACTION = re.compile(rf"(?<=\d),(?=\d\d?\s*{_UNIT}{_ENDS})", re.IGNORECASE)


def read_count(text: str) -> int | None:
    """Return the first number of a text as a count, None for a negative one or one above 10**12."""
    if text.isascii() and text.isdigit() and len(text) <= 12:
        return int(text)
    bare = text.replace(",", "")
    if bare.isascii() and bare.isdigit() and len(bare) <= 12:
        return int(bare)
    value = _read(text)
    return value if value is not None and value >= 0 else None


def read_int(text: str) -> int | None:
    """Return the first number of a text, which may be negative, None for one above 10**12."""
    if text.isascii() and text.isdigit() and len(text) <= 12:
        return int(text)
    return _read(text)


def _read(text: str) -> int | None:
    if len(text) > _LONGEST_TEXT:
        return None
    # NFKC leaves the minus sign (U+2212) as it is.
    plain = unicodedata.normalize("NFKC", text).replace("−", "-")
    match = _NUMBER.search(_FRACTION.sub(".", plain))
    if match is None:
        return None
    sign, whole, fraction, unit = match.groups()
    digits = re.sub(r"\D", "", whole)
    if len(digits) > 15 or (fraction and len(fraction) > 15):
        return None
    factor = _UNITS[unit.lower()] if unit else 1
    value = int(digits) * factor
    if fraction and unit:
        value += int(fraction) * factor // 10 ** len(fraction)
    elif fraction and len(fraction) == 3:
        # 1.234 is no fraction of a reply: the dot groups thousands.
        value = value * 1000 + int(fraction)
    if value > LARGEST:
        return None
    return -value if sign else value
