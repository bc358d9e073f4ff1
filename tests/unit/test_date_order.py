"""The order of day and month in dates of figures: by all dates of a page, of a site, and the language of its pages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from crawl_tasks.model import Parsed, Stage
from crawl_tasks.parse.site_parser import SiteParser
from crawl_tasks.parse.values.page_language import stated_language
from tests.unit.pages import POST, answer, ask, site_parser

REPLY = """
  address: /comment/{post}/{page}
  record: .c
  fields: {comment_id: {attr: data-id}, author: .who, created_at: .when, body: .say}
"""


def formatted(form: str) -> str:
    return REPLY.replace("created_at: .when", f"created_at: {{css: .when, format: {form}}}")


def parser(head: str = "", comments: str = REPLY) -> SiteParser:
    return site_parser(head=head, stages=(LIST, POST, comments))


LIST = """
  address: /list/{board}/{page}
  record: .row
  fields: {post_id: {attr: data-id}, title: .t, reply_count: .n, created_at: .when}
"""


def read(site: SiteParser, *dates: str, lang: str = "") -> Parsed:
    said = "".join(
        f"<div class=c data-id={at}><b class=who>ann</b><i class=when>{date}</i><p class=say>text {at}</p></div>"
        for at, date in enumerate(dates, 1)
    )
    page = f"<html lang='{lang}'><h1>Title</h1><div class=body>words</div>{said}</html>"
    request = ask(Stage.COMMENT, "1", 2)
    return site.parse(request, answer(request, page), 0)


def days(parsed: Parsed) -> list[str | None]:
    """Return the days of the comments."""
    times = (one.created_at for one in parsed.items.comments)
    return [None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in times]


@pytest.mark.parametrize(
    ("dates", "shown"),
    [
        (("02-06-2005 10:05", "29-04-2009 10:05"), ["2005-06-02", "2009-04-29"]),
        (("02-06-2005 10:05", "04-29-2009 10:05"), ["2005-02-06", "2009-04-29"]),
        # Weekdays.
        (("Thu 02-06-2005 10:05", "05-04-2009 10:05"), ["2005-06-02", "2009-04-05"]),
        # The year first: 2031 is to come.
        (("24/05/12 02:05 PM", "24/05/31 02:05 PM"), ["2024-05-12", "2024-05-31"]),
        (("23/05/12 02:05 PM", "23/05/13 02:05 PM", "23/05/14 02:05 PM"), ["2023-05-12", "2023-05-13", "2023-05-14"]),
        # What lies in the future, in June 2024.
        (("01-12-2024 10:05", "03-05-2023 10:05"), ["2024-01-12", "2023-03-05"]),
        (("12-01-2024 10:05", "03-05-2023 10:05"), ["2024-01-12", "2023-05-03"]),
        # The number that never changes is the month.
        (("02-06-2012 10:05", "05-06-2012 10:05", "07-06-2012 10:05"), ["2012-06-02", "2012-06-05", "2012-06-07"]),
        (("06.02.2012 10:05", "06.05.2012 10:05", "06.07.2012 10:05"), ["2012-06-02", "2012-06-05", "2012-06-07"]),
        (("05.31.2012 10:05", "06.05.2012 10:05"), ["2012-05-31", "2012-06-05"]),
    ],
)
def test_all_dates_of_a_page_together_tell_the_order(dates: tuple[str, ...], shown: list[str]) -> None:
    assert days(read(parser(), *dates, lang="en")) == shown


@pytest.mark.parametrize(
    ("lang", "date", "day"),
    [
        ("fr", "04/02/2005, 12h25", "2005-02-04"),
        ("de", "04.02.2005, 12:25", "2005-02-04"),
        ("en-GB", "04/02/2005, 12:25", "2005-02-04"),
        ("en-US", "04/02/2005, 12:25 pm", None),
        ("en-GB", "04-02-2005, 12:25", None),
        ("ko", "05.04.02 12:25", None),
        ("de", "05.04.02 12:25", None),  # the year may stand first
        ("nl", "04-02-2005 12:25", "2005-02-04"),
        ("", "04.02.2005 12:25", "2005-02-04"),
        # Programs write these month first by default, in all languages.
        ("fr", "04-02-2005 12:25", None),
        ("en", "04/02/2005 12:25", None),
        ("en", "04.02.2005 12:25", None),
        ("", "04/02/2005 12:25", None),
        ("sv", "05-04-02 12:25", None),
        ("en", "04/04/2005 12:25", "2005-04-04"),
    ],
)
def test_where_no_date_tells_the_order_the_language_of_the_page_does_or_it_is_left_open(
    lang: str, date: str, day: str | None
) -> None:
    parsed = read(parser(), date, lang=lang)

    assert days(parsed) == [day]
    notes = [note for note in parsed.notes if "left open: day or month may stand first" in note]
    assert [date in note and "set date_order" in note for note in notes] == [True] * (day is None)


@pytest.mark.parametrize("attribute", ["xml:lang='fr'", 'lang = "fr"', "lang=fr_FR", "class=a xml:lang='fr' lang='fr'"])
def test_the_language_of_a_page_is_read_however_it_is_written(attribute: str) -> None:
    assert stated_language(f"<!doctype html><html {attribute} dir=ltr><head>").lower() in ("fr", "fr-fr")


def test_pages_before_tell_the_order_of_a_page_that_does_not() -> None:
    site = parser()

    pages = [read(site, date, lang="en") for date in ("05-04-2012 10:05", "29-04-2012 10:05", "05-04-2012 10:05")]

    assert [days(page) for page in pages] == [[None], ["2012-04-29"], ["2012-04-05"]]
    assert [bool(page.notes) for page in pages] == [True, False, False]


def test_a_site_file_that_names_the_order_is_obeyed_and_contradicted_aloud() -> None:
    site = parser("date_order: mdy")

    open_, plain, wrong = (
        read(site, *dates) for dates in (("05-04-2012",), ("04-29-2012",), ("05-04-2012", "29-04-2012"))
    )

    assert [days(page) for page in (open_, plain, wrong)] == [
        ["2012-05-04"],
        ["2012-04-29"],
        ["2012-04-05", "2012-04-29"],
    ]
    assert [page.notes for page in (open_, plain)] == [(), ()]
    assert wrong.notes == ("'29-04-2012' contradicts the order in date_order (mdy): all are read dmy, mend it",)


def test_dates_that_contradict_a_format_are_told_and_all_of_the_page_read_as_they_fit() -> None:
    site = parser(comments=formatted("'%m-%d-%Y %H:%M'"))

    usual = read(site, "05-04-2012 10:05", "05-28-2012 10:05")
    wrong = read(site, "05-04-2012 10:05", "06-04-2012 10:05", "29-04-2012 10:05")

    assert (days(usual), usual.notes) == (["2012-05-04", "2012-05-28"], ())
    assert days(wrong) == ["2012-04-05", "2012-04-06", "2012-04-29"]
    assert wrong.notes == (
        "dmy here contradicts the order of pages before, mdy: set date_order or format",
        "'29-04-2012 10:05' contradicts the order in format (mdy): all are read dmy, mend it",
    )


def test_a_page_of_both_orders_leaves_open_what_may_be_either() -> None:
    parsed = read(parser(), "29-04-2012", "04-28-2012", "05-04-2012")

    assert days(parsed) == ["2012-04-29", "2012-04-28", None]
    assert "dates of this page contradict each other, as '29-04-2012' (dmy) and '04-28-2012' (mdy)" in parsed.notes


def test_a_guess_by_language_that_a_later_page_refutes_is_told() -> None:
    site = parser()

    first, second = read(site, "05/04/2012", lang="fr"), read(site, "04/29/2012", lang="fr")

    assert (days(first), days(second)) == (["2012-04-05"], ["2012-04-29"])
    assert first.notes == ()
    assert [note for note in second.notes if "were read dmy by their language, and are mdy" in note]


def test_a_required_date_waits_for_the_dates_of_its_page() -> None:
    rule = REPLY.replace("created_at: .when", "created_at: {css: .when, required: true}")

    assert days(read(parser(comments=rule), "05-04-2012", "29-04-2012")) == ["2012-04-05", "2012-04-29"]


def test_a_format_with_the_day_right_behind_the_year_is_weighed_by_the_dates_of_its_page() -> None:
    site = parser(comments=formatted("'%Y-%d-%m %H:%M'"))

    right = read(site, "2012-05-04 10:05", "2012-28-04 10:05")
    wrong = read(site, "2012-10-12 10:05", "2012-11-29 10:05")

    assert (days(right), right.notes) == (["2012-04-05", "2012-04-28"], ())
    assert days(wrong) == ["2012-10-12", "2012-11-29"]
    assert [note for note in wrong.notes if "contradicts the order in format (ydm): all are read ymd" in note]


def test_formats_of_several_orders_are_each_for_the_dates_with_their_mark() -> None:
    site = parser(comments=formatted("['%d-%m-%Y %H:%M', '%m/%d/%Y %H:%M']"))

    parsed = read(site, "05-04-2012 10:05", "05/04/2012 10:05", "29-04-2012 10:05", "05/28/2012 10:05")

    assert days(parsed) == ["2012-04-05", "2012-05-04", "2012-04-29", "2012-05-28"]


def test_formats_of_several_orders_with_one_mark_are_tried_as_they_stand() -> None:
    site = parser(comments=formatted("['%d-%m-%Y %H:%M', '%m-%d-%Y %H:%M']"))

    parsed = read(site, "05-04-2012 10:05", "05-28-2012 10:05")

    assert (days(parsed), parsed.notes) == (["2012-04-05", "2012-05-28"], ())


def test_dates_with_the_year_first_are_iso_until_a_later_page_refutes_that_aloud() -> None:
    site = parser()

    first, second, third = (
        read(site, *dates) for dates in (("2012-05-04 10:05",), ("2012-05-04", "2012-28-04 10:05"), ("2012-05-04",))
    )

    assert [days(page) for page in (first, second, third)] == [
        ["2012-05-04"],
        ["2012-04-05", "2012-04-28"],
        ["2012-04-05"],
    ]
    assert (first.notes, third.notes) == ((), ())
    assert [note for note in second.notes if "were read ymd as ISO 8601, and are ydm: set date_order: ydm" in note]


def test_a_page_of_iso_dates_behind_a_page_with_the_day_before_the_month_says_so() -> None:
    site = parser()

    read(site, "2012-28-04 10:05")
    later = read(site, "2012-04-29 10:05")

    assert days(later) == ["2012-04-29"]
    assert [note for note in later.notes if "ymd here contradicts the order of pages before, ydm" in note]


def test_a_page_of_dates_with_the_year_first_in_two_orders_says_so() -> None:
    parsed = read(parser(), "2012-05-04", "2012-28-04", "2012-04-28")

    assert days(parsed)[2] == "2012-04-28"
    assert "dates of this page contradict each other, as '2012-28-04' (ydm) and '2012-04-28' (ymd)" in parsed.notes


def test_iso_dates_go_with_any_order_of_the_others() -> None:
    site = parser()
    read(site, "2012-05-04 10:05")

    parsed = read(site, "29-04-2012", "2012-05-04 10:05")

    assert (days(parsed), parsed.notes) == (["2012-04-29", "2012-05-04"], ())


def test_each_guess_that_was_used_is_told_once_it_is_refuted() -> None:
    site = parser()

    # The page between is guessed as well, and not by its language: its mark has no order there.
    read(site, "05/04/2012", lang="fr")
    read(site, "05-04-2012", lang="fr")
    refuted = read(site, "04/29/2012", lang="fr")

    assert [note for note in refuted.notes if "were read dmy by their language, and are mdy" in note]


def test_threads_that_read_pages_of_a_site_lose_no_guess() -> None:
    for _ in range(20):
        site = parser()
        with ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(read, site, f"05{mark}04{mark}2012", lang="fr") for mark in "/-" * 20]
        assert all(job.result() for job in jobs)

        assert [note for note in read(site, "04/29/2012", lang="fr").notes if "by their language" in note]


def test_a_format_with_the_month_behind_the_year_is_contradicted_aloud() -> None:
    parsed = read(parser(comments=formatted("'%Y-%m-%d %H:%M'")), "2012-05-04 10:05", "2012-28-04 10:05")

    assert days(parsed) == ["2012-04-05", "2012-04-28"]
    assert "'2012-28-04 10:05' contradicts the order in format (ymd): all are read ydm, mend it" in parsed.notes


def test_a_format_of_days_is_contradicted_by_dates_with_the_year_first() -> None:
    parsed = read(parser(comments=formatted("'%d-%m-%Y %H:%M'")), "2012-28-04 10:05")

    assert "'2012-28-04 10:05' contradicts the order in format (dmy): all are read ydm, mend it" in parsed.notes


@pytest.mark.parametrize(
    "date",
    ["5. siječnja 2023. 10:05", "5 ม.ค. 66", "5 órája", "20240305T084100Z", "13/45/2024 10:05", "2024-13-45 10:05"],
)
def test_dates_that_cannot_be_read_are_told_with_the_remedy(date: str) -> None:
    parsed = read(parser(), date, date, "2024-05-04 10:05")

    note = f"2 of 3 records have no created_at: no date is read in {date!r}: set format"
    assert (days(parsed), parsed.notes) == ([None, None, "2024-05-04"], (note,))


@pytest.mark.parametrize(
    "dates",
    [
        ("5 órája", "2024-05-04 10:05"),  # a few of many
        ("soon", "later"),
        ("", ""),
        ("0", "0000-00-00 00:00:00"),
        ("29-04-2012", "05-04-2012"),
    ],
)
def test_texts_without_figures_and_single_dates_that_cannot_be_read_are_no_news(dates: tuple[str, ...]) -> None:
    assert read(parser(), *dates).notes == ()


def test_a_date_that_another_rule_reads_is_no_loss() -> None:
    rule = REPLY.replace("created_at: .when", "created_at: {first_of: [.say, .when]}")

    page = read(parser(comments=rule), "2012-04-05 10:05", "2012-04-06 10:05")

    assert (days(page), page.notes) == (["2012-04-05", "2012-04-06"], ())


@pytest.mark.parametrize(
    ("spelling", "moment"),
    [
        ("16:14, {}", "16:14:00"),
        ("16:14,{}", "16:14:00"),
        ("16:14-{}", "16:14:00"),
        ("16:14:05,{}", "16:14:05"),
        ("4:14 PM,{}", "16:14:00"),
        ("4:14pm,{}", "16:14:00"),
        ("{}-08:00", "08:00:00"),
        ("{}:08:00", "08:00:00"),
        ("1614 {}", "00:00:00"),
    ],
)
def test_a_date_is_weighed_where_a_time_of_day_touches_it(spelling: str, moment: str) -> None:
    open_, plain = spelling.format("11/03/24"), spelling.format("29/03/24")

    alone, both = read(parser(), open_, "2024-05-04 10:05", lang="en"), read(parser(), plain, open_, lang="en")

    assert (days(alone)[0], ["left open" in note and open_ in note for note in alone.notes]) == (None, [True])
    assert days(both) == ["2024-03-29", "2024-03-11"]
    assert f"{datetime.fromtimestamp(both.items.comments[0].created_at or 0, UTC):%H:%M:%S}" == moment


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("R5.01.05 08:41", "2023-01-05"),
        ("R05-01-05", "2023-01-05"),
        ("R5/1/5", "2023-01-05"),
        ("Ｒ５.1.5(木) 08:41", "2023-01-05"),
        ("H30.4.5", "2018-04-05"),
        ("S63/1/5", "1988-01-05"),
        ("R5.13.05", None),
    ],
)
def test_the_letter_of_an_era_is_no_year_of_two_figures(date: str, day: str | None) -> None:
    parsed = read(parser(), date, date, lang="ja")

    assert days(parsed) == [day] * 2
    assert any(date in note and "no date is read" in note for note in parsed.notes) is (day is None)
