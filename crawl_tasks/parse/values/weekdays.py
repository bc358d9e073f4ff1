"""Weekdays: their names in the languages of forums, beside dates in figures and alone. Pure tables."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# Monday first. A word may name another day in another language: `so` is Sunday in German and Saturday in Czech.
_FULL: Final = """
monday tuesday wednesday thursday friday saturday sunday
montag dienstag mittwoch donnerstag freitag samstag sonntag
montag dienstag mittwoch donnerstag freitag sonnabend sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche
lunes martes miércoles jueves viernes sábado domingo
lunedì martedì mercoledì giovedì venerdì sabato domenica
segunda terça quarta quinta sexta sábado domingo
segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
poniedziałek wtorek środa czwartek piątek sobota niedziela
понедельник вторник среда четверг пятница суббота воскресенье
понеділок вівторок середа четвер пʼятниця субота неділя
понеделник вторник сряда четвъртък петък събота неделя
понедељак уторак среда четвртак петак субота недеља
ponedjeljak utorak srijeda četvrtak petak subota nedjelja
ponedeljak utorak sreda četvrtak petak subota nedelja
ponedeljek torek sreda četrtek petek sobota nedelja
pondělí úterý středa čtvrtek pátek sobota neděle
pondelok utorok streda štvrtok piatok sobota nedeľa
måndag tisdag onsdag torsdag fredag lördag söndag
mandag tirsdag onsdag torsdag fredag lørdag søndag
mánudagur þriðjudagur miðvikudagur fimmtudagur föstudagur laugardagur sunnudagur
maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai
esmaspäev teisipäev kolmapäev neljapäev reede laupäev pühapäev
pirmdiena otrdiena trešdiena ceturtdiena piektdiena sestdiena svētdiena
pirmadienis antradienis trečiadienis ketvirtadienis penktadienis šeštadienis sekmadienis
hétfő kedd szerda csütörtök péntek szombat vasárnap
luni marți miercuri joi vineri sâmbătă duminică
dilluns dimarts dimecres dijous divendres dissabte diumenge
pazartesi salı çarşamba perşembe cuma cumartesi pazar
δευτέρα τρίτη τετάρτη πέμπτη παρασκευή σάββατο κυριακή
senin selasa rabu kamis jumat sabtu minggu
isnin selasa rabu khamis jumaat sabtu ahad
الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد
دوشنبه سهشنبه چهارشنبه پنجشنبه جمعه شنبه یکشنبه
월요일 화요일 수요일 목요일 금요일 토요일 일요일
月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日
星期一 星期二 星期三 星期四 星期五 星期六 星期日
"""
WEEKDAYS: Final = _FULL.split()[:7]
"""The weekdays in English."""
# Of two or three letters, and other short forms that begin no name above, or that begin two.
_SHORT: Final = """
mo tu we th fr sa su
mon tues weds thurs fri sat sun
mo di mi do fr sa so
lu ma me je ve sa di
lun mar mie jue vie sab dom
lun mar mer gio ven sab dom
seg ter qua qui sex sab dom
ma di wo do vr za zo
pon wt śr czw pt sob nie
pn wto śro czw ptk so n
пн вт ср чт пт сб вс
пн вт ср чт пт сб нд
пон вто сря чет пет съб нед
pon uto sri čet pet sub ned
po út st čt pá so ne
ma ti ke to pe la su
mån tis ons tors fre lör sön
man tir ons tor fre lør søn
h k sze cs p szo v
t2 t3 t4 t5 t6 t7 cn
t2 t3 t4 t5 t6 t7 nhật
pzt sal çar per cum cmt paz
pzt sal çrş prş cum cts paz
δευ τρι τετ πεμ παρ σαβ κυρ
lu ma mi jo vi sâ du
월 화 수 목 금 토 일
月 火 水 木 金 土 日
周一 周二 周三 周四 周五 周六 周日
週一 週二 週三 週四 週五 週六 週日
星期一 星期二 星期三 星期四 星期五 星期六 星期天
"""
_FEWEST: Final = 3


def _table(names: str) -> dict[str, frozenset[int]]:
    days: dict[str, set[int]] = {}
    for line in filter(None, names.split("\n")):
        for day, name in enumerate(line.split()):
            days.setdefault(name, set()).add(day)
    return {name: frozenset(numbers) for name, numbers in days.items()}


_NAMES: Final = _table(_FULL)
_WORDS: Final = _table(_FULL + _SHORT)
_ENGLISH: Final = frozenset(["mon", "tue", "tues", "wed", "weds", "thu", "thur", "thurs", "fri", "sat", "sun"])
_WORD: Final = r"[^\W\d_]+(?:[-ʼ’'][^\W\d_]+)?|\bt[2-7]\b"
_BEFORE: Final = re.compile(rf"({_WORD})[.,]*\s*[(（\[]?\s*$")
_BEHIND: Final = re.compile(rf"^\s*[,(（\[]?\s*({_WORD})")
_EACH: Final = re.compile(_WORD)


@lru_cache(maxsize=1024)
def weekdays_of(word: str) -> frozenset[int]:
    """Return the weekdays, 0 to 6, that a lower-case word may name: one for nearly all names, none for other words."""
    if word in _WORDS:
        return _WORDS[word]
    begun = [days for name, days in _NAMES.items() if name.startswith(word)] if len(word) >= _FEWEST else []
    return frozenset().union(*begun)


def weekdays_beside(before: str, behind: str) -> frozenset[int]:
    """Return the weekdays that the words right before and right behind a date may name."""
    for pattern, text in ((_BEFORE, before), (_BEHIND, behind)):
        match = pattern.search(text)
        if match and (days := weekdays_of(match[1])):
            return days
    return frozenset()


def weekday_alone(plain: str) -> tuple[int, int] | None:
    """Return the weekday that a cleaned text names in full, or in short English, and where the word ends."""
    for match in _EACH.finditer(plain):
        word = match[0]
        days = _NAMES.get(word) or (weekdays_of(word) if word in _ENGLISH else frozenset())
        if len(days) == 1:
            return next(iter(days)), match.end()
    return None
