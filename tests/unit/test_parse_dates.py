"""Moments and numbers as forums write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl_tasks.discovery.text.timestamps import is_epoch
from crawl_tasks.parse.values.calendars import solar_hijri
from crawl_tasks.parse.values.counts import LARGEST, read_count, read_int
from crawl_tasks.parse.values.dates import EARLIEST, LATEST, is_fixed, is_stable, of_epoch, read_date
from crawl_tasks.sites.site_terms import DateOrder

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2024, 6, 20, 14, 54, tzinfo=SHANGHAI)  # a Thursday
LANGUAGES = ("zh", "zh-Hant", "en", "ja")


def local(text: str, *, formats: tuple[str, ...] = (), languages: tuple[str, ...] = ()) -> str | None:
    moment = read_date(text, NOW.timestamp(), SHANGHAI, formats=formats, languages=languages)
    return None if moment is None else f"{datetime.fromtimestamp(moment, SHANGHAI):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-06-19T22:17:05+08:00", "2024-06-19 22:17:05"),
        ("2024-06-19T14:17:05Z", "2024-06-19 22:17:05"),
        ("2024-06-19T14:17:05.123Z", "2024-06-19 22:17:05"),
        ("2024-06-19T14:17:05+0000", "2024-06-19 22:17:05"),
        ("2024-06-19 22:17", "2024-06-19 22:17:00"),
        ("2024-6-9 2:07:38", "2024-06-09 02:07:38"),
        ("2024/6/19 22:17", "2024-06-19 22:17:00"),
        ("19.06.2024, 22:17 Uhr", "2024-06-19 22:17:00"),
        ("19.6.24 22:17", "2024-06-19 22:17:00"),
        ("le 19 juin 2024, 22h17", "2024-06-19 22:17:00"),
        ("vor 3 Tagen", "2024-06-17 14:54:00"),
        ("hace 3 días", "2024-06-17 14:54:00"),
        ("3 дн. назад", "2024-06-17 14:54:00"),
        ("17 май 2024, 10:05", "2024-05-17 10:05:00"),
        ("Сб июн 15, 2024 05:07", "2024-06-15 05:07:00"),
        ("Mar 5, 2024 10:05", "2024-03-05 10:05:00"),
        ("il y a 2 heures", "2024-06-20 12:54:00"),
        ("5 дней назад", "2024-06-15 14:54:00"),
        ("2か月前", "2024-04-21 14:54:00"),
        ("2024.06.19 22:17", "2024-06-19 22:17:00"),
        ("发表于 2024-6-19 22:17:38", "2024-06-19 22:17:38"),
        ("發表於 2024-6-19 22:17", "2024-06-19 22:17:00"),
        ("本帖最后由 user99 于 2024-6-19 22:20 编辑", "2024-06-19 22:20:00"),
        ("2024年6月19日 22:17", "2024-06-19 22:17:00"),
        ("2024年6月19日22时17分", "2024-06-19 22:17:00"),
        ("2024年6月19日 星期三 下午 3:05", "2024-06-19 15:05:00"),
        ("2024年6月19日", "2024-06-19 00:00:00"),
        ("２０２４年６月１９日　２２：１７", "2024-06-19 22:17:00"),
        ("\u200f2024-06-19 22:17\u200e", "2024-06-19 22:17:00"),
        ("2024-06-19 22:17 UTC", "2024-06-20 06:17:00"),
        ("2024-06-19 22:17 +0900", "2024-06-19 21:17:00"),
        ("Wed, 19 Jun 2024 16:17:05 +0200", "2024-06-19 22:17:05"),
        ("19 June 2024, 10:47 GMT-03:30", "2024-06-19 22:17:00"),
        ("6月19日 22:17", "2024-06-19 22:17:00"),
        ("12-25 07:08", "2023-12-25 07:08:00"),
        ("1月5日 07:08", "2024-01-05 07:08:00"),
        ("Wed Jun 19, 2024 10:17 pm", "2024-06-19 22:17:00"),
        ("19 June 2024, 22:17", "2024-06-19 22:17:00"),
        ("19-Jun-2024 22:17", "2024-06-19 22:17:00"),
        ("19. Juni 2024, 22:17 Uhr", "2024-06-19 22:17:00"),
        ("1er août 2023 à 22:17", "2023-08-01 22:17:00"),
        ("19 de junio de 2024 22:17", "2024-06-19 22:17:00"),
        ("19 июня 2024 г. 22:17", "2024-06-19 22:17:00"),
        ("19 sept. 2023 22:17", "2023-09-19 22:17:00"),
        ("19 jui 2024 22:17", None),
        ("Today's posts", None),
        ("June 1st, 2024 12:05 AM", "2024-06-01 00:05:00"),
        ("Wed, 19 Jun 2024 14:17:05 GMT", "2024-06-19 22:17:05"),
        ("1718806625", "2024-06-19 22:17:05"),
        ("1718806625000", "2024-06-19 22:17:05"),
        ("刚刚", "2024-06-20 14:54:00"),
        ("刚才", "2024-06-20 14:54:00"),
        ("剛剛", "2024-06-20 14:54:00"),
        ("just now", "2024-06-20 14:54:00"),
        ("a moment ago", "2024-06-20 14:54:00"),
        ("30 秒前", "2024-06-20 14:53:30"),
        ("3 分钟前", "2024-06-20 14:51:00"),
        ("3分前", "2024-06-20 14:51:00"),
        ("半小时前", "2024-06-20 14:24:00"),
        ("一个半小时前", "2024-06-20 13:24:00"),
        ("3 小时前", "2024-06-20 11:54:00"),
        ("2 小時前", "2024-06-20 12:54:00"),
        ("2時間前", "2024-06-20 12:54:00"),
        ("两天前", "2024-06-18 14:54:00"),
        ("3 天之前", "2024-06-17 14:54:00"),
        ("2 周前", "2024-06-06 14:54:00"),
        ("1 个月前", "2024-05-21 14:54:00"),
        ("半年前", "2023-12-21 02:54:00"),
        ("发表于 3 小时前", "2024-06-20 11:54:00"),
        ("posted 2 hours ago", "2024-06-20 12:54:00"),
        ("an hour ago", "2024-06-20 13:54:00"),
        ("Half an hour ago", "2024-06-20 14:24:00"),
        ("5 mins ago", "2024-06-20 14:49:00"),
        ("2 days 3 hours ago", "2024-06-18 11:54:00"),
        ("By Zoë 1 day, 2 hours and 3 minutes ago", "2024-06-19 12:51:00"),
        ("2d 3h ago", "2024-06-18 11:54:00"),
        ("发表于1天2小时前", "2024-06-19 12:54:00"),
        ("3 小时 5 分钟前", "2024-06-20 11:49:00"),
        ("1个月2天前", "2024-05-19 14:54:00"),
        ("vor 2 Tagen und 3 Stunden", "2024-06-18 11:54:00"),
        ("il y a 2 jours 3 heures", "2024-06-18 11:54:00"),
        ("2 дня 3 часа назад", "2024-06-18 11:54:00"),
        ("2 gün 3 saat önce", "2024-06-18 11:54:00"),
        ("2일 3시간 전", "2024-06-18 11:54:00"),
        # No part of the age: no unit, no smaller unit behind, or other words between.
        ("12 posts, 3 days ago", "2024-06-17 14:54:00"),
        ("1 hour 3 days ago", "2024-06-17 14:54:00"),
        ("here for 2 years, last seen 3 days ago", "2024-06-17 14:54:00"),
        ("il y a 2 jours 3 annonces", "2024-06-18 14:54:00"),
        ("今天 12:30", "2024-06-20 12:30:00"),
        ("昨天 12:30", "2024-06-19 12:30:00"),
        ("昨天 下午 3:05", "2024-06-19 15:05:00"),
        ("前天 00:05", "2024-06-18 00:05:00"),
        ("大前天 12:30", "2024-06-17 12:30:00"),
        ("昨天", "2024-06-19 00:00:00"),
        ("Yesterday at 10:02 PM", "2024-06-19 22:02:00"),
        ("06-19-2024, 10:17 PM", "2024-06-19 22:17:00"),
        ("June 19, 2024, 10:17 p.m.", "2024-06-19 22:17:00"),
        ("June 19, 2024, 6 p.m.", "2024-06-19 18:00:00"),
        ("June 19, 2024, 12 a.m.", "2024-06-19 00:00:00"),
        ("June 19, 2024, noon", "2024-06-19 12:00:00"),
        ("June 19, 2024, midnight", "2024-06-19 00:00:00"),
        ("yesterday, 22:02", "2024-06-19 22:02:00"),
        ("Gestern um 22:02", "2024-06-19 22:02:00"),
        ("Avant-hier à 22h02", "2024-06-18 22:02:00"),
        ("Вчера в 22:02", "2024-06-19 22:02:00"),
        ("Today at 12:05 am", "2024-06-20 00:05:00"),
        ("上周五", "2024-06-14 00:00:00"),
        ("周三 12:30", "2024-06-19 12:30:00"),
        ("Monday at 10:05 PM", "2024-06-17 22:05:00"),
        ("2024-06-19 14:17 GMT+8", "2024-06-19 14:17:00"),
        ("June 19, 2024 2:17 PM (UTC+5:30)", "2024-06-19 16:47:00"),
        ("June 19, 2024 2:17pm UTC", "2024-06-19 22:17:00"),
        ("2024-06-19 14:17 - 12 replies", "2024-06-19 14:17:00"),
        ("2024-06-19 14:17 +12 replies", "2024-06-19 14:17:00"),
        ("2024-06-19, bearbeitet 20.06.2024", "2024-06-19 00:00:00"),
        ("19/06 2024-06-19 3:05 p.\u00a0m.", "2024-06-19 15:05:00"),
        ("hoy a las 3:05 p. m.", "2024-06-20 15:05:00"),
        ("2024. 6. 19. 오후 3:05", "2024-06-19 15:05:00"),
        ("2024-06-19 오전 12:05", "2024-06-19 00:05:00"),
        ("٢٠٢٤-٠٦-١٩ ٣:٠٥ م", "2024-06-19 15:05:00"),
        ("٢٠٢٤-٠٦-١٩ ١٢:٠٥ ص", "2024-06-19 00:05:00"),
        ("2024年6月19日(水) 午後3時5分", "2024-06-19 15:05:00"),
        ("2024-06-19 15.05", "2024-06-19 15:05:00"),
        ("15:05, 19 Jun 2024", "2024-06-19 15:05:00"),
        ("下午 3:05 2024-06-19", "2024-06-19 15:05:00"),
        ("15:05 today", "2024-06-20 15:05:00"),
        ("am 19.06.2024", "2024-06-19 00:00:00"),
        ("am 19.06.2024 12:05", "2024-06-19 12:05:00"),
        ("19年6月19日 22:17", None),
        ("令和3年 11月23日 10:00", "2021-11-23 10:00:00"),
    ],
)
def test_a_moment_is_read_as_a_person_would(text: str, moment: str) -> None:
    assert local(text) == moment


@pytest.mark.parametrize(
    ("now", "text", "moment"),
    [
        ("2026-12-31 12:00", "12-30 10:00", "2026-12-30 10:00"),
        ("2026-12-31 12:00", "12月31日 10:00", "2026-12-31 10:00"),
        ("2026-12-31 12:00", "11-20 10:00", "2026-11-20 10:00"),
        ("2026-12-31 23:50", "01-01 00:10", "2027-01-01 00:10"),
        ("2027-01-01 00:10", "12-31 23:50", "2026-12-31 23:50"),
        ("2027-01-02 12:00", "12-30 10:00", "2026-12-30 10:00"),
        ("2028-02-28 12:00", "02-29 10:00", "2028-02-29 10:00"),
        ("2029-01-02 12:00", "02-29 10:00", "2028-02-29 10:00"),
    ],
)
def test_a_date_without_a_year_is_of_the_nearest_one_that_has_passed(now: str, text: str, moment: str) -> None:
    at_s = datetime.fromisoformat(now).replace(tzinfo=SHANGHAI).timestamp()

    read = read_date(text, at_s, SHANGHAI)

    assert read is not None
    assert f"{datetime.fromtimestamp(read, SHANGHAI):%Y-%m-%d %H:%M}" == moment


@pytest.mark.parametrize(
    "text",
    ["", " ", "-", "abc", "2026-02-30", "2024-13-01 10:00", "2024-06-19 25:00", "0000-01-01", "10000-01-01", "5",
     "1969-12-31T00:00:00Z", "9999-12-31 00:00", "99999999999999999999", "昨天 25:00", "x" * 200, "99999 年前"],
)  # fmt: skip
def test_what_is_no_moment_is_left_open_and_never_now(text: str) -> None:
    assert local(text) is None


@pytest.mark.parametrize(
    ("text", "form", "moment"),
    [
        ("06-19-2024, 10:17 PM", "%m-%d-%Y, %I:%M %p", "2024-06-19 22:17:00"),
        ("19/06/2024 22:17", "%d/%m/%Y %H:%M", "2024-06-19 22:17:00"),
        ("Yesterday, 10:02 PM", "%m-%d-%Y, %I:%M %p", "2024-06-19 22:02:00"),
        ("mer., 05/06/2024 22h17", "%d/%m/%Y %Hh%M", "2024-06-05 22:17:00"),
        ("Yesterday 22:02", "%H:%M", "2024-06-19 22:02:00"),
    ],
)
def test_a_format_decides_what_is_ambiguous(text: str, form: str, moment: str) -> None:
    assert local(text, formats=(form,)) == moment


def local_in(text: str, zone: str, now: str = "2026-06-17 12:00", order: DateOrder | None = None) -> str | None:
    """Return the moment of a text, read as the crawl does, in UTC. The day is a Wednesday."""
    at_s = datetime.fromisoformat(f"{now}+00:00").timestamp()
    moment = read_date(text, at_s, ZoneInfo(zone), languages=LANGUAGES, order=order)
    return None if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("24/05/12(Sun)14:05:33", "2024-05-12 14:05:33"),
        ("05/12/24(Sun)14:05:33", "2024-05-12 14:05:33"),
        ("12/05/24(Sun)14:05:33", "2024-05-12 14:05:33"),
        ("05/12/24(Sun)14:05:33 No.123456", "2024-05-12 14:05:33"),
        ("Sun May 17, 2:05 pm", "2026-05-17 14:05:00"),
        ("Sun 17 May - 14:05", "2026-05-17 14:05:00"),
        ("Sun 12-05-2024 14:05", "2024-05-12 14:05:00"),
        ("Thu 12-05-2024 14:05", "2024-12-05 14:05:00"),
        ("Mon 12-05-2024 14:05", None),
        ("dimanche 12/05/24, 14h05", "2024-05-12 14:05:00"),
        ("Вс 12.05.24 14:05", "2024-05-12 14:05:00"),
        ("24.05.12(日) 14:05", "2024-05-12 14:05:00"),
        ("12/05/2024 (Dom) 14:05", "2024-05-12 14:05:00"),
        ("Saturday 31 Aug 24 21:33", "2024-08-31 21:33:00"),
        ("Tue May 02, 2008 3:14 pm", "2008-05-02 15:14:00"),  # a weekday decides between orders, and against none
        ("Dim 17 Mai - 14:05", "2026-05-17 14:05:00"),
        ("Sam 17 Mai - 14:05", "2025-05-17 14:05:00"),  # the latest year with that weekday
        ("Mar 12 Mai - 14:05", "2026-05-12 14:05:00"),
        ("May 17, 2:05 pm", "2026-05-17 14:05:00"),
        ("17 мая 14:05", "2026-05-17 14:05:00"),
        ("20 June, 14:05", "2025-06-20 14:05:00"),
        ("Montag um 14:05", "2026-06-15 14:05:00"),
        ("понедельник в 14:05", "2026-06-15 14:05:00"),
        ("Wednesday at 2:05 PM", "2026-06-10 14:05:00"),
        ("05-04-2012, 04:00 PM", None),
        ("05/04/12 16:00", None),
        ("24-05-12 14:05", None),
        ("19-05-12 14:05", None),
        ("05.04.2012 16:00", "2012-04-05 16:00:00"),
        ("28-05-12 14:05", "2012-05-28 14:05:00"),  # 2028 is to come
    ],
)
def test_a_weekday_checks_a_day_and_is_no_day_of_its_own_beside_one(text: str, moment: str | None) -> None:
    assert local_in(text, "UTC") == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("May 12, 2024 2:05 PM EDT", "2024-05-12 18:05:00"),
        ("Sun, 12 May 2024 14:05:33 EST", "2024-05-12 19:05:33"),
        ("12 May 2024 14:05 CEST", "2024-05-12 12:05:00"),
        ("12 May 2024 14:05 (MSK)", "2024-05-12 11:05:00"),
        ("12 мая 2024 14:05 МСК", "2024-05-12 11:05:00"),
        ("12 May 2024 14:05 JST", "2024-05-12 05:05:00"),
        ("May 12, 2024 2:05 PM Pacific Daylight Time", "2024-05-12 21:05:00"),
        ("Sun May 12 2024 14:05:33 GMT+0200 (Central European Summer Time)", "2024-05-12 12:05:33"),
        ("12 May 2024 14:05 IST", None),
        ("12 May 2024 14:05 CST", None),
        ("12 May 2024 14:05 XYZT", None),
        ("Today, 02:05 PM EDT", "2026-06-17 18:05:00"),
        ("12 May 2024 14:05 by EDDA", "2024-05-12 14:05:00"),
    ],
)
def test_a_word_for_a_zone_is_read_or_leaves_the_time_open(text: str, moment: str | None) -> None:
    assert local_in(text, "UTC") == moment


@pytest.mark.parametrize(
    ("zone", "text", "moment"),
    [
        ("Asia/Kolkata", "12 May 2024 14:05 IST", "2024-05-12 08:35:00"),
        ("Asia/Jerusalem", "12 Jan 2024 14:05 IST", "2024-01-12 12:05:00"),
        ("Asia/Shanghai", "12 May 2024 14:05 CST", "2024-05-12 06:05:00"),
        ("America/Chicago", "12 Jan 2024 14:05 CST", "2024-01-12 20:05:00"),
        ("Australia/Sydney", "12 May 2024 14:05 EST", "2024-05-12 04:05:00"),
        ("Europe/London", "12 May 2024 14:05 BST", "2024-05-12 13:05:00"),
    ],
)
def test_the_zone_of_the_site_tells_what_an_ambiguous_word_means(zone: str, text: str, moment: str) -> None:
    assert local_in(text, zone) == moment


@pytest.mark.parametrize(
    "text",
    [
        "12 May 2024, 10:05 PM", "12 May 2024, 10:05 p.m.", "12 May 2024 10:05p", "12 Μαΐου 2024, 10:05 μμ",
        "12 Μαΐου 2024, 10:05 μ.μ.", "12 maj 2024 10:05 em", "12 maj 2024 10:05 e.m.", "12 tháng 5 2024 10:05 CH",
        "2024年5月12日 下午10:05", "2024年5月12日 午後10時5分",
        "2024년 5월 12일 오후 10:05", "2024년 5월 12일 오후 10시 5분",
        "12 مايو 2024 10:05 م", "12 مايو 2024 10:05 مساءً", "12. května 2024 10:05 odp.", "12. maj 2024 10:05 pop.",
        "2024. május 12. 10:05 du.", "12 May 2024 10:05 de la noche", "12 maio 2024 10:05 da noite",
        "12 мая 2024 10:05 пп", "12 май 2024 10:05 сл.об.", "12 Mayıs 2024 10:05 ÖS", "12. toukokuuta 2024 10.05 ip.",
        "12 maggio 2024 10:05 di sera", "12 mai 2024 10:05 du soir", "12. Mai 2024 10:05 nachm.",
        "12 mei 2024 10:05 nm",
        "12 maja 2024 10:05 wieczorem", "12 May 2024 10:05 PTG", '12 במאי 2024 10:05 אחה"צ',
        "12 พ.ค. 2567 10:05 หลังเที่ยง",
    ],
)  # fmt: skip
def test_halves_of_the_day_are_known_in_many_languages(text: str) -> None:
    assert local_in(text, "UTC") == "2024-05-12 22:05:00"


@pytest.mark.parametrize(
    "text",
    [
        "12 May 2024 10:05 xyz",
        "12 May 2024 10:05 qm",
        "12 May 2024 10:05 vakaro",
        "Today 10:05 xy",
        "12/25/2024 10:05 zz",
    ],
)
def test_an_unknown_word_behind_a_time_of_twelve_hours_leaves_it_open(text: str) -> None:
    assert local_in(text, "UTC") is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2 Days Ago, 08:15 AM", "2026-06-15 08:15:00"),
        ("0 Days Ago, 08:15 AM", "2026-06-17 08:15:00"),
        ("1 Week Ago, 08:15 PM", "2026-06-10 20:15:00"),
        ("vor 2 Tagen, 08:15", "2026-06-15 08:15:00"),
        ("2 天前 08:15", "2026-06-15 08:15:00"),
        ("2 Days Ago", "2026-06-15 12:00:00"),
        ("2 hours ago", "2026-06-17 10:00:00"),
    ],
)
def test_the_hour_beside_an_age_in_days_is_that_days(text: str, moment: str) -> None:
    assert local_in(text, "UTC") == moment


@pytest.mark.parametrize(
    "text",
    ["1715522733", "1715522733.0", "1715522733.25", "1715522733000", "1715522733000.0", "1715522733000000",
     "1715522733000000000", "/Date(1715522733000)/", "/Date(1715522733000+0200)/", "\u200e1715522733"],
)  # fmt: skip
def test_an_epoch_is_read_in_every_unit(text: str) -> None:
    assert local_in(text, "Asia/Tokyo") == "2024-05-12 14:05:33"


@pytest.mark.parametrize("text", ["950000000", "1715522733", "1715522733000", "123456789", "17155227", "171552273312"])
def test_discovery_takes_for_epochs_what_the_reader_does(text: str) -> None:
    assert is_epoch(text) is (local_in(text, "UTC") is not None)


@pytest.mark.parametrize("text", ["17155227", "171552273312", "123456789", "9999999999", "1715522733.x"])
def test_a_number_of_another_length_is_no_epoch(text: str) -> None:
    assert local_in(text, "UTC") is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("31 พ.ค. 2567 14:05", "2024-05-31 14:05:00"),
        ("31 พฤษภาคม 2567, 14:05 น.", "2024-05-31 14:05:00"),
        ("วันนี้ 10:05", "2026-06-17 10:05:00"),
        ("เมื่อวานนี้ เวลา 10:05", "2026-06-16 10:05:00"),
        ("2567-05-31 14:05", "2024-05-31 14:05:00"),
        ("令和6年5月12日 14:05", "2024-05-12 14:05:00"),
        ("平成元年5月12日 14:05", "1989-05-12 14:05:00"),
        ("昭和60年5月12日 14:05", "1985-05-12 14:05:00"),
        ("民國113年5月12日 14:05", "2024-05-12 14:05:00"),
        ("۱۴۰۳/۰۲/۲۳ ۱۴:۰۵", "2024-05-12 14:05:00"),
        ("1403/02/23 14:05", "2024-05-12 14:05:00"),
        ("۲۳ اردیبهشت ۱۴۰۳، ۱۴:۰۵", "2024-05-12 14:05:00"),
        ("یکشنبه ۲۳ اردیبهشت ۱۴۰۳ ساعت ۱۴:۰۵", "2024-05-12 14:05:00"),
        ("30 اسفند 1403 10:05 ب.ظ", "2025-03-20 22:05:00"),
        ("29 اسفند 1402 14:05", "2024-03-19 14:05:00"),
        ("30 اسفند 1402 14:05", None),
        ("۲ ساعت پیش", "2026-06-17 10:00:00"),
        ("دیروز 10:05", "2026-06-16 10:05:00"),
        ("12-05-1445 14:05", None),  # of the lunar calendar
    ],
)
def test_other_calendars_are_read_to_the_day(text: str, moment: str | None) -> None:
    assert local_in(text, "UTC") == moment


def test_the_days_of_the_solar_hijri_calendar_follow_each_other() -> None:
    days = [
        solar_hijri(year, month, day) for year in range(1360, 1411) for month in range(1, 13) for day in range(1, 32)
    ]
    real = [day for day in days if day is not None]

    assert all(later - day == timedelta(days=1) for day, later in pairwise(real))
    assert (real[0], solar_hijri(1408, 12, 30)) == (date(1981, 3, 21), date(2030, 3, 20))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("su 12.5.2024 klo 14:05", "2024-05-12 14:05:00"),
        ("Minggu, 12 Mei 2024 14:05 WIB", "2024-05-12 07:05:00"),
        ("нд, 12 трав. 2024 14:05", "2024-05-12 14:05:00"),
        ("12 მაისი 2024, 14:05", "2024-05-12 14:05:00"),
        ("Domingo, 12 de Maio de 2024, 14:05h", "2024-05-12 14:05:00"),
        ("12/mai/2024 14:05", "2024-05-12 14:05:00"),
        ("Mar 16/Jun/2026, 07:01:00 AM", "2026-06-16 07:01:00"),
        ("Sul 12 Mai 2024, 2:05 yh", "2024-05-12 14:05:00"),
        ("e diel, 12 maj 2024, 2:05 MD", "2024-05-12 14:05:00"),
        ("2024/05/12(日) 14:05:33.21", "2024-05-12 14:05:33"),
        ("T7 Tháng 12 12, 2025 07:00", "2025-12-12 07:00:00"),
        ("6月 17th, 2025, 上午07:00", "2025-06-17 07:00:00"),
        ("2025 6月 17 - 07:03", "2025-06-17 07:03:00"),
        ("星期三, 6月 10, 2026 - 07:02", "2026-06-10 07:02:00"),
        ("CN, 12/05/2024 14:05", "2024-05-12 14:05:00"),
        ("۱۲ مه ۲۰۲۴، ۱۴:۰۵", "2024-05-12 14:05:00"),
        ("12 mai 2024 à 14 h 05", "2024-05-12 14:05:00"),
        ("Ven 17 Mai - 0:05", "2024-05-17 00:05:00"),
        ("May 12 at 2:05pm", "2026-05-12 14:05:00"),
        ("Yesterday 2:05 PM CET", "2026-06-16 13:05:00"),
        ("12 May 2024 14:05 PM", "2024-05-12 14:05:00"),
        ("12 May 2024 14:05 AM", None),
        ("12·05·2024 14:05", None),
        ("12 05 2024 14:05", None),
        ("12-05-1403", None),
        ("16/06/2025 - 07:17", "2025-06-16 07:17:00"),
    ],
)
def test_further_spellings_are_read_or_left_open(text: str, moment: str | None) -> None:
    assert local_in(text, "UTC") == moment


@pytest.mark.parametrize(
    ("order", "moment"),
    [
        (DateOrder.DMY, "2012-04-05 16:00:00"),
        (DateOrder.MDY, "2012-05-04 16:00:00"),
        (DateOrder.YMD, "2005-04-12 16:00:00"),
    ],
)
def test_the_order_of_a_site_decides_and_numbers_above_twelve_outrank_it(order: DateOrder, moment: str) -> None:
    assert local_in("05/04/12 16:00", "UTC", order=order) == moment
    assert local_in("05/28/2012 16:00", "UTC", order=order) == "2012-05-28 16:00:00"


def test_rare_spellings_are_left_to_dateparser() -> None:
    assert local("19 juin 2024 22:17", languages=("fr",)) == "2024-06-19 22:17:00"
    assert local("no date 7", languages=LANGUAGES) is None


def test_hours_ago_are_counted_across_the_change_to_summer_time() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    now = datetime(2024, 3, 31, 4, 0, tzinfo=berlin)

    assert read_date("3 hours ago", now.timestamp(), berlin) == int(now.timestamp()) - 3 * 3600


@pytest.mark.parametrize(
    ("text", "stable"),
    [("2024-06-19 22:17", True), ("Jun 19, 2024", True), ("Wed Jun 19, 2024 10:17 pm", True), ("3 小时前", False),
     ("昨天 12:30", False), ("yesterday at 3", False), ("Monday at 10:05 PM", False), ("刚刚", False), ("", False)],
)  # fmt: skip
def test_words_that_count_from_now_are_known_as_such(text: str, stable: bool) -> None:
    assert is_stable(text) is stable


DAY = "2024-05-12 17:24:00"
TODAY, YESTERDAY = "2024-06-20 07:24:00", "2024-06-19 07:24:00"
MINUTES, HOURS, WEEKS, YEARS = "14:49:00", "12:54:00", "2024-06-06 14:54:00", "2022-06-21 14:54:00"
AROUND_THE_WORLD = {
    "Belarusian": (
        "12 мая 2024, 17:24", "сёння 07:24", "учора 07:24", "5 хвілін таму",
        "2 гадзіны таму", "2 тыдні таму", "2 гады таму",
    ),
    "Bulgarian": (
        "12 май 2024 17:24", "Днес, 07:24", "Вчера, 07:24", "преди 5 минути",
        "преди 2 часа", "преди 2 седмици", "преди 2 години",
    ),
    "Catalan": (
        "12 de maig de 2024 17:24", "avui 07:24", "ahir a les 07:24", "fa 5 minuts",
        "fa 2 hores", "fa 2 setmanes", "fa 2 anys",
    ),
    "Czech": (
        "12. května 2024 17:24", "Dnes v 07:24", "Včera v 07:24", "před 5 minutami",
        "před 2 h", "před 2 týdny", "před 2 lety",
    ),
    "Danish": (
        "søn 12. maj 2024 17:24", "I dag kl. 07:24", "I går 07:24", "5 min. siden",
        "for 2 timer siden", "2 uger siden", "2 år siden",
    ),
    "Dutch": (
        "12 mei 2024, 17:24", "Vandaag om 07:24", "Gisteren om 07:24", "5 minuten geleden",
        "2 uur geleden", "2 weken geleden", "2 jaar geleden",
    ),
    "Estonian": (
        "12. mai 2024 17:24", "Täna kell 07:24", "Eile kell 07:24", "5 minuti eest",
        "2 tunni eest", "2 nädala eest", "2 aasta eest",
    ),
    "Finnish": (
        "12. toukokuuta 2024 klo 17.24", "Tänään klo 07:24", "Eilen klo 07:24", "5 min sitten",
        "2 tuntia sitten", "2 viikkoa sitten", "2 vuotta sitten",
    ),
    "Greek": (
        "Κυρ Μάιος 12, 2024 5:24 pm", "Σήμερα στις 07:24", "Χθες στις 07:24", "πριν από 5 λεπτά",
        "πριν 2 ώρες", "πριν από 2 εβδομάδες", "πριν 2 έτη",
    ),
    "Hebrew": (
        "12 במאי 2024 17:24", "היום ב-07:24", "אתמול 07:24", "לפני 5 דקות",
        "לפני שעתיים", "לפני שבועיים", "לפני שנתיים",
    ),
    "Hungarian": (
        "2024. május 12., 17:24", "ma, 07:24", "Tegnap 07:24", "5 perccel ezelőtt",
        "2 órával ezelőtt", "2 héttel ezelőtt", "2 évvel ezelőtt",
    ),
    "Indonesian": (
        "12 Mei 2024 17:24", "Hari ini 07:24", "Kemarin 07:24", "5 menit yang lalu",
        "2 jam lalu", "2 minggu lalu", "2 tahun yang lalu",
    ),
    "Italian": (
        "12 maggio 2024 17:24", "Oggi alle 07:24", "Ieri alle 07:24", "5 minuti fa",
        "2 ore fa", "2 settimane fa", "2 anni fa",
    ),
    "Korean": ("2024년 5월 12일 오후 5:24", "오늘 07:24", "어제 07:24", "5분 전", "2시간 전", "2주 전", "2년 전"),
    "Latvian": (
        "2024. gada 12. maijs 17:24", "šodien 07:24", "vakar 07:24", "pirms 5 minūtēm",
        "pirms 2 stundām", "pirms 2 nedēļām", "pirms 2 gadiem",
    ),
    "Lithuanian": (
        "2024 m. gegužės 12 d. 17:24", "Šiandien 07:24", "vakar 07:24", "prieš 5 minutes",
        "prieš 2 val.", "prieš 2 savaites", "prieš 2 metus",
    ),
    "Norwegian": (
        "12. mai 2024 17:24", "i dag 07:24", "I går 07:24", "for 5 minutter siden",
        "2 t siden", "for 2 uker siden", "for 2 år siden",
    ),
    "Polish": (
        "12 maj 2024, 17:24", "Dzisiaj o 07:24", "wczoraj, 07:24", "5 minut temu",
        "2 godz. temu", "2 tygodnie temu", "2 lata temu",
    ),
    "Portuguese": (
        "12 de maio de 2024 17:24", "Hoje às 07:24", "Ontem às 07:24", "há 5 minutos",
        "2 horas atrás", "há 2 semanas", "2 anos atrás",
    ),
    "Romanian": (
        "12 mai 2024 17:24", "Astăzi, 07:24", "Ieri, 07:24", "acum 5 minute",
        "acum 2 ore", "acum 2 săptămâni", "acum 2 ani",
    ),
    "Serbian": (
        "12. мај 2024. 17:24", "данас у 07:24", "јуче у 07:24", "пре 5 минута",
        "pre 2 sata", "пре 2 недеље", "pre 2 godine",
    ),
    "Slovak": (
        "12. 5. 2024 17:24", "Dnes o 07:24", "Včera 07:24", "pred 5 minútami",
        "pred 2 hodinami", "pred 2 týždňami", "pred 2 rokmi",
    ),
    "Swedish": (
        "12 maj 2024 kl. 17:24", "Idag 07:24", "Igår 07:24", "för 5 minuter sedan",
        "2 tim sen", "för 2 veckor sedan", "för 2 år sedan",
    ),
    "Turkish": (
        "12 Mayıs 2024, 17:24", "Bugün, 07:24", "Dün, 07:24", "5 dakika önce",
        "2 saat önce", "2 hafta önce", "2 yıl önce",
    ),
    "Ukrainian": (
        "12 травня 2024, 17:24", "Сьогодні, 07:24", "Вчора, 07:24", "5 хвилин тому",
        "2 години тому", "2 тижні тому", "2 роки тому",
    ),
    "Vietnamese": (
        "12 Tháng 5, 2024 17:24", "Hôm nay lúc 07:24", "Hôm qua lúc 07:24", "5 phút trước",
        "2 giờ trước", "2 tuần trước", "2 năm trước",
    ),
    "Arabic": (
        "12 مايو 2024 17:24", "اليوم في 07:24", "أمس في 07:24", "منذ 5 دقائق",
        "قبل ساعتين", "قبل أسبوعين", "منذ سنتين",
    ),
    "English": (
        "Sun May 12, 2024 5:24 pm", "Today, 07:24", "yesterday at 07:24", "5m ago",
        "2 hr. ago", "2 wk. ago", "2y ago",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", AROUND_THE_WORLD)
def test_dates_are_read_in_many_languages_without_a_setting(language: str) -> None:
    said = AROUND_THE_WORLD[language]
    moments = (DAY, TODAY, YESTERDAY, f"2024-06-20 {MINUTES}", f"2024-06-20 {HOURS}", WEEKS, YEARS)

    assert {text: local(text) for text in said} == dict(zip(said, moments, strict=True))
    assert [is_stable(text) for text in said] == [True, *[False] * 6]


@pytest.mark.parametrize(
    "text",
    [
        "vor der Lampe",
        "for 5 lamps",
        "5 fa",
        "ma che 5",
        "5 dollar sedan",
        "hier bin ich 10:02 Uhr",
        "acum 5",
        "5 dana",
    ],
)
def test_words_alone_are_no_date(text: str) -> None:
    assert local(text) is None


@settings(deadline=None)
@given(text=st.text(max_size=40) | st.text(alphabet="0123456789-:年月日前天 TZ+/.昨小时agoday", max_size=30))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    moment = read_date(text, NOW.timestamp(), SHANGHAI)

    assert moment is None or EARLIEST < moment < LATEST


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("12", 12), ("1,234", 1234), ("1 234", 1234), ("1\xa0234", 1234), ("1.234", 1234), ("1.2万", 12000),
     ("1.25 萬", 12500), ("3 万", 30000), ("2亿", 200_000_000), ("3.4k", 3400), ("3.4K views", 3400),
     ("1.2M", 1_200_000), ("1,2k", 1200), ("12,5万", 125_000), ("1,234k", 1_234_000), ("1,2 tys.", 1200),
     ("1,2 Tsd.", 1200),
     ("3,4 тыс. просмотров", 3400), ("1,2 mil", 1200), ("1.2만", 12000), ("3,4 Mio.", 3_400_000), ("1’234", 1234),
     ("5 min", 5), ("3 km", 3), ("5 binoculars", 5), ("1,2 bin", 1200), ("1,25", 125),
     ("９９", 99), ("12 replies", 12), ("回复: 7", 7), ("(7)", 7), ("1.5", 1), ("−5", None), ("-5", None), ("", None),
     ("none", None), ("9" * 400, None), ("9" * 13, None), ("99999亿", None), ("1.2wow", 1)],
)  # fmt: skip
def test_a_count_is_read_as_a_person_would(text: str, number: int | None) -> None:
    assert read_count(text) == number


def test_a_number_may_be_negative() -> None:
    assert [read_int(text) for text in ("-5", "−5", "7", "x")] == [-5, -5, 7, None]


@settings(deadline=None)
@given(text=st.text(max_size=40) | st.text(alphabet="0123456789.,-万亿kKmM 万", max_size=30))
def test_no_text_makes_the_counter_fail(text: str) -> None:
    number = read_count(text)

    assert number is None or 0 <= number <= LARGEST


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2037, 12, 31)),
    st.sampled_from(["Asia/Shanghai", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Beirut"]),
    st.sampled_from(["{:%Y-%m-%d %H:%M:%S}", "{:%Y/%m/%d %H:%M:%S}", "{0:%Y}年{0:%m}月{0:%d}日 {0:%H:%M:%S}"]),
)
def test_a_plain_moment_is_the_clocks_own_even_on_days_it_is_changed(
    moment: datetime, name: str, spelling: str
) -> None:
    zone = ZoneInfo(name)

    found = read_date(spelling.format(moment), NOW.timestamp(), zone)

    assert found == int(moment.replace(microsecond=0, tzinfo=zone).timestamp())


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2018-11-03 23:59", 1541300340),  # an hour before Brazil's clocks go on at midnight
        ("2018-11-04 01:00", 1541300400),
        ("2018-02-17 23:30", 1518917400),  # once before they go back, and again after
        ("2018-02-18 00:00", 1518922800),
        ("9999-12-31 10:00", None),
        ("2024-02-30 10:00", None),
        ("1969-12-31 21:00", None),  # 1970 begins in London
        ("1969-12-31 21:01", 60),
        ("2099-12-31 20:59", LATEST - 60),
        ("2099-12-31 21:00", None),
        ("2024-05-06 24:00", 1715050800),  # the midnight at its end, as ISO 8601 has it, by any Python
        ("2024-05-06T24:00:00Z", 1715040000),
        ("2018-11-03 24:00", 1541300400),
        ("2024-05-06 24:01", None),
        ("2024-05-06 23:60", None),
    ],
)
def test_days_on_which_clocks_change_or_that_do_not_exist(text: str, moment: int | None) -> None:
    assert read_date(text, NOW.timestamp(), ZoneInfo("America/Sao_Paulo")) == moment


@pytest.mark.parametrize(
    ("text", "fixed"),
    [("2024-06-19 22:17", True), ("today at 10:12", True), ("昨天 12:30", True), ("3 小时前", False),
     ("il y a 4 mois", False), ("just now", False), ("words", True)],
)  # fmt: skip
def test_words_that_name_another_moment_a_minute_later_are_known(text: str, fixed: bool) -> None:
    assert is_fixed(text) is fixed


LATER = datetime(2026, 11, 29, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("18 Kas 2026 ÖS 5:52", 17),
        ("18 Kas 2026 ÖÖ 5:52", 5),
        ("06.09.2026 PTG 2:35", 14),
        ("23.10.2026 l'après-midi à 1:42", 13),
        ("23.10.2026 pomeriggio ore 3:50", 15),
        ("23.10.2026 sáng 12:32", 0),
        ("28.11.2026 vorm. 12:58", 0),
        ("23.10.2026 8:38 in the afternoon", 20),
        ("23.10.2026 (Pzr)7:04", 7),
        ("23/10/2026 a las 5:25", 5),
        ("23.10.2026 blah 13:39", 13),
    ],
)
def test_a_half_of_the_day_may_stand_before_the_time(text: str, hour: int) -> None:
    moment = read_date(text, LATER, ZoneInfo("UTC"), order=DateOrder.DMY, languages=("tr",))

    assert moment is not None
    assert datetime.fromtimestamp(moment, UTC).hour == hour


@pytest.mark.parametrize(
    ("text", "time"),
    [
        # Prepositions are no halves of the day.
        ("13/10/2026 a las 12:05", "12:05"),
        ("ieri a 12:05", "12:05"),
        ("Postado em 12 maio 2024 em 10:30", "10:30"),
        ("ontem em 10:30", "10:30"),
        ("12 May 2024 12:30 a Mario", "12:30"),
        ("12 de maio de 2024, 10:30 em Lampadas", "10:30"),
        ("12 May 2024 5:58 de blah", "05:58"),
        ("12 mai 2024 12:58 de blah", "12:58"),
        ("2024. május 12. de 10:05", "10:05"),
        ("12 mai 2024 du 10:05", "10:05"),
        # The same words, written as halves of the day.
        ("2024. május 12. du. 10:05", "22:05"),
        ("2024. május 12. de. 12:05", "00:05"),
        ("12 maj 2024 e.m. 10:30", "22:30"),
        ("12 May 2024 12:05 a. m.", "00:05"),
        ("12 May 2024 10:05p", "22:05"),
        ("12 May 2024 5:58 p Mario", "17:58"),
        ("13-May-24 10.05.33 PM", "22:05"),
        ("13-May-24 22.05.33", "22:05"),
        ("13-MAY-24 10.05.33.123456 PM", "22:05"),
        ("12.5.2024 klo 22.05", "22:05"),
        ("12 May 2024 12:05 a", "00:05"),
        ("12 May 2024 de la tarde 3:05", "15:05"),
        # The night begins before midnight and ends behind it.
        ("2024-05-12 夜里11:30", "23:30"),
        ("2024-05-12 夜里1:30", "01:30"),
        ("2024-05-12 晚上7:30", "19:30"),
        ("2024-05-12 晚上1:30", "01:30"),
        ("2024-05-12 晚上12:30", "00:30"),
        ("2024-05-12 晚上 22:30", "22:30"),
        ("2024年5月12日 夜11:30", "23:30"),
        ("2024年5月12日 夜の11:30", "23:30"),
        ("2024년 5월 12일 밤 12:30", "00:30"),
        ("12 May 2024 1:30 at night", "01:30"),
        ("12 May 2024 10:30 at night", "22:30"),
        ("12 de mayo de 2024 12:30 de la noche", "00:30"),
        ("12 мая 2024 11:30 ночи", "23:30"),
        ("12 мая 2024 1:30 ночи", "01:30"),
        ("12. Mai 2024 nachts 1:30", "01:30"),
        ("12. Mai 2024 11:05 in der Nacht", "23:05"),
        ("2024-05-12 中午 1:30", "13:30"),
    ],
)
def test_words_beside_a_time_are_read_as_a_person_would(text: str, time: str) -> None:
    moment = read_date(text, LATER, ZoneInfo("UTC"), order=DateOrder.DMY)

    assert moment is not None
    assert f"{datetime.fromtimestamp(moment, UTC):%H:%M}" == time


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12 thg 12, 2025", "2025-12-12 00:00"),
        ("12 thg 12 2025 10:05", "2025-12-12 10:05"),
        ("il y a 1 jour 3 h 20 min", "2026-11-27 20:40"),
        ("il y a 1 jour 3 h", "2026-11-27 21:00"),
        ("il y a 2 jours, 10h20", "2026-11-27 10:20"),
        ("1 giorno 3 ore 20 min fa", "2026-11-27 20:40"),
        ("1 day 3 hours ago", "2026-11-27 21:00"),
        ("1 day 3 h 20 min ago", "2026-11-27 20:40"),
        ("1 day and 3 hours ago", "2026-11-27 21:00"),
        ("hace 1 día y 3 horas", "2026-11-27 21:00"),
        ("il y a 2 h 30", "2026-11-28 21:30"),
        ("hace una hora", "2026-11-28 23:00"),
        ("hace una semana", "2026-11-22 00:00"),
        ("hace una hora y 5 minutos", "2026-11-28 22:55"),
        ("hace un año", "2025-11-29 00:00"),
        ("fa una hora", "2026-11-28 23:00"),
        ("acum o oră", "2026-11-28 23:00"),
        ("un'ora fa", "2026-11-28 23:00"),
        ("한시간 전", "2026-11-28 23:00"),
        ("day before yesterday 10:30", "2026-11-27 10:30"),
        ("一昨日 10:30", "2026-11-27 10:30"),
        ("avant hier à 10h30", "2026-11-27 10:30"),
        ("l'altro ieri 10:30", "2026-11-27 10:30"),
        ("antes de ayer, 10:30", "2026-11-27 10:30"),
        ("לפני 2 שנ׳", None),
        ("לפני 2 שנים", "2024-11-29 00:00"),
        ("2½ hours ago", None),
        ("2.5 hours ago", "2026-11-28 21:30"),
        ("1.5 days ago", "2026-11-27 12:00"),
        ("2,5 uur geleden", "2026-11-28 21:30"),
        ("vor 2,5 Stunden", "2026-11-28 21:30"),
        ("2.5小时前", "2026-11-28 21:30"),
        ("1,234 days ago", None),
        ("12 May 2024 10:05 UTC-3.5", "2024-05-12 13:35"),
        ("12 May 2024 10:05 (GMT+5.75)", "2024-05-12 04:20"),
        ("12 May 2024 10:05 UTC+5.30", "2024-05-12 04:35"),
        ("12 May 2024 10:05 UTC-3.7", None),
        ("12 May 2024 10:05 UTC - 12 replies", "2024-05-12 10:05"),
    ],
)
def test_parts_of_ages_months_and_offsets_are_read_whole(text: str, moment: str | None) -> None:
    read = read_date(text, LATER, ZoneInfo("UTC"))

    assert (None if read is None else f"{datetime.fromtimestamp(read, UTC):%Y-%m-%d %H:%M}") == moment


def test_an_unknown_word_right_before_an_hour_up_to_12_leaves_the_time_open() -> None:
    # In Arabic the letter is that of the afternoon, and that of the calendar.
    texts = ("23.10.2026 blah 11:39", "12 مايو 2024 م 10:05")

    assert [read_date(text, LATER, ZoneInfo("UTC")) for text in texts] == [None, None]


@pytest.mark.parametrize("text", ["Reply with", "١٧١٨٨٠٦٦٢٠", "12345 6789", "171880662²", ""])
def test_what_is_no_number_is_no_epoch(text: str) -> None:
    assert of_epoch(text) is None
