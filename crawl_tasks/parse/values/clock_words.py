"""Words beside a time of day: halves of the day and time zones, by one table each. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from crawl_tasks.parse.values.weekdays import weekdays_of

# The words for the hours before noon, then for those after, for the night, and for noon, by language. Those of Thai and
# Hindi are in calendars.py, among their other words.
_HALVES: Final = """
en | am a in_the_morning | pm p in_the_afternoon in_the_evening | at_night
el | πμ | μμ
sv da nn | fm förmiddag formiddag | em eftermiddag ettermiddag
vi | sa sáng | ch chiều tối | đêm
zh | 上午 凌晨 清晨 早上 早晨 | 下午 傍晚 | 晚上 夜里 夜裡 夜晚 深夜 半夜 | 中午
ja | 午前 朝 | 午後 夕方 | 夜
ko | 오전 새벽 아침 | 오후 저녁 | 밤
ar | ص صباحا صباحًا | م مساء مساءً
fa | قظ صبح قبل_از_ظهر قبلازظهر | بظ عصر بعد_از_ظهر بعدازظهر
he | לפנה"צ לפנה״צ בבוקר | אחה"צ אחה״צ בערב
hu | de délelőtt | du délután este | éjjel
cs sk | dop dopoledne predpoludním ráno | odp odpoledne popoludní večer | v_noci
sl | dop dopoldne | pop popoldne | ponoči
hr sr | prijepodne prije_podne prepodne pre_podne | poslijepodne poslije_podne popodne po_podne
sr mk | преподне пре_подне претпладне претпл | поподне по_подне попладне попл
bg | проб преди_обед | слоб след_обед следобед
ru uk | дп до_полудня утра ранку | пп после_полудня після_полудня пополудні дня вечера | ночи ночі
sq | pd paradite e_paradites | md pasdite e_pasdites mbasdite
tr | öö | ös | gece
lv | priekšp priekšpusdiena priekšpusdienā | pēcp pēcpusd pēcpusdiena pēcpusdienā
lt | priešpiet | popiet
fi | a.p. aamupäivä aamupäivällä | i.p. iltapäivä iltapäivällä | yöllä
is | fh | eh
cy | yb | yh
de | vorm vormittag vormittags morgens | nachm nachmittag nachmittags abends | nachts
de | am_morgen am_vormittag | am_nachmittag am_abend | in_der_nacht
nl af | vm 's_ochtends 's_morgens voormiddag | nm 's_middags 's_avonds namiddag | 's_nachts
es ca | de_la_mañana de_la_madrugada del_matí | de_la_tarde de_la_tarda | de_la_noche de_la_nit
pt | da_manhã da_madrugada | da_tarde | da_noite
it | di_mattina del_mattino mattina | di_sera del_pomeriggio di_pomeriggio pomeriggio | di_notte
fr | du_matin | du_soir de_l'après-midi de_l’après-midi après-midi | de_la_nuit
pl | przedp rano przed_południem | popoł po_południu wieczorem | w_nocy
ms id | pg pagi | ptg petang sore | malam
hy | կա | կհ
"""
_MORNING, _AFTERNOON, _NIGHT, _NOON_WORD = range(4)


def _table() -> dict[str, int]:
    """Return the part of the day for each word."""
    words: dict[str, int] = {}
    for line in filter(None, _HALVES.split("\n")):
        for part, names in enumerate(line.split("|")[1:]):
            words |= {name.replace("_", " "): part for name in names.split()}
    return words


_PART_OF: Final = _table()
_DOTTED: Final = 4
_EAST: Final = "\u2e80"


def _spelled(word: str) -> str:
    # `p. m.`, `π.μ.`, `пр. об.`: initials and short words may have dots and blanks between and behind.
    if word in ("a.p.", "i.p."):
        return rf"{word[0]}\.?p\."
    if len(word) <= _DOTTED and word.isalpha():
        return r"\.?\s?".join(map(re.escape, word)) + r"\.?"
    return re.escape(word) + r"\.?"


_ANY: Final = "|".join(_spelled(word) for word in sorted(_PART_OF, key=len, reverse=True))
# `10:05 de NAME` is none in Hungarian, nor `10:05 em LAMPS` in Swedish, nor `12:30 a NAME` in English.
HALF_BEHIND: Final = rf"(?:{_ANY})(?!\w)(?!(?:(?<=\b(?:de|du|em))|(?<=\sa))\s(?!av\b|by\b)\w)"
HALF_BEFORE: Final = "|".join(
    rf"(?<!\w){_spelled(word)}" if word[0] < "ऀ" else re.escape(word)
    for word in sorted(_PART_OF, key=len, reverse=True)
    if word in ("am", "pm") or len(word) > _DOTTED or word[0] >= _EAST or (len(word) > 1 and word[0] > "ʰ")
)


def hour_of_day(hour: int, half: str | None) -> int:
    """Return the hour, 0 to 24, that an hour with a word for a part of the day means.

    Raises:
        ValueError: the morning has no such hour.
    """
    part = None if half is None else _part_of(half)
    if part is None or (hour > _NOON and part != _MORNING):
        return hour
    if part == _MORNING:
        if hour > _NOON:
            raise ValueError(f"no hour of the morning: {hour}")
        return hour % _NOON
    if part == _NOON_WORD:
        # `中午 1:30` (noon) is 13:30, but `中午 11:30` is 11:30.
        return hour + _NOON if hour < _BEHIND_NOON else hour
    # The night goes on behind midnight: `晚上 1:30` is 01:30, and `晚上 7:30` is 19:30.
    is_early = part == _NIGHT and hour % _NOON < _DAWN
    return hour % _NOON + (0 if is_early else _NOON)


def _part_of(half: str) -> int:
    word = re.sub(r"\s+", " ", half.strip())
    bare = re.sub(r"[.\s]", "", word)
    return next(
        _PART_OF[spelling] for spelling in (word, bare, word.rstrip("."), f"{bare[0]}.p.") if spelling in _PART_OF
    )


# Minutes ahead of UTC. Those with several meanings are told apart by the zone of the site.
_ZONES: Final = {
    "z": (0,), "utc": (0,), "gmt": (0,), "wet": (0,), "west": (60,), "cet": (60,), "mez": (60,), "cest": (120,),
    "mesz": (120,), "met": (60,), "mest": (120,), "eet": (120,), "eest": (180,), "msk": (180,), "мск": (180,),
    "msd": (240,), "trt": (180,), "samt": (240,), "yekt": (300,), "omst": (360,), "novt": (420,), "krat": (420,),
    "irkt": (480,), "vlat": (600,),
    "est": (-300, 600), "edt": (-240,), "cst": (-360, 480), "cdt": (-300, -240), "mst": (-420, 390, 480),
    "mdt": (-360,), "pst": (-480, 480), "pdt": (-420,), "akst": (-540,), "akdt": (-480,), "hst": (-600,),
    "hdt": (-540,), "nst": (-210,), "ndt": (-150,), "ast": (-240, 180), "adt": (-180, 240), "brt": (-180,),
    "brst": (-120,), "art": (-180,), "clt": (-240,), "clst": (-180,), "cot": (-300,), "pet": (-300,), "vet": (-240,),
    "bst": (60, 360, 660), "ist": (330, 120, 60), "idt": (180,), "irst": (210,), "irdt": (270,), "gst": (240, -120),
    "pkt": (300,), "npt": (345,), "ict": (420,), "wib": (420,), "wita": (480,), "wit": (540,), "hkt": (480,),
    "sgt": (480,), "myt": (480,), "pht": (480,), "jst": (540,), "kst": (540,), "awst": (480,), "acst": (570,),
    "acdt": (630,), "aest": (600,), "aedt": (660,), "nzst": (720,), "nzdt": (780,), "sast": (120,), "cat": (120,),
    "eat": (180,), "wat": (60,), "wast": (120,),
}  # fmt: skip
# RFC 822 gives these one meaning. The others with several need the site's zone.
_RFC_822: Final = frozenset(("est", "mst", "pst", "cdt"))
_PLACES: Final = {"eastern": -300, "central": -360, "mountain": -420, "pacific": -480, "alaska": -540}
_PLACE: Final = re.compile(rf"({'|'.join(_PLACES)}) (standard|daylight) time")
HOURS_AHEAD: Final = r"(\d{1,2})(?:[:.]?(\d\d|(?<=\.)5))?(?!\.?\d)"
_OFFSET: Final = re.compile(
    rf"\s*[,(]?\s*(?:(?:(?:utc|gmt)\s?|(?=[+−-]\d\d:?\d\d\b))([+−-]){HOURS_AHEAD}|(?:z|utc|gmt)\b(?!\s?[+−-]\d))"
)
# Half an hour and three quarters, written as decimals of an hour.
_DECIMALS: Final = {"5": 30, "75": 45}
_WORD: Final = re.compile(r"\s*\(?\s*([^\W\d_]+)")
# Words that may be behind a time, or before, and say nothing of it.
_FILLER_WORDS: Final = """
uhr h hr hrs hours hod hodin godz kl klo ч час г год น o'clock local time t
by von par por per door av af przez od autor author user from posted от від oleh bởi автор
da di de do du le il el la las les à a az at on an in im em um op am den der die das to via ago
and und et y e i en og och ja ve и і και
no id re last edited edit reply replies post posts comment comments thread topic page view views quote report permalink
link more new mod admin read likes like пользователь написал сказал sagt schrieb wrote says said
"""
_FILLERS: Final = frozenset(_FILLER_WORDS.split())
# Words that are only between a date and its time.
_LEADING_WORDS: Final = """
á às ás as o os à's om kello ob u v в о об hora horas ore ora orele alle los saat saatte lúc vào jam pukul zeit uhrzeit
tijd tid tiid godzina godzinie czas čas óra órakor kor kell στις ώρα ωρα у года р року години ura uri uur þann klukkan
alas în het τις στο الساعة في عند ساعت در בשעה ב เวลา น. को
"""
_LEADS: Final = frozenset(_LEADING_WORDS.split()) | _FILLERS
_MARKS: Final = ".,:;()[]@·•–—-|/«»\"'"
_LONGEST_ZONE: Final = 5
_NOON: Final = 12
_BEHIND_NOON, _DAWN = 3, 5
_LONGEST_PHRASE: Final = 3


_CLOCK: Final = re.compile(r"(?<!\d)\d{1,2}(?:[:時时点點]|\s?h\s?)\d\d(?!\d)", re.IGNORECASE)
_CLOCK_END: Final = re.compile(
    r"(?:(?<!\d)\d{1,2}(?:[:時时点點]|\s?h\s?)|(?<![\d.])\d{1,2}\.)\d\d(?::\d\d)?$", re.IGNORECASE
)
_LONGEST_BEFORE, _LONGEST_CLOCK = 40, 100
_ORDINAL: Final = re.compile(r"^(?:st|nd|rd|th|er)\b", re.IGNORECASE)
_BEHIND_CLOCK: Final = re.compile(
    # Where a line ends behind the half, the next one touches it: `02:17 PMby ann`.
    rf"(?::\s?\d\d|分(?:\d\d秒)?)?(?:\s?(?:(?-i:[AP]M)|{HALF_BEHIND}))?"
    rf"(?:\s?\(?(?-i:{'|'.join(word.upper() for word in sorted(_ZONES, key=len, reverse=True))})\b\)?)?"
    r"(?:\s?[+−-]\d\d:?\d\d\b)?",
    re.IGNORECASE,
)


def with_clock(text: str, start: int, end: int) -> str:
    """Return a part of a text. If it ends at a time of day, the seconds, the half and the zone behind belong to it."""
    part = text[start:end]
    is_cut = part[-1:].isdigit() and _CLOCK_END.search(part, max(0, len(part) - len(" 12:05:33"))) is not None
    behind = _BEHIND_CLOCK.match(text, end) if is_cut else None
    return f"{part}{behind[0]}" if behind else part


def clock_of(text: str) -> str:
    """Return the first time of day in a text, with the words before, as far as the last figure, and what is behind."""
    clock = _CLOCK.search(text)
    if clock is None:
        return ""
    before = re.split(r"\d", text[max(0, clock.start() - _LONGEST_BEFORE) : clock.start()])[-1]
    return f"{_ORDINAL.sub('', before)}{text[clock.start() :]}"[:_LONGEST_CLOCK]


def half_between(between: str, hour: int) -> str | None:
    """Return the word for a half of the day in the text between a date and its time, None without one.

    Raises:
        ValueError: an unknown word is right before an hour up to 12, which may be such a word.
    """
    written = between.split()
    words = [word.strip(_MARKS) for word in written]
    for place in range(len(words) - 1, -1, -1):
        word = words[place]
        if any(map(str.isdigit, word)) or word[-1:] >= _EAST:
            return None
        half = _half_at(words[max(0, place + 1 - _LONGEST_PHRASE) : place + 1], written[place])
        if half is not None:
            return half
        if word and word not in _LEADS and word not in _ZONES and not weekdays_of(word):
            # A weekday is in brackets: `06/14/26(Pzr)07:04`.
            if hour <= _NOON and (len(word) > 1 or word in _PART_OF) and written[place][0] != "(":
                raise ValueError(f"unknown word before a time: {word!r}")
            return None
    return None


def _half_at(words: list[str], written: str) -> str | None:
    """Return the word for a half of the day, of one word or several, with which the words end. None without one."""
    phrases = (" ".join(words[place:]) for place in range(len(words) - 1))
    if (half := next((phrase for phrase in phrases if phrase in _PART_OF), None)) is not None:
        return half
    word = words[-1]
    bare = word.replace(".", "")
    # Hungarian has a dot where other languages have a preposition, or a weekday: `du. 10:05`. One letter is none.
    is_other = not written.endswith(".") if word in _LEADS else bool(weekdays_of(word))
    if len(bare) < 2 or is_other:
        return None
    return next((half for half in (word, re.sub(r"^[dl]['’]", "", word), bare) if half in _PART_OF), None)


def minutes_ahead(sign: str, hours: str, minutes: str | None) -> int:
    """Return the minutes ahead of UTC of the parts of an offset, as in `UTC-3:30`, `GMT+0545` and `UTC-3.5`."""
    ahead = 60 * int(hours) + _DECIMALS.get(minutes or "", int(minutes or 0))
    return ahead if sign == "+" else -ahead


def zone_behind(
    rest: str, page_text: str, moment: datetime, zone: ZoneInfo, *, hour: int, is_known: bool
) -> tzinfo | None:
    """Return the zone that the text behind a time names, None without one.

    Args:
        rest: the cleaned text behind the time, and behind the half of the day.
        page_text: the text as the page has it, as zones are written in capitals.
        moment: the date and time, without a zone.
        zone: the zone of the site, which tells the meanings of `IST` apart.
        hour: the hour as written: up to 12, an unknown word may be a half of the day.
        is_known: whether the half of the day was read.

    Raises:
        ValueError: an unknown word is there, which may change the time.
    """
    ahead = _stated_ahead(rest)
    if ahead is not None:
        return timezone(timedelta(minutes=ahead))
    match = _WORD.match(rest)
    if match is None:
        return None
    word = match[1]
    if word[0] >= _EAST:
        # These languages have halves of the day before the time, and no capitals.
        return None
    is_shouted = 1 < len(word) <= _LONGEST_ZONE and word.upper() in page_text and word.upper() != word
    if word in ("z", "utc", "gmt"):
        raise ValueError(f"unknown offset behind a time: {rest[:20]!r}")
    if word in _ZONES and is_shouted:
        return _meant(word, moment, zone)
    if word in _FILLERS or weekdays_of(word) or (len(word) == 1 and is_known):
        return None
    if is_shouted or (not is_known and hour <= _NOON):
        raise ValueError(f"unknown word behind a time: {word!r}")
    return None


def _stated_ahead(rest: str) -> int | None:
    """Return the minutes ahead of UTC by an offset or by a zone's name of several words, None without one."""
    offset = _OFFSET.match(rest)
    if offset:
        return minutes_ahead(offset[1], offset[2], offset[3]) if offset[1] else 0
    place = _PLACE.match(rest.lstrip(" ("))
    return _PLACES[place[1]] + 60 * (place[2] == "daylight") if place else None


def _meant(word: str, moment: datetime, zone: ZoneInfo) -> tzinfo:
    minutes = _ZONES[word]
    own = {moment.replace(month=month, day=1, tzinfo=zone).utcoffset() for month in (1, 7)} if len(minutes) > 1 else ()
    meant = [offset for offset in minutes if timedelta(minutes=offset) in own]
    if len(meant) != 1 and len(minutes) > 1 and word not in _RFC_822:
        raise ValueError(f"{word.upper()} is the name of {len(minutes)} zones")
    return timezone(timedelta(minutes=[*meant, *minutes][0]))
