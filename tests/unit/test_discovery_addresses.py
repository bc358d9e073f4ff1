"""Addresses of an unknown forum: the key among titles and other keys, and the way to the next page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import yaml

from crawl_tasks.discovery.html_rules.board_scan import BoardScan, beside_boards
from crawl_tasks.discovery.html_rules.list_rules import Listing, list_rules
from crawl_tasks.discovery.links.address_shape import acts, identity_of
from crawl_tasks.discovery.links.address_template import paged_template, template_of
from crawl_tasks.discovery.links.links import links_of
from crawl_tasks.discovery.records.next_page import GUESS, next_of
from crawl_tasks.discovery.records.repeated_records import find_rows, placed
from crawl_tasks.model import Fetched
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.rule_presets import usual_next


def page(html: str, path: str = "/") -> Document:
    return Document(Fetched(f"http://forum.example{path}", 200, {}, html.encode(), 1_700_000_000.0))


def list_of(paths: list[str]) -> str:
    return "".join(f"<li><h3><a href='{path}'>Words of {at}</a></h3></li>" for at, path in enumerate(paths))


@pytest.mark.parametrize(
    ("path", "key", "template"),
    [
        ("/subcategory/cat/", "cat", "/subcategory/{board}/"),
        ("/forum2/boards/2", "2", "/forum2/boards/{board}"),
        ("/f2/", "2", "/f{board}/"),
        ("/boards/2/22", "2", "/boards/{board}/22"),
        ("/news/news/", "news", "/news/{board}/"),
        ("/go.catalogue", "cat", "/go.{board}alogue"),
        ("/subcategory/", "a", "/subcategory/"),
        ("/about", "cat", "/about"),
        ("/{x}/7", "7", "/%7Bx%7D/{board}"),
    ],
)
def test_a_key_is_a_word_of_an_address_where_it_can_be(path: str, key: str, template: str) -> None:
    assert template_of(f"http://forum.example{path}", key, "board") == template


def test_page_two_has_its_key_where_page_one_has_it() -> None:
    first, second = (f"http://forum.example/subcategory/cat{end}" for end in ("", "?page=2"))

    assert paged_template(first, second, "cat", "board") == "/subcategory/{board}?page={page}"


@pytest.mark.parametrize(
    "path",
    [
        "/bbs/good.php?bo_table=qa&wr_id=5&good=nogood",
        "/bbs/memo_form.php?me_recv_mb_id=ann",
        "/newreply.php?do=newreply&p=5",
        "/index.php?action=delete&topic=3",
        "/index.php?x=1&vote=1",
        "/posts/5/like",
        "/vote?id=12&how=up",
        "/topic/12/?do=report",
        "/t/5?csrfKey=0a1b",
        "/index.php?mid=qa&act=procDocumentVoteUp&document_srl=5",
        "/discussion/bookmark/5",
        "/discussion/dismiss/5?TransientKey=0a1b",
        "/forum/3?mark=topics&hash=77aa",
        "/subscribe/12",
        "/index.php?action=pm&u=3",
        "/delete.asp?id=4",
    ],
)
def test_a_link_that_acts_is_none_to_a_thread(path: str) -> None:
    assert acts(path)
    assert not links_of(page(list_of([path])))


@pytest.mark.parametrize(
    "path",
    [
        "/board/vote/",
        "/forum/love/12",
        "/bbs/board.php?bo_table=good&wr_id=2",
        "/move/7",
        "/message.php?id=12",
        "/read.php?message=12",
        "/thread?hash=0a1b2c",
        "/mail/12",
        "/forum/report-cards-12/",
        "/thread/12-how-to-vote",
        "/f/writers-corner/t/9",
        "/showthread.php?tid=4&page=2",
        "/index.php?topic=12.0",
        "/read.php?3,12",
        "/forum.php?mod=viewthread&tid=7",
        "/topic/mark-the-date-91",
    ],
)
def test_boards_and_threads_do_not_act(path: str) -> None:
    assert not acts(path)


@pytest.mark.parametrize(
    ("paths", "shape", "keys"),
    [
        (["/c/general/4", "/c/help/15", "/c/off-topic/7"], "/c/~/#", ["4", "15", "7"]),
        (["/t/pedal/12", "/t/how-do-i-mend-it/9"], "/t/~/#", ["12", "9"]),
        (["/general-f4.html", "/off-topic-f7.html"], "/~-f#.html", ["4", "7"]),
        (["/r/x/comments/k3x9z2/old-lamp", "/r/x/comments/b7q1aa/rust"], "/r/x/comments/*/~", ["k3x9z2", "b7q1aa"]),
    ],
)
def test_a_title_beside_the_key_of_an_address_is_no_key(paths: list[str], shape: str, keys: list[str]) -> None:
    found = links_of(page(list_of(paths)))

    assert [link.key for link in found[shape]] == keys
    assert [m["id"] for path in paths if (m := re.search(identity_of(shape, "id"), path))] == keys


def test_the_name_of_a_board_before_the_number_of_a_thread_is_no_title() -> None:
    threads = list_of(["/forum/bikes/12", "/forum/garden/9"])

    found = links_of(page(f"<p><a href=/forum/bikes>Bikes</a> <a href=/forum/garden>Garden</a></p>{threads}"))

    assert "/forum/~/#" not in found


def test_a_key_that_differs_on_another_board_makes_no_template() -> None:
    rows = [
        find_rows(page(list_of([f"/topic.asp?TOPIC_ID={at}&FORUM_ID={board}" for at in (11, 17, 23)])))
        for board in (2, 5)
    ]
    first, second = (one for one in rows if one is not None)

    listing = Listing(page(""), first, further=(second,)).mapped(lambda link: replace(link, is_mixed=True))

    assert not first.titles[0].has_slug
    assert all(link.has_slug for link in listing.titles)


def test_the_day_when_a_thread_began_is_no_title_whatever_its_length() -> None:
    row = "<div><b><a href=/d/{0}>灯{0}</a></b><i><a href=/d/{0}>2026-10-19 16:1{0}</a></i></div>"

    rows = find_rows(page("".join(row.format(at) for at in range(1, 6))))

    assert rows is not None
    assert [link.text for link in rows.titles] == ["灯1", "灯2", "灯3", "灯4", "灯5"]


def test_links_where_boards_stand_are_boards_that_were_missed() -> None:
    boards = list_of(["/board-4/", "/board-7/", "/lounge/", "/members/", "https://elsewhere.example/"])
    front = page(f"<nav><a href=/rules/>Rules</a></nav><main><ul>{boards}</ul></main>")

    assert beside_boards(front, links_of(front)["/board-#/"]) == ["http://forum.example/lounge/"]


def test_rows_are_found_on_boards_without_a_list_of_sub_boards_too() -> None:
    row = "<li><a class=t href=/topic?id={0}>Words {0}</a> <small>{0} replies</small></li>"
    subs = "<ul><li><a href=/board?id=8>Old</a></li><li><a href=/board?id=9>New</a></li></ul>"
    pages = [
        page(f"<main>{first}<ul>{''.join(row.format(at) for at in range(some, some + 6))}</ul></main>")
        for first, some in ((subs, 10), ("", 30))
    ]
    rows = [rows for one in pages if (rows := find_rows(one, "/topic?id=#")) is not None]

    lines = list_rules(Listing(pages[0], rows[0], further=(rows[1],)), None, BoardScan(()), {}, {})

    record = next(line for line in lines if line.startswith("  record: ")).removeprefix("  record: ").strip("'")
    assert [len(one.root.css(record)) for one in pages] == [6, 6]


def test_rows_with_numbers_in_their_classes_are_of_one_kind() -> None:
    row = '<div class="cell from_{0} t_{0}"><p><a href=/t/{0}>Words {0}</a> <b>{0}</b></p></div>'
    newest = "<table><tr><td><a href=/board/7>Bikes</a></td><td><a href=/t/99>Newest</a></td></tr></table>"

    rows = find_rows(page(newest + "".join(row.format(at) for at in range(11, 16))))

    assert rows is not None
    assert [link.key for link in rows.titles] == ["11", "12", "13", "14", "15"]


def test_the_newest_threads_in_a_sidebar_are_no_rows_of_another_board() -> None:
    side = "".join(f"<li><a href=/t/{at}>The newest words of all {at}</a> <i>{at}</i></li>" for at in range(90, 95))
    row = "<p><a href=/t/{0}>Words {0}</a> <b>{0}</b></p>"
    one, other = (
        page(f"<main>{''.join(row.format(at) for at in ids)}</main><ul>{side}</ul>")
        for ids in (range(11, 19), range(31, 33))
    )
    rows = find_rows(one)
    assert rows is not None

    chrome = {placed(link) for link in links_of(one)["/t/#"]} - {placed(link) for link in rows.titles}
    found = find_rows(other, "/t/#", ignoring=chrome)

    assert found is not None
    assert [link.key for link in found.titles] == ["31", "32"]


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("/showthread.php?12-old-lamp", "<a href='/showthread.php?12-old-lamp/page2'>Next</a>"),
        ("/d/akw87d", "<a href='/d/akw87d/2'>更早的帖子</a>"),
        ("/t/old-lamp/12", "<a href='/t/old-lamp/12?page=2'>Vorwärts</a>"),
        ("/?thread-12.htm", "<a href='/?thread-12-2.htm'>▶</a>"),
        ("/index.php?m=bbs", "<a href='/index.php?page=2'>下一页</a>"),
    ],
)
def test_the_next_page_is_known_by_its_address_too(path: str, link: str) -> None:
    document = page(f"<p>words</p>{link}<a href='{path}/print'>Print</a>", path)

    found = next_of(document, "12")

    assert found is not None
    assert found.url == document.absolute(re.findall("href='(.*?)'", link)[0])


@pytest.mark.parametrize(
    ("html", "url"),
    [
        ("<a href='/d/12/old-lamp/p2'>Следующая ›</a>", "/d/12/old-lamp/p2"),
        ("<a href='/t/12?page=2'>Next »</a>", "/t/12?page=2"),
        ("<a href='/t/13'>Next</a> <a href='/t/11'>Older</a>", ""),
    ],
)
def test_a_pager_that_no_sample_page_had_is_known_by_word_and_address(html: str, url: str) -> None:
    rule = usual_next(yaml.safe_load(GUESS)["next"])
    paths = [one["xpath"] for one in rule["first_of"] if "xpath" in one]

    found = [page(html).xml.xpath(f"string({path}/@href)") for path in paths]

    assert found == [url]


def test_links_of_posts_to_their_own_page_are_no_next_page() -> None:
    document = page("<a href='/t/old?page=2'>Vorwärts</a>", "/t/old")
    later = page("<p><a href='/t/old?page=2#p7'>#7</a></p><a href='/t/old?page=3'>Vorwärts</a>", "/t/old?page=2")

    found = next_of(document, "old")

    assert found is not None
    css = yaml.safe_load(found.next)["next"]["css"]
    assert [node.attributes["href"] for node in later.root.css(css)] == ["/t/old?page=3"]


def test_links_that_sort_a_list_are_no_next_page() -> None:
    hits, more = "<a href='/t/old?by=hits&page=1'>Hits</a>", "<a href='/t/old?page=2'>Vorwärts</a>"

    found = [next_of(page(html, "/t/old"), "old") for html in (hits + more, more + hits)]

    assert [one is not None for one in found] == [False, True]


@pytest.mark.parametrize("label", ["<i>페이지</i>", ""])
def test_numbers_of_a_pager_may_have_words_for_screen_readers(label: str) -> None:
    cells = "".join(f"<a href='/t/old?page={at}'>{at}{label}</a> " for at in (2, 3))
    arrow = "<a class=pg_next href='/t/old?page=4'>다음</a>"
    document = page(f"<nav><i>열린</i><b>1</b>{label}{cells}{arrow}</nav>", "/t/old")

    found = next_of(document, "old")

    assert found is not None
    assert found.url == document.absolute("/t/old?page=2")
    path = yaml.safe_load(found.next)["next"]["xpath"]
    assert document.xml.xpath(f"string({path}/@href)") == "/t/old?page=2"


@pytest.mark.parametrize(
    ("arrow", "is_counted"),
    [("", True), ("<a href='/t/12?page=3'>&gt;</a>", True), ("<a href='/t/12?page=4'>다음</a>", False)],
)
def test_numbers_before_an_arrow_to_further_ones_are_no_count_of_pages(arrow: str, is_counted: bool) -> None:
    cells = "".join(f"<a class=n href='/t/12?page={at}'>{at}</a> " for at in (2, 3))
    document = page(f"<nav><b>1</b> {cells}{arrow}</nav>", "/t/12")

    found = next_of(document, "12")

    assert found is not None
    assert (found.line(has_template=True)[:6] == "pages:") is is_counted


def test_a_link_to_itself_or_to_a_form_is_no_next_page() -> None:
    document = page("<a href='/d/akw87d'>here</a><a href='/d/akw87d/reply'>Reply</a>", "/d/akw87d")

    assert next_of(document, "akw87d") is None


@pytest.mark.parametrize(
    ("first", "following", "template"),
    [
        ("/forum.php?id=2", "/forum.php?p=2&id=2", "/forum.php?p={page}&id={board}"),
        ("/forum.php?id=2", "/forum.php?id=2&p=2", "/forum.php?id={board}&p={page}"),
        ("/forum-2-1.html", "/forum-2-2.html", "/forum-{board}-{page}.html"),
        ("/forum.php?id=2", "/forum.php?start=20&id=2", "/forum.php?start={offset:20}&id={board}"),
    ],
)
def test_the_number_of_page_2_is_not_that_of_board_2(first: str, following: str, template: str) -> None:
    assert paged_template(first, following, "2", "board") == template


def test_scripts_with_a_query_are_kinds_of_pages() -> None:
    html = "".join(
        f"<p><a href='/a1b_c/forum_view{kind}.php?id={at}'>x</a></p>" for kind in ("forum", "topic") for at in (1, 2)
    )

    assert sorted(links_of(page(html))) == [f"/a1b_c/forum_view{kind}.php?id=#" for kind in ("forum", "topic")]


def test_a_parameter_of_the_second_page_that_counts_nothing_is_no_page_number() -> None:
    template = paged_template("/?forum-1.htm", "/?forum-1-2.htm&orderby=lastpid&digest=0", "1", "board")

    assert template == "/?forum-{board}-{page}.htm&orderby=lastpid&digest=0"
