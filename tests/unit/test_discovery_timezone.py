"""The zone of a forum that does not name it: by clocks, by moments that are told twice, and what refutes it."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.probe.timezone import zone_by_times_ahead, zone_by_words
from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.timezone_by_ages import zone_by_ages
from crawl_tasks.model import Fetched, Items, Parsed, Post, Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.loader import parse_site
from tests.frontier.small_crawl import RULES

AT_S = 1_700_000_000.0
"""2023-11-14 22:13:20 UTC"""


def page(*times: str) -> Document:
    return Document(Fetched("http://forum.example/", 200, {}, "".join(times).encode(), AT_S))


@pytest.mark.parametrize(
    ("times", "name", "doubt"),
    [
        (["<span title='2023-11-15 06:08'>5 minutes ago</span>"], "Asia/Shanghai", "1 time told"),
        (["<span title='2023-11-15 06:08'>5 分钟前</span>"] * 2, "Asia/Shanghai", "2 times told"),
        (["<time datetime='2023-11-14T21:00:00Z'>2023-11-14 16:00</time>"], "Etc/GMT+5", "fit no other"),
        (
            ["<time datetime='2023-11-14T21:00:00+00:00' title='15.11.2023 02:30'>x</time>"],
            "Asia/Kolkata",
            "fit no other",
        ),
        (
            ["<time datetime='2023-11-14T21:00:00+00:00' title='15/11/2023 02:30'>x</time>"],
            "Asia/Kolkata",
            "fit no other",
        ),
        (["<time datetime='2023-11-10T21:00:00+00:00' title='11/11/2023 02:30'>x</time>"], "Asia/Kolkata", "1 time"),
        (["<time datetime='2023-11-10T21:00:00+00:00' title='10/11/2023 11:00'>x</time>"], "Etc/GMT+10", "1 time"),
        (["<time datetime='2023-11-10T21:00:00+00:00' title='2023-11-10 09:00'>x</time>"], None, ""),  # Etc/GMT+12
        (["<time datetime='2023-11-14T21:00:00+09:00'>23-11-14 21:00</time>"], "Etc/GMT-9", "fit no other"),
        (["<time datetime='2023-11-14T21:00:00Z'>2023-11-15 02:30</time>"], "Asia/Kolkata", "fit no other"),
        (
            [
                "<abbr title='2023-11-14 20:20'>3 hours ago</abbr>",
                "<abbr title='2023-11-14 22:53'>20 minutes ago</abbr>",
            ],
            "Etc/GMT-1",
            "fit no other",
        ),
        (["<abbr title='2023-11-14 20:20'>3 hours ago</abbr>"], "Etc/GMT-1", "check this"),
        (
            [
                "<time datetime='2023-11-14T21:00:00Z'>2023-11-14 22:00</time>",
                "<time datetime='2023-07-14T21:00:00Z'>2023-07-14 23:00</time>",
            ],
            "Europe/Berlin",
            "check this",
        ),
        (
            [
                "<time datetime='2023-11-14T21:00:00Z'>2023-11-14 22:00</time>",
                "<time datetime='2023-11-13T21:00:00Z'>2023-11-13 12:00</time>",
            ],
            None,
            "",
        ),
        (["<span title='2023-11-15 06:08'>in the club</span>", "<i>5 minutes ago</i>"], None, ""),
        (["<abbr title='2023-11-01 20:20'>2 weeks ago</abbr>"], None, ""),
    ],
)
def test_a_zone_is_where_both_times_are_one_moment(times: list[str], name: str | None, doubt: str) -> None:
    zone = zone_by_ages([page(*times)], language="zh-CN")

    assert (zone.name if zone else None) == name
    assert doubt in (zone.why if zone else "")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("It is currently Wed Nov 15, 2023 6:13 am", "Etc/GMT-8"),
        ("现在时间: 2023-11-15 06:13", "Etc/GMT-8"),
        ("Es ist jetzt 23:13 Uhr", "Etc/GMT-1"),
        ("The match is at 23:13", None),
        ("The time is now 22:13 Powered by a program", "UTC"),
        ("The time is now 10:13 Powered by a program", None),  # Etc/GMT+12, or a half of the day not shown
        ("The time is now 10:13 PM", "UTC"),
        ("The time is now 10:13 in the evening", "UTC"),
        ("现在时间: 2023-11-15 下午 06:13", "Etc/GMT+4"),
        ("The time is now Nov 14, 2023 10:13 am", "Etc/GMT+12"),
    ],
)
def test_a_clock_that_a_page_calls_one_tells_its_zone(words: str, name: str | None) -> None:
    zone = zone_by_words(words, AT_S)

    assert (zone.name if zone else None) == name


NOW_S = 1_790_000_000
SITE = parse_site(RULES + "boards: [1, 2, 3]\n", "demo.yaml")


def trial(board: int, newest_s: float) -> DryRun:
    request = Request("demo", Stage.LIST, str(board), f"http://f/list/{board}/1")
    page = Fetched(request.address, 200, {}, b"", float(NOW_S), seen_at=float(NOW_S))
    posts = [
        Post(f"{board}{at}", NOW_S, created_at=NOW_S - 90 * 86_400, last_reply_at=int(NOW_S + at))
        for at in (newest_s, newest_s - 7200, newest_s - 86_400)
    ]
    return DryRun(request, page, Parsed(Items("demo", posts=tuple(posts))))


@pytest.mark.parametrize(
    ("newest_s", "is_right"),
    [
        ((-60, -60, -60), True),
        ((-60, 540, 540), True),  # the forum's clock is fast
        ((-60, -60, 3000), True),  # one odd time
        ((3000, -86_400, -86_400), False),
        ((-60, 3000, 28_000), False),
        ((13 * 3600, -8000, -8000), False),
        ((20 * 3600, -8000, -8000), None),  # the date of an event
        ((-8000, -8000, -8000), None),
    ],
)
def test_a_time_to_come_refutes_the_zone(newest_s: tuple[float, ...], is_right: bool | None) -> None:
    checks = check_trials(SITE, [trial(board, at_s) for board, at_s in enumerate(newest_s, 1)])

    assert [one.holds for one in checks if one.name == "no time is ahead of its page"] == [is_right][
        : is_right is not None
    ]
    assert (is_right is not False) or any(str(one).endswith(" h east of timezone, or more") for one in checks)


@pytest.mark.parametrize(
    ("early_s", "language", "name"),
    [
        (28_000, "zh-CN", "Asia/Shanghai"),
        (28_900, "zh", None),  # east of China
        (10_000, "zh", None),  # most forums have a newer post
        (3500, "de", "Europe/Berlin"),
        (7000, "de", None),  # it is winter
        (28_000, "en", None),
        (28_000, "", None),
        (0, "zh", None),
    ],
)
def test_times_to_come_name_the_zone_of_a_language_where_they_are_as_far_ahead(
    early_s: float, language: str, name: str | None
) -> None:
    zone = zone_by_times_ahead(early_s, AT_S, language=language)

    assert (zone.name if zone else None) == name
