"""Words beside a time of day: halves of the day and time zones, by one table each. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from crawl_tasks.parse.values.weekdays import weekdays_of

# The words for the hours before noon, then for those after, by language.
_HALVES: Final = """
en | am a in_the_morning | pm p in_the_afternoon in_the_evening at_night
el | πμ | μμ
sv da | fm förmiddag formiddag | em eftermiddag
vi | sa sáng | ch chiều tối
zh | 上午 凌晨 清晨 早上 早晨 夜里 | 下午 傍晚 晚上 中午
ja | 午前 | 午後
ko | 오전 | 오후
ar | ص صباحا صباحًا | م مساء مساءً
fa | قظ صبح قبل_از_ظهر | بظ عصر بعد_از_ظهر
he | לפנה"צ לפנה״צ בבוקר | אחה"צ אחה״צ בערב
hu | de délelőtt | du délután este
cs sk | dop dopoledne predpoludním ráno | odp odpoledne popoludní večer
sl | dop dopoldne | pop popoldne
hr sr | prijepodne prije_podne prepodne pre_podne | poslijepodne poslije_podne popodne po_podne
sr mk | преподне пре_подне претпладне претпл | поподне по_подне попладне попл
bg | проб преди_обед | слоб след_обед следобед
ru uk | дп до_полудня утра ранку | пп после_полудня дня вечера
sq | pd paradite e_paradites | md pasdite e_pasdites mbasdite
tr | öö | ös
lv | priekšp priekšpusdienā | pēcp pēcpusdienā
lt | priešpiet | popiet
fi | a.p. aamupäivä aamupäivällä | i.p. iltapäivä iltapäivällä
is | fh | eh
cy | yb | yh
de | vorm vormittag vormittags morgens | nachm nachmittag nachmittags abends
nl af | vm 's_ochtends 's_morgens voormiddag | nm 's_middags 's_avonds namiddag
es ca | de_la_mañana de_la_madrugada del_matí | de_la_tarde de_la_noche de_la_tarda
pt | da_manhã da_madrugada | da_tarde da_noite
it | di_mattina del_mattino mattina | di_sera del_pomeriggio di_pomeriggio pomeriggio
fr | du_matin | du_soir de_l'après-midi de_l’après-midi après-midi
pl | przedp rano przed_południem | popoł po_południu wieczorem
ms id | pg pagi | ptg petang sore malam
th | ก่อนเที่ยง | หลังเที่ยง
hi | पूर्वाह्न पूर्वाह्‍न | अपराह्न अपराह्‍न
hy | կա | կհ
"""


def _table() -> dict[str, bool]:
    """Return for each word whether it is of the afternoon."""
    words: dict[str, bool] = {}
    for line in filter(None, _HALVES.split("\n")):
        for is_late, names in enumerate(line.split("|")[1:]):
            words |= {name.replace("_", " "): bool(is_late) for name in names.split()}
    return words


_IS_LATE: Final = _table()
_DOTTED: Final = 4


def _spelled(word: str) -> str:
    # `p. m.`, `π.μ.`, `пр. об.`: initials and short words may have dots and blanks between and behind.
    if word in ("a.p.", "i.p."):
        return rf"{word[0]}\.?p\."
    if len(word) <= _DOTTED and word.isalpha():
        return r"\.?\s?".join(map(re.escape, word)) + r"\.?"
    return re.escape(word) + r"\.?"


_ANY: Final = "|".join(_spelled(word) for word in sorted(_IS_LATE, key=len, reverse=True))
# `10:05 de NAME` is none in Hungarian, nor `10:05 em LAMPS` in Swedish.
HALF_BEHIND: Final = rf"(?:{_ANY})(?!\w)(?!(?<=\b(?:de|du|em))\s(?!av\b|by\b)\w)"
HALF_BEFORE: Final = "|".join(
    rf"(?<!\w){_spelled(word)}" if word[0] < "ऀ" else re.escape(word)
    for word in sorted(_IS_LATE, key=len, reverse=True)
    if word in ("am", "pm") or len(word) > _DOTTED or (len(word) > 1 and word[0] > "ʰ")
)


def is_afternoon(half: str) -> bool:
    """Return whether a word for a half of the day is that after noon."""
    word = re.sub(r"\s+", " ", half.strip())
    bare = re.sub(r"[.\s]", "", word)
    return next(_IS_LATE[one] for one in (word, bare, word.rstrip("."), f"{bare[0]}.p.") if one in _IS_LATE)


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
_OFFSET: Final = re.compile(
    r"\s*[,(]?\s*(?:(?:(?:utc|gmt)\s?|(?=[+−-]\d\d:?\d\d\b))([+−-])(\d{1,2})[:.]?(\d{2})?(?!\d)|(?:z|utc|gmt)\b)"
)
_WORD: Final = re.compile(r"\s*\(?\s*([^\W\d_]+)")
# Words that may stand behind a time and say nothing of it.
_FILLER_WORDS: Final = """
uhr h hr hrs hours hod hodin godz kl klo ч час г год น o'clock local time t
by von par por per door av af przez od autor author user from posted от від oleh bởi автор
da di de do du le il el la les à a az at on an in im um op am den der die das to via ago
and und et y e i en og och ja ve и і και
no id re last edited edit reply replies post posts comment comments thread topic page view views quote report permalink
link more new mod admin op read likes like пользователь написал сказал sagt schrieb wrote says said
"""
_FILLERS: Final = frozenset(_FILLER_WORDS.split())
# Words that stand between a date and its time, such as `at`.
_LEADING_WORDS: Final = """
at @ a à á às ás as o os à's um om kl klo kello ob u v в о об at: hora horas hrs ore ora orele alle las los les la le
saat saatte lúc vào jam pukul jam: time zeit uhrzeit tijd tid tiid godz godzina godzinie czas čas v: óra órakor kor kell
στις ώρα ωρα у год года г р року час години ura uri uur þann klukkan alas às: a: în la: de het el τις στο
الساعة في عند ساعت در בשעה ב เวลา น को
"""
_LEADS: Final = frozenset(_LEADING_WORDS.split()) | _FILLERS
_MARKS: Final = ".,:;()[]@·•–—-|/«»\"'"
_LONGEST_ZONE: Final = 5
_EAST: Final = "\u2e80"
_NOON: Final = 12


def half_between(between: str, hour: int) -> str | None:
    """Return the word for a half of the day in the text between a date and its time, None without one.

    Raises:
        ValueError: an unknown word stands right before an hour up to 12, which may be such a word.
    """
    shown = between.split()
    words = [word.strip(_MARKS) for word in shown]
    for place in range(len(words) - 1, -1, -1):
        word = words[place]
        if any(map(str.isdigit, word)) or word[-1:] >= _EAST:
            return None
        for half in (" ".join(words[max(0, place - 1) : place + 1]), word, re.sub(r"^[dl]['’]", "", word)):
            if half in _IS_LATE and not weekdays_of(word):
                return half
        bare = word.replace(".", "")
        if bare in _IS_LATE and not weekdays_of(word):
            return bare
        if word and word not in _LEADS and word not in _ZONES and not weekdays_of(word):
            # A weekday stands in brackets: `06/14/26(Pzr)07:04`.
            if hour <= _NOON and len(word) > 1 and shown[place][0] != "(":
                raise ValueError(f"unknown word before a time: {word!r}")
            return None
    return None


def zone_behind(rest: str, shown: str, moment: datetime, zone: ZoneInfo, *, hour: int, is_known: bool) -> tzinfo | None:
    """Return the zone that the text behind a time names, None without one.

    Args:
        rest: the cleaned text behind the time, and behind the half of the day.
        shown: the text as the page has it, as zones are written in capitals.
        moment: the date and time, without a zone.
        zone: the zone of the site, which tells the meanings of `IST` apart.
        hour: the hour as written: up to 12, an unknown word may be a half of the day.
        is_known: whether the half of the day was read.

    Raises:
        ValueError: an unknown word stands there, which may change the time.
    """
    found = _OFFSET.match(rest)
    if found:
        offset = timedelta(hours=int(found[2] or 0), minutes=int(found[3] or 0))
        return timezone(offset if found[1] in (None, "+") else -offset)
    place = _PLACE.match(rest.lstrip(" ("))
    if place:
        return timezone(timedelta(minutes=_PLACES[place[1]] + 60 * (place[2] == "daylight")))
    found = _WORD.match(rest)
    if found is None:
        return None
    word = found[1]
    if word[0] >= _EAST:
        # These languages have halves of the day before the time, and no capitals.
        return None
    is_shouted = 1 < len(word) <= _LONGEST_ZONE and word.upper() in shown and word.upper() != word
    if word in _ZONES and (is_shouted or word in ("z", "utc", "gmt")):
        return _meant(word, moment, zone)
    if word in _FILLERS or weekdays_of(word) or (len(word) == 1 and is_known):
        return None
    if is_shouted or (not is_known and hour <= _NOON):
        raise ValueError(f"unknown word behind a time: {word!r}")
    return None


def _meant(word: str, moment: datetime, zone: ZoneInfo) -> tzinfo:
    minutes = _ZONES[word]
    own = {moment.replace(month=month, day=1, tzinfo=zone).utcoffset() for month in (1, 7)} if len(minutes) > 1 else ()
    meant = [one for one in minutes if timedelta(minutes=one) in own]
    if len(meant) != 1 and len(minutes) > 1 and word not in _RFC_822:
        raise ValueError(f"{word.upper()} is the name of {len(minutes)} zones")
    return timezone(timedelta(minutes=[*meant, *minutes][0]))
