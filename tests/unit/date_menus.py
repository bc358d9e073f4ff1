"""The date and time formats that forum programs offer in their menus, defaults and language packs, as PHP spells them.

`ago` formats are words of the program. What a program writes into attributes of time elements needs no menu.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final


@dataclass(frozen=True, slots=True)
class Language:
    """Names of one language: months and weekdays in full and short, Monday first, days, halves of the day."""

    months: str
    short: str
    weekdays: str
    days: str
    today: str = "Today"
    yesterday: str = "Yesterday"
    halves: str = "am pm"


_EN: Final = Language(
    "January February March April May June July August September October November December",
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday", "Mon Tue Wed Thu Fri Sat Sun",
)  # fmt: skip
LANGUAGES: Final = {
    "en": _EN,
    "en-GB": _EN,
    "en-US": _EN,
    "": _EN,
    "de": Language(
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag", "Mo Di Mi Do Fr Sa So", "Heute", "Gestern",
    ),
    "fr": Language(
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
        "lundi mardi mercredi jeudi vendredi samedi dimanche", "lun. mar. mer. jeu. ven. sam. dim.",
        "Aujourd'hui", "Hier",
    ),
    "es": Language(
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "Ene Feb Mar Abr May Jun Jul Ago Sep Oct Nov Dic",
        "Lunes Martes Miércoles Jueves Viernes Sábado Domingo", "Lun Mar Mié Jue Vie Sab Dom", "Hoy", "Ayer",
    ),
    "it": Language(
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "gen feb mar apr mag giu lug ago set ott nov dic",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica", "lun mar mer gio ven sab dom", "Oggi", "Ieri",
    ),
    "nl": Language(
        "januari februari maart april mei juni juli augustus september oktober november december",
        "jan feb mar apr mei jun jul aug sep okt nov dec",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag", "ma di wo do vr za zo", "Vandaag", "Gisteren",
    ),
    "pl": Language(
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
        "sty lut mar kwie maja cze lip sie wrz paź lis gru",
        "poniedziałek wtorek środa czwartek piątek sobota niedziela", "pn wt śr czw pt sob ndz", "Dzisiaj", "Wczoraj",
    ),
    "ru": Language(
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "янв фев мар апр май июн июл авг сен окт ноя дек",
        "понедельник вторник среда четверг пятница суббота воскресенье", "Пн Вт Ср Чт Пт Сб Вс", "Сегодня", "Вчера",
        "дп пп",
    ),
    "sv": Language(
        "januari februari mars april maj juni juli augusti september oktober november december",
        "jan feb mar apr maj jun jul aug sep okt nov dec",
        "måndag tisdag onsdag torsdag fredag lördag söndag", "mån tis ons tor fre lör sön", "Idag", "Igår", "fm em",
    ),
    "cs": Language(
        "ledna února března dubna května června července srpna září října listopadu prosince",
        "led úno bře dub kvě čer čvc srp zář říj lis pro",
        "pondělí úterý středa čtvrtek pátek sobota neděle", "po út st čt pá so ne", "Dnes", "Včera", "dop. odp.",
    ),
    "tr": Language(
        "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
        "Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara",
        "Pazartesi Salı Çarşamba Perşembe Cuma Cumartesi Pazar", "Pzt Sal Çrş Prş Cum Cmt Pzr", "Bugün", "Dün", "ÖÖ ÖS",
    ),
    "el": Language(
        "Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου"
        " Οκτωβρίου Νοεμβρίου Δεκεμβρίου",
        "Ιαν Φεβ Μαρ Απρ Μάιος Ιουν Ιούλ Αύγ Σεπ Οκτ Νοέμ Δεκ",
        "Δευτέρα Τρίτη Τετάρτη Πέμπτη Παρασκευή Σάββατο Κυριακή", "Δευ Τρί Τετ Πέμ Παρ Σάβ Κυρ", "Σήμερα", "Χθες",
        "πμ μμ",
    ),
    "hu": Language(
        "január február március április május június július augusztus szeptember október november december",
        "jan. feb. márc. ápr. máj. jún. júl. aug. szept. okt. nov. dec.",
        "hétfő kedd szerda csütörtök péntek szombat vasárnap", "hétf. kedd szer. csüt. pént. szomb. vas.", "ma",
        "tegnap", "de. du.",
    ),
    "vi": Language(
        " ".join(f"Tháng_{month}" for month in range(1, 13)), " ".join(f"Tháng_{month}" for month in range(1, 13)),
        "Thứ_hai Thứ_ba Thứ_tư Thứ_năm Thứ_sáu Thứ_bảy Chủ_nhật", "T2 T3 T4 T5 T6 T7 CN", "Hôm nay", "Hôm qua", "SA CH",
    ),
    "ar": Language(
        "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
        "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
        "الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد", "الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد",
        "اليوم", "أمس", "ص م",
    ),
    "zh": Language(
        " ".join(f"{month}月" for month in range(1, 13)), " ".join(f"{month}月" for month in range(1, 13)),
        "星期一 星期二 星期三 星期四 星期五 星期六 星期日", "周一 周二 周三 周四 周五 周六 周日", "今天", "昨天",
        "上午 下午",
    ),
    "ja": Language(
        " ".join(f"{month}月" for month in range(1, 13)), " ".join(f"{month}月" for month in range(1, 13)),
        "月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日", "月 火 水 木 金 土 日", "今日", "昨日", "午前 午後",
    ),
}  # fmt: skip
_CLOCKS: Final = ("H:i", "h:i A", "g:i a")
_FIGURES_DOTTED: Final = ("d.m.Y", "d.m.y", "m.d.Y", "m.d.y")
_FIGURES: Final = (
    "m-d-Y",
    "m-d-y",
    "d-m-Y",
    "d-m-y",
    "Y-m-d",
    "m/d/Y",
    "d/m/Y",
    "m/d/y",
    "d/m/y",
    "y/m/d",
    "n/j/y",
    "j/n/y",
)
_DRUPAL: Final = (
    "Y-m-d", "m/d/Y -", "d/m/Y -", "Y/m/d -", "d.m.Y -", "M j Y -", "j M Y -", "Y M j -", "D, Y-m-d", "D, m/d/Y -",
    "D, d/m/Y -", "D, Y/m/d -", "F j, Y -", "j F, Y -", "j F Y -", "Y, F j -", "l, F j, Y -", "l, j F, Y -",
    "l, Y, F j -", "j. F Y -", "l, j. F Y -",
)  # fmt: skip
MENUS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]] = {
    # Date formats, clocks, and what stands between.
    "phpbb": (
        ("d M Y,", "d M Y", "M jS, 'y,", "D M d, Y", "F jS, Y,", "|d M Y|,", "|F jS, Y|,", "D j. M Y,", "d.m.Y,",
         "d/m/Y", "l j F Y,", "D d/m/y", "D d M, Y", "j. M Y,", "|d.m.Y|,", "l, j. F Y,", "D, d. M Y,"),
        ("H:i", "g:i a"), " ",
    ),
    "mybb": (
        (*_FIGURES[:4], *_FIGURES_DOTTED, "F jS, Y", "l, F jS, Y", "jS F, Y", "l, jS F, Y", "Y-m-d", "D d/m/y",
         "y/m/d"),
        ("h:i a", "h:i A", "H:i"), ", ",
    ),
    "smf": (("F d, Y", "Y-m-d", "d F Y", "d-m-Y", "|F d, Y|", "D d/M/Y", "D, d M Y"), ("h:i:s A", "H:i:s"), ", "),
    "vbulletin": (
        (*_FIGURES, *_FIGURES_DOTTED, "jS F Y", "F jS, Y", "D j M Y", "M j, Y", "|m-d-Y|", "|d.m.Y|", "|d/m/Y|"),
        _CLOCKS, ", ",
    ),
    "xenforo": (("M j, Y", "F j, Y", "j M Y", "j F Y", "j/n/y", "n/j/y", "l, j F Y"), ("g:i A", "H:i"), " at "),
    "discuz": (("Y-n-j", "Y/n/j", "n-j-Y", "j-n-Y", "Y年n月j日", "|Y-n-j|"), ("H:i", "h:i A", "H:i:s"), " "),
    "fluxbb": (
        ("Y-m-d", "Y-d-m", "d-m-Y", "m-d-Y", "M j Y", "jS M Y", "|Y-m-d|", "|d-m-Y|"),
        ("H:i:s", "H:i", "g:i:s a", "g:i a"), " ",
    ),
    "wordpress": (("F j, Y", "Y-m-d", "m/d/Y", "d/m/Y", "j F Y", "d.m.Y", "j. F Y"), ("g:i a", "g:i A", "H:i"), " "),
    "bbpress": (("F j, Y", "Y-m-d", "m/d/Y", "d/m/Y"), ("g:i a", "H:i"), " at "),
    "drupal": (_DRUPAL, ("H:i", "g:ia", "G:i"), " "),
    "phorum": (("F d, Y", "m/d/Y", "d.m.Y", "m/d/y", "d/m/y"), ("h:iA", "H:i"), " "),
    "xmb": (("n-j-Y", "j-n-Y", "m/d/y", "Y-m-d", "d.m.Y"), ("h:i A", "H:i"), " at "),
    "ipb": (("d F Y -", "jS F Y -", "M j Y,", "j M Y,", "|d F Y|,", "D j M Y,", "m/d/y,", "d/m/y,"),
            ("h:i A", "H:i"), " "),
    "woltlab": (("F jS Y", "d. F Y", "M jS, Y", "j. F Y", "l, F jS Y"), ("g:i a", "H:i"), ", "),
    "ubb": (("m/d/y", "d/m/y", "Y-m-d", "M d, Y", "d M Y"), ("h:i A", "H:i"), " "),
    "yabb": (("m/d/y", "d.m.y", "d/m/Y", "F jS, Y,", "|m/d/y|"), ("H:i:s", "g:ia"), " "),
    "punbb": (("Y-m-d", "Y-d-m", "d-m-Y", "m-d-Y", "M j Y", "jS M Y"), ("H:i:s", "H:i", "g:i:s a", "g:i a"), " "),
    "imageboard": (("m/d/y(D)", "y/m/d(D)", "Y/m/d(D)", "d/m/y(D)"), ("H:i:s", "H:i"), ""),
    "forumactif": (("D j M Y -", "D j M -", "l j F Y,", "d/m/y,", "j/n/Y,", "|D j M Y| -"), ("H:i", "G:i"), " "),
    "jforum": (("d/m/Y", "m/d/Y", "d.m.Y", "Y/m/d"), ("H:i:s", "H:i"), " "),
}  # fmt: skip


def shown(moment: datetime, now: datetime, date: str, clock: str, between: str, language: Language) -> str:
    """Return a moment as a program shows it."""
    bar = re.fullmatch(r"\|(.+)\|(.*)", date)
    away = (now.date() - moment.date()).days
    clock_text = _php(clock, moment, language)
    if bar and away in (0, 1):
        return f"{(language.today, language.yesterday)[away]}{bar[2]}{between}{clock_text}"
    form = f"{bar[1]}{bar[2]}" if bar else date
    return f"{_php(form, moment, language)}{between}{clock_text}"


def _php(form: str, at: datetime, language: Language) -> str:
    half = language.halves.split()[at.hour > 11].replace("_", " ")
    hour = at.hour % 12 or 12
    suffix = "th" if 10 < at.day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(at.day % 10, "th")
    letters = {
        "d": f"{at.day:02}", "j": f"{at.day}", "jS": f"{at.day}{suffix}", "m": f"{at.month:02}", "n": f"{at.month}",
        "Y": f"{at.year}", "y": f"{at.year % 100:02}", "H": f"{at.hour:02}", "G": f"{at.hour}", "h": f"{hour:02}",
        "g": f"{hour}", "i": f"{at.minute:02}", "s": f"{at.second:02}", "a": half,
        "A": half.upper() if half in ("am", "pm") else half,
        "F": language.months.split()[at.month - 1], "M": language.short.split()[at.month - 1],
        "l": language.weekdays.split()[at.weekday()], "D": language.days.split()[at.weekday()],
    }  # fmt: skip
    if half[0] > "⺀" and re.search("[aA]", form):
        form = "A" + re.sub(r"\s?[aA]", "", form)
    pattern = re.compile("jS|" + "|".join(one for one in letters if one != "jS"))
    return pattern.sub(lambda found: letters[found[0]].replace("_", " "), form)
