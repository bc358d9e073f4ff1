"""Links to further pages and those that look alike, and pages without any list of threads."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest

from crawl_tasks.discovery.html_rules.thread_list import _board_kinds
from crawl_tasks.discovery.probe.front_page import remedy_for
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.pagination_links import by_number, by_parameter, unread_page
from crawl_tasks.sites.loader import parse_site

HERE = "http://a.example/topics/7"


@pytest.mark.parametrize(
    ("link", "leads_on"),
    [
        ("/topics/7?page=2", True),
        ("/topics/7?page=2#page-2", True),
        ("/topics/7?page=1#post-4", False),
        ("/topics/7?before=c90", True),
        ("/topics/7?r=341#message-341", False),
        (f"/topics/7?s={'0a1b' * 8}", False),
        ("/topics/7?p=5#p5", False),
        ("/topics/7?go=next", False),
        ("/topics/7?c=forumlist", False),
        ("/topics/7?after=cm93Ojg", True),
        ("/topics/7?uid=4", False),
        ("/topics/7?desc=1", False),
        ("/topics/8?page=2", False),
    ],
)
def test_the_address_of_a_reply_is_no_further_page(link: str, leads_on: bool) -> None:
    assert any(by_parameter(_page(f"<a href='{link}'>link</a>"))) is leads_on


@pytest.mark.parametrize(
    ("here", "link", "text", "leads_on"),
    [
        ("/topics/7", "/topics/7/2", "2", True),
        ("/topics/7", "/topics/7/page/3", "[3]", True),
        ("/topics/7.html", "/topics/7-2.html", "2", True),
        ("/topics/7", "/topics/7/20", "2", True),
        ("/thread-7-1-1.html", "/thread-7-2-1.html", "2", True),
        ("/topics/7", "/topics/7/2", "#2", False),
        ("/topics/7", "/topics/72", "2", False),
        ("/topics/7", "/topics/8", "8", False),
        ("/topics/1", "/topics/2", "next", False),
        ("/topics/7", "/topics/7/1", "1", False),
    ],
)
def test_a_number_that_stands_in_the_address_too_is_a_further_page(
    here: str, link: str, text: str, leads_on: bool
) -> None:
    assert any(by_number(_page(f"<a href='{link}'>{text}</a>", here))) is leads_on


@pytest.mark.parametrize(
    ("body", "remedy"),
    [
        (
            "<h3>ann (2024/10/31 09:00:00)</h3><p>hello</p>" * 12,
            "12 dates stand on it; entries without pages",
        ),
        ("<a href=/post/7><img src=a.png></a>" * 11, "11 links are pictures without a title"),
        ("<p>Our bakery</p>", "give the address of its front page"),
    ],
)
def test_a_page_without_threads_is_told_a_remedy(body: str, remedy: str) -> None:
    assert remedy_for(_page(body)).startswith(remedy)


def _page(text: str, here: str = HERE) -> Document:
    body = text.encode()
    return Document(Fetched(urljoin(HERE, here), 200, {"content-type": "text/html"}, body, 0.0, 1, len(body)))


@pytest.mark.parametrize(
    ("link", "unread"), [("/board.php?b=qa&page=2", True), ("/board.php?b=qa&t=31", False), ("/list/9/2", False)]
)
def test_the_address_of_a_thread_is_no_further_page_of_its_board(link: str, unread: bool) -> None:
    site = parse_site(
        """
        name: qa
        base: http://a.example
        boards: [qa]
        list: {address: "/board.php?b={board}", record: li, fields: {post_id: a}, next: {css: i, attr: href, as: url}}
        post: {identity: '^/board\\.php\\?b=\\w+&t=(?P<post>\\d+)$', fields: {title: h1}}
        """,
        "qa.yaml",
    )
    request = Request("qa", Stage.LIST, "qa", "http://a.example/board.php?b=qa")
    html = f"<li><a href='{link}'>2</a></li>"
    document = _page(html, request.address)

    assert (unread_page(site, request, document) is not None) is unread


@pytest.mark.parametrize(
    ("pager", "unread"),
    [
        ("<a href='/t/12?cpage=1#c'>1</a> <b>2</b>", True),
        ("<a href='/t/12?cpage=1'>1</a> <a href='/t/12?cpage=2'>2</a> <b>3</b>", True),
        ("<a href='/t/12?cpage=1'>1</a> <b>7</b>", False),
        ("<a href='/t/13?cpage=1'>1</a> <b>2</b>", False),
        ("<a href='/t/12?cpage=1'>1</a> <a>2</a>", False),
        ("<a href='/t/12?cpage=1'>first</a> <b>1</b>", False),
        # The pager of the list below, at the page from which the link to the thread came.
        ("<a href='/t/12?list=1'>1</a> <b>2</b>", False),
    ],
)
def test_a_thread_that_opens_at_its_last_page_has_earlier_ones(pager: str, unread: bool) -> None:
    site = parse_site(
        """
        name: back
        base: http://a.example
        boards: [qa]
        list: {address: "/{board}", record: li, fields: {post_id: a}}
        post: {identity: '^/t/(?P<post>\\d+)$', fields: {title: h1}, next: {css: a.next, attr: href, as: url}}
        comment: {record: p, first_page: 2, fields: {comment_id: i}, next: {css: a.next, attr: href, as: url}}
        """,
        "back.yaml",
    )
    request = Request("back", Stage.POST, "12", "http://a.example/t/12?list=2")

    assert (unread_page(site, request, _page(f"<div>{pager}</div>", request.address)) is not None) is unread


def test_links_that_sort_or_turn_the_pages_of_a_list_are_no_boards() -> None:
    links = [
        *(f"/board?sort_index={name}&order=desc" for name in ("date", "hits")),
        *(f"/forum?page={at}" for at in (2, 3)),
        *(f"/list?id={at}&page=1" for at in (4, 5)),
    ]
    document = _page("".join(f"<p><a href='{link}'>Old lamps</a></p>" for link in links))

    assert [kind[0].shape for kind in _board_kinds(document)] == ["/list?id=#&page=#"]
