"""Each date and time format that forum programs offer, in their languages: read right, or left open with a note."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from crawl_tasks.model import Fetched, Stage
from crawl_tasks.parse.date_order import DateOrders
from crawl_tasks.parse.site_parser import SiteParser
from tests.unit.date_menus import LANGUAGES, MENUS, shown
from tests.unit.pages import LIST, POST, ask, site_parser

REPLY = """
  address: /comment/{post}/{page}
  record: .c
  fields: {comment_id: {attr: data-id}, author: .who, created_at: .when, body: .say}
"""
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
NOW = ("2026-06-17 20:30", "2026-12-12 20:30", "2026-03-05 20:30")
PARSERS: dict[str, SiteParser] = {}


def moments(now: datetime, *, many: bool) -> list[datetime]:
    """Return posts of today, yesterday, last week and last year at 7 and at 19, with `many` those of other days."""
    away = [0, 1, 7, 365, *(range(3, 330, 24) if many else ())]
    days = [now - timedelta(days=day) for day in away]
    return [day.replace(hour=hour, minute=at, second=0) for at, day in enumerate(days) for hour in (7, 19)]


def parser_of(zone: str) -> SiteParser:
    """Return the parser of a site in a zone, which has met no date yet."""
    if zone not in PARSERS:
        PARSERS[zone] = site_parser(head=f"timezone: {zone}", stages=(LIST, POST, REPLY))
    PARSERS[zone].date_orders = DateOrders(None)
    return PARSERS[zone]


def read(zone: str, lang: str, texts: list[str], now: datetime) -> tuple[list[int | None], tuple[str, ...]]:
    """Return the moments of the comments of a page, and its notes."""
    said = "".join(
        f"<div class=c data-id={at}><b class=who>a</b><i class=when>{escape(text)}</i><p class=say>x</p></div>"
        for at, text in enumerate(texts, 1)
    )
    page = f"<html lang='{lang}'><h1>T</h1><div class=body>words</div>{said}</html>"
    request = ask(Stage.COMMENT, "1", 2)
    fetched = Fetched(request.address, 200, {}, page.encode(), now.timestamp(), seen_at=1.0)
    parsed = parser_of(zone).parse(request, fetched, 0)
    return [one.created_at for one in parsed.items.comments], parsed.notes


def verdicts(menu: str, lang: str, *, many: bool) -> Iterator[tuple[str, str]]:
    """Yield for each date of each format "right", "open" or what is wrong, with its text."""
    dates, clocks, between = MENUS[menu]
    for at, (date, clock) in enumerate(product(dates, clocks)):
        zone = ZONES[at % len(ZONES)]
        now = datetime.fromisoformat(NOW[at // 3 % len(NOW)]).replace(tzinfo=ZoneInfo(zone))
        true = moments(now, many=many)
        texts = [shown(one, now, date, clock, between, LANGUAGES[lang]) for one in true]
        found, notes = read(zone, lang, texts, now)
        # ISO 8601 has the month behind the year: only a day above 12 tells that the day stands there.
        is_told = date != "Y-d-m" or any(one.day > 12 for one in true)
        for text, moment, value in zip(texts, true, found, strict=True):
            if value is None:
                yield "open" if notes else f"open without a note in {lang}", text
            elif is_told and abs(value - moment.timestamp()) >= 60:
                yield f"{datetime.fromtimestamp(value, UTC)} for {moment} in {lang}", text
            else:
                yield "right", text


def languages(menu: str, part: int) -> list[str]:
    """Return a third of the languages, for each menu another one."""
    return list(LANGUAGES)[(len(menu) + part) % 3 :: 3]


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("menu", MENUS)
def test_no_format_of_a_menu_is_read_wrong_on_a_page_of_few_dates(menu: str, part: int) -> None:
    found = [verdict for lang in languages(menu, part) for verdict in verdicts(menu, lang, many=False)]

    assert [(verdict, text) for verdict, text in found if verdict not in ("right", "open")] == []
    assert 2 * sum(verdict == "right" for verdict, _ in found) > len(found)


@pytest.mark.parametrize("menu", MENUS)
def test_all_formats_of_a_menu_are_read_on_a_page_of_many_dates(menu: str) -> None:
    found = [verdict for lang in languages(menu, 0) for verdict in verdicts(menu, lang, many=True)]

    assert [(verdict, text) for verdict, text in found if verdict != "right"] == []
