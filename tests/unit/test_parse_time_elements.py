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
        ("ÖS 5:52", "00:00"),
    ],
)
def test_the_time_of_the_text_goes_with_the_day_of_the_attribute(shown: str, time: str) -> None:
    request = ask(Stage.POST)
    element = f'<time datetime="2026-10-23">{shown}</time>'
    page = f"<html><h1>T</h1><div class=body>b</div><p class=at>{element}</p></html>"

    parsed = site_parser(stages=(LIST, OF_TIME, COMMENT)).parse(request, answer(request, page), 0)

    moment = parsed.items.posts[0].created_at
    assert moment is not None
    assert f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}" == f"2026-10-23 {time}"
