"""How far a walk over a board goes."""

from __future__ import annotations

import pytest

from crawl_tasks.frontier.entry import line_of, read_entry
from crawl_tasks.model import Parsed, Reach, Stage
from tests.unit.pages import BASE, COMMENT, LIST, answer, ask, site_parser

OLD, NEW = "2026-01-01", "2026-03-01"
SINCE = 1_769_904_000  # 2026-02-01
DATED = LIST.replace("reply_count: .n}", "reply_count: .n, last_reply_at: .at, created_at: .made}")
NEXT = "<a class=next href=x>next</a>"
CHAIN = "  next: .next"
FAN = "  walk: fan\n  pages: .pages"


def page_of(*dates: str, walk: str, reach: Reach, page: int = 1) -> Parsed:
    rows = "".join(
        f"<p class=row data-id={n}><b class=t>t</b><i class=at>{date}</i>" for n, date in enumerate(dates, 1)
    )
    post = "\n  address: '/post/{post}'\n  fields: {title: h1}\n  pages: .pages"
    parser = site_parser(stages=(DATED, post, COMMENT), listing=walk, post="")
    request = ask(Stage.LIST, page=page)._replace(reach=reach)
    return parser.parse(request, answer(request, f"{rows}<b class=pages>9</b>{NEXT}"), 0)


def led_to(parsed: Parsed) -> tuple[list[str], list[int]]:
    return (
        [child.key for child in parsed.children if child.stage is Stage.POST],
        [child.page for child in parsed.children if child.stage is Stage.LIST],
    )


@pytest.mark.parametrize(
    ("walk", "reach", "page", "dates", "entered", "following"),
    [
        (CHAIN, Reach(), 1, (NEW, OLD), ["1", "2"], [2]),
        (CHAIN, Reach(pages=1), 1, (NEW, OLD), ["1", "2"], []),
        (CHAIN, Reach(pages=3), 2, (NEW, OLD), ["1", "2"], [3]),
        (CHAIN, Reach(pages=3), 3, (NEW, OLD), ["1", "2"], []),
        (FAN, Reach(), 1, (NEW,), ["1"], [2, 3, 4, 5, 6, 7, 8, 9]),
        (FAN, Reach(pages=3), 1, (NEW,), ["1"], [2, 3]),
        (FAN, Reach(pages=3), 2, (NEW,), ["1"], []),
        (CHAIN, Reach(since=SINCE), 1, (NEW, OLD), ["1"], []),
        (CHAIN, Reach(since=SINCE), 1, (OLD, NEW), ["2"], [2]),
        (CHAIN, Reach(since=SINCE), 1, ("", ""), ["1", "2"], [2]),
        (CHAIN, Reach(since=SINCE), 1, (OLD, ""), ["2"], []),
        (FAN, Reach(since=SINCE), 1, (NEW, NEW), ["1", "2"], [2]),
        (FAN, Reach(since=SINCE), 8, (NEW, NEW), ["1", "2"], [9]),
        (FAN, Reach(since=SINCE), 9, (NEW, NEW), ["1", "2"], []),
        (FAN, Reach(pages=2, since=SINCE), 2, (NEW, NEW), ["1", "2"], []),
    ],
)
def test_a_walk_goes_as_far_as_its_reach(
    walk: str, reach: Reach, page: int, dates: tuple[str, ...], entered: list[str], following: list[int]
) -> None:
    parsed = page_of(*dates, walk=walk, reach=reach, page=page)

    assert led_to(parsed) == (entered, following)
    assert [post.post_id for post in parsed.items.posts] == entered
    assert all(child.reach._replace(shown="") == reach for child in parsed.children if child.stage is Stage.LIST)


def test_the_reach_of_a_request_stands_in_its_entry() -> None:
    request = ask(Stage.LIST)._replace(reach=Reach(3, SINCE))
    entry = "7 list 5 0 " + line_of(request).split(" ", 4)[4]

    assert read_entry("forum", entry.encode()) == (7, 0, request)


@pytest.mark.parametrize(
    ("key", "link", "page_two"),
    [
        ("1", "/topic-1-page-2.html", ["/topic-1-page-2.html"]),
        ("1", "/topic-1-2.html", ["/topic-1-2.html"]),
        ("1", "/topic-2.html", []),
        ("1", "/topic-12.html", []),
        ("old-lamp", "/topic-old-lamp-seite-2.html", ["/topic-old-lamp-seite-2.html"]),
        ("old-lamp", "/topic-old-lamp-2.html", []),
    ],
)
def test_a_next_link_with_the_page_behind_the_id_is_followed_and_one_to_another_thread_is_not(
    key: str, link: str, page_two: list[str]
) -> None:
    post = "\n  address: '/topic-{post}.html'\n  fields: {title: h1}\n  next: {css: .next, attr: href, as: url}"
    comment = COMMENT.replace("  address: /comment/{post}/{page}\n", "")
    parser = site_parser(stages=(LIST, post, comment), post="", comment="  next: .next\n  first_page: 2")
    request = ask(Stage.POST, key)._replace(address=f"{BASE}/topic-{key}.html")

    parsed = parser.parse(request, answer(request, f"<h1>a lamp</h1><a class=next href='{link}'>next</a>"), 0)

    assert [child.address.removeprefix(BASE) for child in parsed.children] == page_two
