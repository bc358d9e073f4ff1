"""Elements `time` whose attribute has the day alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from crawl_tasks.model import Stage
from tests.unit.pages import COMMENT, LIST, answer, ask, site_parser

OF_TIME = """
  address: /post/{post}
  fields: {title: h1, body: .body, created_at: .at time}
"""


@pytest.mark.parametrize(
    ("shown", "time"),
    [
        ("23.10.2026 10:59", "10:59"),
        ("10:59", "10:59"),
        ("Oct 23, 2026 at 5:25 PM", "17:25"),
        ("23 October 2026", "00:00"),
        ("Oct 23rd, 5:25 in the afternoon", "17:25"),
        ("ÖS 5:52", "17:52"),
        ("10月23日 星期五 下午5:52", "17:52"),
        ("fredag kl. 5:52 em", "17:52"),
        ("BLAH 5:52", None),
    ],
)
def test_the_time_of_the_text_goes_with_the_day_of_the_attribute(shown: str, time: str | None) -> None:
    request = ask(Stage.POST)
    element = f'<time datetime="2026-10-23">{shown}</time>'
    page = f"<html><h1>T</h1><div class=body>b</div><p class=at>{element}</p></html>"

    parsed = site_parser(stages=(LIST, OF_TIME, COMMENT)).parse(request, answer(request, page), 0)

    moment = parsed.items.posts[0].created_at
    assert moment == (None if time is None else datetime.fromisoformat(f"2026-10-23 {time}+00:00").timestamp())


@pytest.mark.parametrize(
    ("shown", "time"),
    [
        ("2026-10-23 5:25:33 PM; edited 12 times", "17:25:33"),
        ("2026-10-23 5:25 de la tarde 2 veces", "17:25:00"),
        ("2026-10-23 5:25 wieczorem", "17:25:00"),
        ("2026-10-23 12:25 a Mario", "12:25:00"),
        ("2026-10-23 5:25 PM +0200 x", "15:25:00"),
        ("2026-10-23 15:25 GMT x", "15:25:00"),
        ("2026-10-23 5:25PMby ann", "17:25:00"),
        ("2026-10-23 05:25 Titel 7", "05:25:00"),
    ],
)
def test_a_regex_that_ends_at_a_time_cuts_off_no_half_of_the_day(shown: str, time: str) -> None:
    request = ask(Stage.POST)
    rule = OF_TIME.replace("created_at: .at time", r"created_at: {css: .at, regex: 'on (.*?\d:\d\d)'}")
    page = f"<html><h1>T</h1><div class=body>b</div><p class=at>on {shown}</p></html>"

    parsed = site_parser(stages=(LIST, rule, COMMENT)).parse(request, answer(request, page), 0)

    moment = parsed.items.posts[0].created_at
    assert moment is not None
    assert f"{datetime.fromtimestamp(moment, UTC):%H:%M:%S}" == time
