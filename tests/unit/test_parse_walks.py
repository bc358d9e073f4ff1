"""Walks over the pages of a thread or a board whose rule for the next page leads back to earlier pages."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from crawl_tasks.model import Parsed, Reach, Request, Stage
from crawl_tasks.parse.pagination import LEADS_BACK, named, walked, walked_page
from crawl_tasks.parse.site_parser import SiteParser, compile_parser
from crawl_tasks.sites.loader import parse_site
from tests.unit.pages import BASE, answer

SITE = rf"""
name: forum
base: {BASE}
list:
  address: '/b/{{board}}?page={{page}}'
  first_address: '/b/{{board}}'
  record: .row
  fields: {{post_id: {{attr: data-id}}, title: .t}}
  next: &next {{css: a.next, attr: href, as: url}}
post:
  identity: '^/t/(?P<post>\d+)$'
  fields: {{title: h1, body: '.m .say'}}
  comments: {{record: '.m ~ .m', fields: &reply {{comment_id: {{attr: data-id}}, author: .who, body: .say}}}}
  next: *next
comment: {{first_page: 2, record: .m, fields: *reply, next: *next}}
"""
SIZE = 3
WAYS = {
    "1-2-1-2": {1: 2, 2: 1},
    "1-2-3-2": {1: 2, 2: 3, 3: 2},
    "1-2-3-1": {1: 2, 2: 3, 3: 1},
    "twenty pages, and back to the seventh": {page: page + 1 for page in range(1, 20)} | {20: 7},
    "twenty pages, and back to the first": {page: page + 1 for page in range(1, 20)} | {20: 1},
    "two hundred pages, and back to the hundredth": {page: page + 1 for page in range(1, 200)} | {200: 100},
}


def thread_page(page: int, following: int | None) -> str:
    """Return a page of a thread, whose first record is the post. Each page has a link to the next, if there is one."""
    records = "".join(
        f"<div class=m data-id={page * SIZE + n}><b class=who>ann</b><p class=say>text {page} {n}</p></div>"
        for n in range(SIZE)
    )
    link = f'<a class=next href="/t/7?p={following}">on</a>' if following else ""
    return f"<h1>Lamps</h1>{records}{link}"


def number(request: Request) -> int:
    return int(request.address.partition("=")[2] or 1)


def walk_of(parser: SiteParser, way: dict[int, int], reach: Reach) -> list[tuple[Request, Parsed]]:
    """Follow the children of a thread's pages as a crawl does, and return all that was asked for."""
    waiting, asked = [Request("forum", Stage.POST, "7", f"{BASE}/t/7", reach=reach)], []
    while waiting and len(asked) < 1_000:
        request = waiting.pop()
        page = answer(request, thread_page(number(request), way.get(number(request))))
        parsed = parser.parse(request, page, 0)
        asked.append((request, parsed))
        waiting += [child for child in parsed.children if child.stage is Stage.COMMENT]
    return asked


@pytest.mark.parametrize("reach", [Reach(), Reach(whole="p1")], ids=["scan", "full pass"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_thread_whose_next_page_leads_back_ends_with_a_problem(way: dict[int, int], reach: Reach) -> None:
    asked = walk_of(compile_parser(parse_site(SITE, "forum.yaml")), way, reach)

    ids = [one.comment_id for _, parsed in asked for one in parsed.items.comments]
    assert {int(one) for one in ids} == set(range(SIZE + 1, (len(way) + 1) * SIZE))
    assert len(asked) <= 1.5 * len(way) + 1
    assert [note for note in asked[-1][1].notes if LEADS_BACK in note and f"{BASE}/t/7" in note]


def test_a_thread_that_ends_is_read_whole_without_a_word() -> None:
    asked = walk_of(compile_parser(parse_site(SITE, "forum.yaml")), {1: 2, 2: 3, 3: 4}, Reach())

    assert [number(request) for request, _ in asked] == [1, 2, 3, 4]
    assert all(parsed.notes == () for _, parsed in asked)


def test_a_page_with_one_reply_does_not_lead_back_to_a_page_without_replies() -> None:
    parser = compile_parser(parse_site(SITE, "forum.yaml"))
    reach = Reach(shown=walked(walked("", 2, named(())), 3, named(["8"])))
    request = Request("forum", Stage.COMMENT, "7", f"{BASE}/t/7?p=4", 4, reach=reach)
    body = "<h1>Lamps</h1><div class=m data-id=9><b class=who>ann</b><p class=say>x</p></div>"

    parsed = parser.parse(request, answer(request, body), 0)

    assert [one.comment_id for one in parsed.items.comments] == ["9"]
    assert parsed.notes == ()


@pytest.mark.parametrize("ways", [{1: 2, 2: 1}, {1: 2, 2: 3, 3: 2}])
def test_a_full_pass_over_a_board_that_leads_back_ends(ways: dict[int, int]) -> None:
    parser, asked = compile_parser(parse_site(SITE, "forum.yaml")), list[Request]()
    waiting: Sequence[Request] = [Request("forum", Stage.LIST, "1", f"{BASE}/b/1", reach=Reach(whole="p1"))]
    while waiting and len(asked) < 100:
        request = waiting[0]
        shown = int(request.address.partition("=")[2] or 1)
        # The forum answers each number as its wrong links count: page 3 is shown for page 4, say.
        page = 1
        for _ in range(shown - 1):
            page = ways[page]
        rows = "".join(f"<p class=row data-id={page * 10 + n}><b class=t>t</b></p>" for n in range(SIZE))
        link = f'<a class=next href="/b/1?page={shown + 1}">on</a>'
        parsed = parser.parse(request, answer(request, rows + link), 0)
        asked.append(request)
        waiting = [child for child in parsed.children if child.stage is Stage.LIST]

    assert len(asked) == len(ways) + 1
    assert LEADS_BACK in parsed.notes[0]


def test_the_memory_of_a_long_walk_is_small_and_knows_its_last_pages() -> None:
    marks = ""
    for page in range(1, 10_001):
        marks = walked(marks, page, f"{page:012x}")

    assert len(marks) < 450
    assert walked_page(marks, f"{9_995:012x}") == 9_995
    assert walked_page(marks, f"{8_192:012x}") == 8_192
