"""Dates in the languages of forums: names of months, words for today and yesterday, and how long ago something was."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

_NAMES: Final = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
"""
MONTHS: Final = _NAMES.split()[:12]
"""The months in English."""
# Those above come first: `mar` begins two Finnish months.
_FURTHER_NAMES: Final = """
styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november desember
ledna února března dubna května června července srpna září října listopadu prosince
leden únor březen duben květen červen červenec srpen září říjen listopad prosinec
led úno bře dub kvě čvn čvc srp zář říj lis pro
led úno bře dub kvě čer čvc srp zář říj lis pro
jan feb mrt apr mei jun jul aug sep okt nov dec
januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra
január február marec apríl máj jún júl august september október november december
januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra decembra
január február március április május június július augusztus szeptember október november december
ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu
jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember
janvāris februāris marts aprīlis maijs jūnijs jūlijs augusts septembris oktobris novembris decembris
sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio
sausis vasaris kovas balandis gegužė birželis liepa rugpjūtis rugsėjis spalis lapkritis gruodis
janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
gener febrer març abril maig juny juliol agost setembre octubre novembre desembre
xaneiro febreiro marzo abril maio xuño xullo agosto setembro outubro novembro decembro
januari februari mac april mei jun julai ogos september oktober november disember
januari februari maret april mei juni juli agustus september oktober november desember
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень
студзеня лютага сакавіка красавіка мая чэрвеня ліпеня жніўня верасня кастрычніка лістапада снежня
януари февруари март април май юни юли август септември октомври ноември декември
јануари февруари март април мај јуни јули август септември октомври ноември декември
јануар фебруар март април мај јун јул август септембар октобар новембар децембар
januar februar mart april maj jun jul avgust septembar oktobar novembar decembar
ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου νοεμβρίου δεκεμβρίου
ιανουάριος φεβρουάριος μάρτιος απρίλιος μάιος ιούνιος ιούλιος αύγουστος σεπτέμβριος οκτώβριος νοέμβριος δεκέμβριος
ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר
yanvar fevral mart aprel may iyun iyul avqust sentyabr oktyabr noyabr dekabr
janar shkurt mars prill maj qershor korrik gusht shtator tetor nëntor dhjetor
urtarrila otsaila martxoa apirila maiatza ekaina uztaila abuztua iraila urria azaroa abendua
қаңтар ақпан наурыз сәуір мамыр маусым шілде тамыз қыркүйек қазан қараша желтоқсан
იანვარი თებერვალი მარტი აპრილი მაისი ივნისი ივლისი აგვისტო სექტემბერი ოქტომბერი ნოემბერი დეკემბერი
հունվարի փետրվարի մարտի ապրիլի մայիսի հունիսի հուլիսի օգոստոսի սեպտեմբերի հոկտեմբերի նոյեմբերի դեկտեմբերի
ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر
يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
"""
# Polish, Czech and Belarusian have some of these names for other months.
_CROATIAN_NAMES: Final = """
siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca
siječanj veljača ožujak travanj svibanj lipanj srpanj kolovoz rujan listopad studeni prosinac
"""
KNOWN: Final = frozenset((
    "ar", "be", "bg", "bs", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "gl", "he",
    "hu", "id", "is", "it", "ja", "ko", "lt", "lv", "mk", "ms", "nb", "nl", "nn", "no", "pl", "pt",
    "ro", "ru", "sk", "sl", "sr", "sv", "th", "tr", "uk", "vi", "zh",
))  # fmt: skip
"""The languages whose dates are read without being named."""
_LEAST: Final = 3


def _table(names: str) -> dict[str, int]:
    return {name: month for line in names.split("\n") for month, name in enumerate(line.split(), 1)}


_TABLES: Final = (_table(_NAMES), _table(_FURTHER_NAMES))
_CROATIAN: Final = (_table(_CROATIAN_NAMES),)


def month_of(word: str, languages: Collection[str] = ()) -> int | None:
    """Return the month, 1 to 12, that a lower-case word names or begins to name, None without a single match.

    With `hr` among the languages, names are Croatian first.
    """
    word = word.removesuffix("ta") if word.endswith("kuuta") else word  # the Finnish partitive
    for table in (*_CROATIAN, *_TABLES) if "hr" in languages else _TABLES:
        if word in table:
            return table[word]
        begun = {month for name, month in table.items() if name.startswith(word)} if len(word) >= _LEAST else set()
        if begun:
            # `sept` and `fév` end early; `jui` could be two months, and is none.
            return begun.pop() if len(begun) == 1 else None
    return None


DAYS: Final = {
    "今天": 0, "今日": 0, "昨天": 1, "昨日": 1, "前天": 2, "前日": 2, "大前天": 3, "오늘": 0, "어제": 1,
    "avant-hier": 2, "vorgestern": 2, "позавчера": 2, "eergisteren": 2, "przedwczoraj": 2,
    "一昨日": 2, "그저께": 2, "그제": 2, "day before yesterday": 2, "avant hier": 2, "anteayer": 2, "antes de ayer": 2,
    "anteontem": 2, "altro ieri": 2, "abans-d'ahir": 2, "abans-d’ahir": 2, "despús-ahir": 2, "dellà-ahir": 2,
} | {
    word: back
    for back, words in enumerate((
        "today heute aujourd'hui aujourd’hui hoy oggi hoje vandaag dzisiaj dziś dnes danes danas idag tänään täna azi"
        " astăzi avui bugün ma šiandien šodien сегодня сьогодні днес денес данас сёння σήμερα היום اليوم امروز",
        "yesterday gestern hier ayer ieri ontem gisteren wczoraj včera včeraj jučer juče igår eilen eile ahir dün"
        " tegnap vakar kemarin вчера вчора учора јуче учора χθες χτες אתמול أمس دیروز",
    )) for word in words.split()
} | {"i dag": 0, "í dag": 0, "hari ini": 0, "hôm nay": 0, "i går": 1, "í gær": 1, "hôm qua": 1}  # fmt: skip
"""Words for days, with the number of days ago."""
# `hier` is German for here, and `ma` Italian for but.
_SHORT: Final = {
    "hier": r"(?= à|(?:,| -)? [0-9])",
    "avant-hier": r"(?= à|(?:,| -)? [0-9])",
    "avant hier": r"(?= à|(?:,| -)? [0-9])",
    "ma": r"(?=(?:,| -)? [0-9])",
}
DAY: Final = re.compile(
    "大前天|今天|今日|昨天|一昨日|昨日|前天|前日|오늘|어제|그저께|그제|"
    + "|".join(
        # `Today's posts` is the name of a page.
        rf"\b{word}\b(?!['’]s\b){_SHORT.get(word, '')}"
        for word in sorted(DAYS, key=len, reverse=True)
        if word[0] < "一"
    )
)

_UNITS_S: Final = (1, 60, 3600, 86_400, 604_800, 2_592_000, 31_536_000)
# The words around the number, then stems for second, minute, hour, day, week, month and year. Words decline, so that a
# stem of two letters or more may go on.
_FORMS: Final = """
vor _            | sek | min | stunde/std | tag | woche | monat | jahr
il y a _         | sec/s | min | heure/h | jour/j | sem | mois/m | an/a
hace/hai _       | seg/s | min | hora/h | día/dia/d | sem | mes/m | año/ano/a
há _             | seg | min | hora/h | dia | sem | mes/mês | ano
fa _             | segon/s | min | hor/h | di | setm | mes | any
acum _           | sec | min | or/h | zi | săpt | lun | an
_ fa             | sec | min | or/h | giorn/gg | sett | mes | ann
_ atrás          | seg | min | hora/h | dia | sem | mes/mês | ano
_ geleden        | sec | min | uur/uren | dag/dgn | week/weken | maand | jaar/jaren
_ temu           | sek | min | godz | dni/dzień | tyg/tydz | mies | lat/rok
_ sedan/sen      | sek/s | min | tim | dag/d | veck/v | mån | år
_ siden          | sek | min | tim/t | dag/døgn/d | uge/uke/u | måned/mdr/md | år
_ sitten         | sek/s | min | tun/t | päiv/pv | viik/vk | kuu/kk | vuo/v
_ eest/tagasi    | sek | min | tun/t | päev/p | näd | kuu | aasta/a
_ önce           | san/sn | dak/dk | saat/sa | gün | haf/hf | ay | yıl
_ ezelőtt        | másodp | perc | óra/órá | nap | hét/hét | hónap | év/évvel
_ trước          | giây | phút | giờ | ngày | tuần | tháng | năm
_ lalu           | detik/dtk/saat | menit/mnt/minit/min | jam | hari/h | minggu/mgg/mgu | bulan/bln | tahun/thn
_ назад          | сек | мин | час/ч | день/дня/дней/дн | нед | мес | год/г/лет/л
_ тому           | сек/с | хв | год | дні/дн/день/доб | тиж | міс | рок/рік/р
_ таму           | сек/с | хв | гадз | дн/дзён/дзень | тыд | мес | гад/г
преди _          | сек | мин | час/ч | дн/ден | седм | месе/м | год/г
пред/пре _       | сек | мин | час/ч/сат | дан/ден/д | нед/седм | мес | год
prije/pre _      | sek/s | min | sat/č/h | dan/d | tj/ned/sedm | mj/mes | god/g
před/pred _      | sek/s | min | hod/h/ur | dn/den/dň/d | týd/týž/ted | měs/mes | rok/r/let/lét/l
prieš _          | sek | min | val | dien/d | sav | mėn | met/m
pirms _          | sek | min | stund/st | dien/d | ned | mēn | gad/g
fyrir _          | sek | mín | klukku/klst | dög/dag | vik | mán | ár
πριν/πριν_από _  | δευτ | λεπ | ώρ/ώ | ημ/μέρ | εβδ | μήν | έτη/έτος/χρόν
לפני _           | שני | דק | שע | ימים/יום | שב | חוד | שנה/שנים/שנות
منذ/قبل _        | ثوان/ثاني | دقي/دقائق | ساع | أيام/يوم | أسبوع/أسابيع | شهر/أشهر | سن
_ پیش/قبل       | ثانیه | دقیقه | ساعت | روز | هفته | ماه | سال
_ 전             | 초 | 분 | 시간 | 일 | 주 | 개월/달 | 년
"""
# Two of them, or one, without a number.
_ALONE_S: Final = {
    "דקה": 60, "דקותיים": 120, "שעה": 3600, "שעתיים": 7200, "יום": 86_400, "יומיים": 172_800, "שבוע": 604_800,
    "שבועיים": 1_209_600, "חודש": 2_592_000, "חודשיים": 5_184_000, "שנה": 31_536_000, "שנתיים": 63_072_000,
    "دقيقة": 60, "دقيقتين": 120, "ساعة": 3600, "ساعتين": 7200, "يوم": 86_400, "يومين": 172_800, "أسبوع": 604_800,
    "أسبوعين": 1_209_600, "شهر": 2_592_000, "شهرين": 5_184_000, "سنة": 31_536_000, "سنتين": 63_072_000,
}  # fmt: skip
# Whole words: `una hora` is no `un` of a unit that begins with `a`, as years do.
_ONE: Final = (
    r"(?:een|één|einem|einer|une?|una|uno|uma?|ett?|en|én|bir|jednu|jednou|одну|один|se|o|ένα|μία)(?!\w)|한|un['’]"
)
_UNIT: Final = r"[^\W\d_]+"


def _read_forms() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """Return the stems with their seconds, by the word before the number and by the word behind."""
    before: dict[str, dict[str, int]] = {}
    behind: dict[str, dict[str, int]] = {}
    for line in filter(None, _FORMS.split("\n")):
        form, *units = (part.strip() for part in line.split("|"))
        stems = {stem: at_s for at_s, names in zip(_UNITS_S, units, strict=True) for stem in names.split("/")}
        into, words = (behind, form[2:]) if form.startswith("_ ") else (before, form[:-2])
        for word in words.split("/"):
            into.setdefault(word.replace("_", " "), {}).update(stems)
    return before, behind


_BEFORE, _BEHIND = _read_forms()


def _any_of(words: dict[str, dict[str, int]]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


NUMBER: Final = r"(?<!\d[.,⁄])(?<!\d)\d{1,5}(?:[.,]\d{1,2})?(?!\d)"
"""A number of units, perhaps with a fraction: `2.5 hours`."""
AGO: Final = re.compile(
    rf"\b(?P<before>{_any_of(_BEFORE)})\s+(?P<number>{NUMBER}|{_ONE})\s*(?P<unit>{_UNIT})"
    rf"|\b(?P<count>{NUMBER}|{_ONE})\s*(?P<stem>{_UNIT})\.?(?:\s+yang)?\s*\b(?P<behind>{_any_of(_BEHIND)})\b"
    rf"|\b(?:לפני|منذ|قبل)\s+(?P<alone>{'|'.join(_ALONE_S)})\b"
)
"""How long ago something was, in languages other than English, Chinese and Japanese."""


# Parts of an age are side by side, each unit smaller: `2 Tagen und 3 Stunden`, `1 год 2 месяца`, `1年2个月`.
# A conjunction is no end of a word, as `y` is of `1 day`.
_AND: Final = r"[\s,，、]*(?:(?<![^\W\d_])(?:and|und|et|y|e|i|en|og|och|ja|ve|и|і|και)\s+)?"
_PART: Final = rf"(?P<number>{NUMBER}|an?|one|{_ONE})\s*(?:个|個)?(?P<unit>{_UNIT}?)(?:钟|鐘|間)?\.?"
_PART_BEFORE: Final = re.compile(rf"(?<![A-Za-z\d.:]){_PART}{_AND}$")
_PART_BEHIND: Final = re.compile(rf"{_AND}{_PART}(?!\w)")
# `il y a 2 h 30`
_MINUTES: Final = re.compile(r"\s?(\d\d)(?![\w:.])")
_HOUR_S: Final = 3600
_UnitSeconds = Callable[[str], int | None]


def seconds_ago(match: re.Match[str]) -> tuple[float, int] | None:
    """Return the seconds of a match of AGO and those of its smallest unit, None where its unit is none.

    Months are 30 days and years 365 days.
    """
    if match["alone"]:
        return _ALONE_S[match["alone"]], _ALONE_S[match["alone"]]
    stems = _BEFORE[match["before"]] if match["before"] else _BEHIND[match["behind"]]

    def unit_s(unit: str) -> int | None:
        begun = [stem for stem in stems if stem == unit or (len(stem) > 1 and unit.startswith(stem))]
        return stems[max(begun, key=len)] if begun else None

    one_s, number = unit_s(match["unit"] or match["stem"]), match["number"] or match["count"]
    if one_s is None:
        return None
    smallest_s = one_s
    if match["before"]:
        more_s, smallest_s = _seconds_behind(match.string[match.end() :], one_s, unit_s)
    else:
        more_s = seconds_before(match.string[: match.start()], one_s, unit_s)
    return _number(number) * one_s + more_s, smallest_s


def seconds_before(text: str, one_s: int, unit_s: _UnitSeconds) -> float:
    """Return the seconds of an age's larger parts, which are at the end of a text. `one_s` are those of one unit."""
    more_s = 0.0
    while (match := _PART_BEFORE.search(text)) and (larger_s := unit_s(match["unit"]) or 0) > one_s:
        more_s += _number(match["number"]) * larger_s
        text, one_s = text[: match.start()], larger_s
    return more_s


def _seconds_behind(text: str, one_s: int, unit_s: _UnitSeconds) -> tuple[float, int]:
    """Return the seconds of an age's smaller parts, with which a text begins, and those of the smallest unit."""
    more_s = 0.0
    while (match := _PART_BEHIND.match(text)) and 0 < (smaller_s := unit_s(match["unit"]) or 0) < one_s:
        more_s += _number(match["number"]) * smaller_s
        text, one_s = text[match.end() :], smaller_s
    if one_s == _HOUR_S and (minutes := _MINUTES.match(text)):
        return more_s + 60 * int(minutes[1]), 60
    return more_s, one_s


def _number(text: str) -> float:
    return float(text.replace(",", ".")) if text[0].isdecimal() else 1.0
