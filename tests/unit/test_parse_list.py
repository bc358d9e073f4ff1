"""List pages: rows, revisions, and which pages follow."""

from __future__ import annotations

import pytest

from crawl_tasks.errors import AccessDenied, Gone, ParseError
from crawl_tasks.model import Forum, Stage
from crawl_tasks.parse.context import tidy
from tests.unit.pages import BASE, COMMENT, LIST, POST, answer, ask, site_parser

POST_BY_QUERY = POST.replace("/post/{post}\n", "/view?tid={post}\n  identity: '^/view\\?(?:.*&)?tid=(?P<post>\\d+)'\n")


def rows(*ids: object, more: str = "") -> str:
    return (
        "".join(f'<li class=row data-id="{one}"><a class=t>T{one}</a><b class=n>{one}</b></li>' for one in ids) + more
    )


def test_rows_become_posts_and_requests() -> None:
    request = ask(Stage.LIST, "9")

    parsed = site_parser(listing="  title: h1").parse(request, answer(request, "<h1>Board</h1>" + rows(7, 8)), 0)

    assert [(post.post_id, post.forum_id, post.title, post.reply_count, post.url) for post in parsed.items.posts] == [
        ("7", "9", "T7", 7, "https://forum.example/post/7"), ("8", "9", "T8", 8, "https://forum.example/post/8"),
    ]  # fmt: skip
    assert parsed.items.forums == (Forum("9", "Board", "https://forum.example/list/9/1"),)
    assert [(one.stage, one.key, one.page, one.revision, one.only_if_new) for one in parsed.children] == [
        (Stage.POST, "7", 1, "7", False), (Stage.POST, "8", 1, "8", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("charset", "query"),
    [("gbk", "%BB%D8%B8%B4"), ("utf-8", "%E5%9B%9E%E5%A4%8D"), ("big5", "%A6%5E%CE%60")],
)
def test_a_query_is_written_in_the_charset_of_its_page(charset: str, query: str) -> None:
    parser = site_parser(
        stages=(LIST.replace("title: .t", "title: .t, url: {css: .t, attr: href}"), POST_BY_QUERY, COMMENT)
    )
    request = ask(Stage.LIST)
    row = '<li class=row data-id=7><a class=t href="/view?kind=回复&tid=7">T</a><b class=n>1</b></li>'
    page = answer(request, f"<meta charset={charset}>{row}".encode(charset, "xmlcharrefreplace"))

    parsed = parser.parse(request, page._replace(headers={}), 0)

    assert [child.address for child in parsed.children] == [f"https://forum.example/view?kind={query}&tid=7"]


def test_a_list_that_broke_off_is_told() -> None:
    request, parser = ask(Stage.LIST), site_parser()

    whole = parser.parse(request, answer(request, rows(7, 8) + "</body></html>"), 0)
    cut = parser.parse(request, answer(request, rows(7)), 0)

    assert (whole.notes, whole.broke_off) == ((), "")
    assert cut.notes == (cut.broke_off,) != ("",)


def test_a_thread_that_stands_twice_on_a_page_is_taken_once() -> None:
    request = ask(Stage.LIST)

    parsed = site_parser().parse(request, answer(request, rows(7, 8, 7, 7)), 0)

    assert [post.post_id for post in parsed.items.posts] == ["7", "8"]
    assert (len(parsed.children), parsed.notes) == (2, ())


def test_rows_without_an_id_are_left_out_and_remarked_upon() -> None:
    request = ask(Stage.LIST)

    parsed = site_parser().parse(request, answer(request, rows(7) + "<li class=row>advert</li>"), 0)

    assert [post.post_id for post in parsed.items.posts] == ["7"]
    assert parsed.notes == ("1 of 2 records without post_id were left out",)


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (("7", "a b", "c d"), "2 of 3 {} holds a blank (the first: 'a b')"),
        (("7", "a&#27;b"), "1 of 2 {} holds a control character (the first: 'a\\x1bb')"),
        (("7", "-" * 201), f"1 of 2 {{}} is longer than 200 characters (the first: '{'-' * 40}')"),
        (("7", "9" * 201), f"1 of 2 {{}} is longer than 200 characters (the first: '{'9' * 40}')"),
    ],
)
def test_rows_whose_id_is_odd_are_left_out_and_remarked_upon_with_the_first(ids: tuple[str, ...], why: str) -> None:
    request = ask(Stage.LIST)

    parsed = site_parser().parse(request, answer(request, rows(*ids)), 0)

    assert [post.post_id for post in parsed.items.posts] == ["7"]
    assert parsed.notes == (why.format("records were left out: their post_id"),)


def test_a_page_of_odd_ids_alone_is_an_error_that_says_why() -> None:
    request = ask(Stage.LIST)

    with pytest.raises(ParseError, match=r"post_id found in none of 2 records, .*holds a blank \(the first: 'a b'\)"):
        site_parser().parse(request, answer(request, rows("a b", "c d")), 0)


def test_rows_of_one_id_that_contradict_each_other_are_remarked_upon() -> None:
    request = ask(Stage.LIST)
    body = "".join(f"<li class=row data-id=7><a class=t>T{one}</a></li>" for one in "1123")

    parsed = site_parser().parse(request, answer(request, body), 0)

    assert [post.title for post in parsed.items.posts] == ["T1"]
    assert parsed.notes == (
        "2 of 4 records were left out: their post_id is that of a record before, of another title (the first: '7')",
    )


def test_rows_that_lead_nowhere_are_remarked_upon() -> None:
    listing = LIST.replace("title: .t", "title: .t, url: {css: a, attr: href}")
    parser = site_parser(listing="", post="", comment="", stages=(listing, "\n  fields: {title: h1}\n", COMMENT))
    request = ask(Stage.LIST)
    body = (
        rows(7).replace("<a ", "<i ") + '<li class=row data-id=8><a class=t href="/view?8">T</a><b class=n>8</b></li>'
    )

    parsed = parser.parse(request, answer(request, body), 0)

    assert [child.key for child in parsed.children] == ["8"]
    assert parsed.notes == ("1 of 2 posts have no address (the first: '7')",)


def test_a_row_may_name_a_board_of_its_own() -> None:
    request = ask(Stage.LIST, "9")
    listing = LIST.replace("title: .t", "title: .t, forum_id: {attr: data-board}")

    parsed = site_parser(stages=(listing, POST, COMMENT)).parse(
        request, answer(request, rows(7) + '<li class=row data-id="8" data-board="3">'), 0
    )

    assert [(post.post_id, post.forum_id) for post in parsed.items.posts] == [("7", "9"), ("8", "3")]


@pytest.mark.parametrize(
    ("listing", "page", "more", "follows"),
    [
        ("  next: .next", 1, "<a class=next>", [(2, True)]),
        ("  next: .next", 5, "<a class=next>", [(6, True)]),
        ("  next: .next", 5, "", []),
        ("  next: .next\n  max_pages: 5", 5, "<a class=next>", []),
        ("  pages: .pages", 2, "<b class=pages>3", [(3, True)]),
        ("  pages: .pages", 3, "<b class=pages>3", []),
        ("  pages: .pages", 1, "", []),
        (
            "  pages: {css: '.p a', all: true}",
            1,
            "<p class=p><a>1</a><a>2</a><a>…</a><a>15</a><a>next</a>",
            [(2, True)],
        ),
        ("  pages: .pages\n  walk: fan", 1, "<b class=pages>共 4 页", [(2, False), (3, False), (4, False)]),
        ("  pages: .pages\n  walk: fan\n  max_pages: 2", 1, "<b class=pages>4", [(2, False)]),
        ("  pages: .pages\n  walk: fan", 2, "<b class=pages>4", []),
        ("  total: .sum\n  per_page: 20\n  walk: fan", 1, "<b class=sum>41 threads", [(2, False), (3, False)]),
        ("  total: .sum\n  per_page: 20\n  walk: fan", 1, "<b class=sum>40", [(2, False)]),
        ("  total: .sum\n  per_page: 20\n  walk: fan", 1, "<b class=sum>0", []),
        ("", 1, "", []),
        # A pager of ten numbers has an arrow to the eleventh page.
        ("  next: .next", 5, "<a href='/list/1/6'>>>", [(6, True)]),
        ("  pages: .pages", 5, '<b class=pages>5</b><a href="https://forum.example/list/1/6#top">on', [(6, True)]),
        ("  next: .next", 5, "<a href='/list/1/60'>last</a> <a href='/list/1/4'>back</a>", []),
        ("  next: .next", 5, "<a href='/list/2/6'>next board</a> <p title='/list/1/6'>", []),
        ("  next: .next\n  max_pages: 5", 5, "<a href='/list/1/6'>>>", []),
        ("  next: .next", 5, "<li class=disabled><a href='/list/1/6'>>></a>", []),
        ("  next: .next", 5, "<a href='/list/1/6' aria-disabled=true>>></a>", []),
        ("  next: .next", 5, "/list/1/6" * 300 + "<a href='/list/1/6'>>></a>", []),
        ("", 1, "<a href='/list/1/2'>>>", []),
    ],
)
def test_the_next_pages_are_those_the_page_tells_of(
    listing: str, page: int, more: str, follows: list[tuple[int, bool]]
) -> None:
    request = ask(Stage.LIST, page=page)

    parsed = site_parser(listing=listing).parse(request, answer(request, rows(7) + more), 0)

    assert [(one.page, one.only_if_new) for one in parsed.children if one.stage is Stage.LIST] == follows
    assert parsed.extent == ("single" if page == 1 and not follows else "")


@pytest.mark.parametrize(("page", "follows"), [(1, [2]), (9, [])])
def test_an_arrow_to_the_last_page_leads_nowhere_from_there(page: int, follows: list[int]) -> None:
    parser = site_parser(listing="  next: {css: .next, attr: href, as: url}")
    request = ask(Stage.LIST, page=page)

    parsed = parser.parse(request, answer(request, rows(7, more="<a class=next href=/list/1/9>last</a>")), 0)

    assert [one.page for one in parsed.children if one.stage is Stage.LIST] == follows


def test_a_further_page_beyond_the_most_is_told() -> None:
    request = ask(Stage.LIST, page=5)
    page = answer(request, rows(7, more="<a href='/list/1/6'>>>"))

    cut = [site_parser(listing=f"  next: .next\n  max_pages: {most}").parse(request, page, 0).is_cut for most in (5, 6)]

    assert cut == [True, False]


@pytest.mark.parametrize("href", ["?f=1&amp;start=50", "./list.php?f=1&start=50", "/list.php?f=1&amp;start=50"])
def test_a_link_to_the_next_page_is_found_however_it_is_written(href: str) -> None:
    lists = LIST.replace("address: /list/{board}/{page}", "address: '/list.php?f={board}&start={offset:25}'")
    request = ask(Stage.LIST, page=2)._replace(address=f"{BASE}/list.php?f=1&start=25")
    parser = site_parser(listing="  next: .next", stages=(lists, POST, COMMENT))

    parsed = parser.parse(request, answer(request, rows(7, more=f'<a href="{href}">on</a>')), 0)

    assert [one.page for one in parsed.children if one.stage is Stage.LIST] == [3]


def test_the_next_page_keeps_the_scan_it_belongs_to_and_comes_last() -> None:
    request = ask(Stage.LIST, revision="scan-7", priority=8)

    children = site_parser().parse(request, answer(request, rows(7, more="<a class=next>")), 0).children

    assert (children[-1].stage, children[-1].revision, children[-1].priority) == (Stage.LIST, "scan-7", 8)
    assert children[-1].address == "https://forum.example/list/1/2"


def test_children_are_raised_and_lowered_as_their_list_was() -> None:
    parser = site_parser(head="priority: {list: 4, post: 6}")

    ranks = [
        parser.parse(request, answer(request, rows(7)), 0).children[0].priority
        for request in (ask(Stage.LIST, priority=priority) for priority in (4, 7, 0, 9))
    ]

    assert ranks == [6, 9, 0, 9]  # 0 is backfill


def test_a_redirect_to_another_page_ends_the_walk() -> None:
    request = ask(Stage.LIST, page=9)
    page = answer(request, rows(7, more="<a class=next>"), url="https://forum.example/list/1/4")

    parsed = site_parser().parse(request, page, 0)

    assert [one.stage for one in parsed.children] == [Stage.POST]
    assert parsed.notes == ("asked for page 9, was sent to page 4: the list ends here",)


@pytest.mark.parametrize(
    ("body", "listing"),
    [
        ("<p class=none>No posts", "  empty: .none"),
        ("<a class=next>", "  next: .next"),
        ("<b class=pages>3", "  pages: .pages"),
        ("<li class='row none'>No posts", "  empty: .none"),
    ],
)
def test_no_rows_are_fine_where_the_page_shows_that_it_is_a_list(body: str, listing: str) -> None:
    request = ask(Stage.LIST)

    assert site_parser(listing=listing).parse(request, answer(request, body), 0).items.posts == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<p>another page", "no rows, no pager and not marked as empty"),
        ("", "no rows"),
        ("<li class=row><li class=row>", "post_id found in none of 2 records"),
        ("<li class='row none'><li class=row>", "post_id found in none of 2 records"),
        ("<li class='row none'><a href=/post/7>Old lamp</a>", "post_id found in none of 1 records"),
        ("<li class=row>No posts", "post_id found in none of 1 records"),
    ],
)
def test_a_page_that_is_no_list_is_a_parse_error_with_site_stage_and_address(body: str, said: str) -> None:
    request = ask(Stage.LIST)

    with pytest.raises(ParseError, match=said) as caught:
        site_parser(listing="  empty: .none").parse(request, answer(request, body), 0)

    assert str(caught.value).startswith("forum: list: ")
    assert request.address in str(caught.value)


def test_of_more_rows_than_any_forum_shows_the_first_are_taken_and_the_cut_is_told() -> None:
    request = ask(Stage.LIST)
    whole = request._replace(reach=request.reach._replace(whole=1))

    parsed = site_parser().parse(request, answer(request, rows(*range(5001))), 0)
    passed = site_parser().parse(whole, answer(whole, rows(*range(5001))), 0)

    assert [post.post_id for post in parsed.items.posts] == [str(n) for n in range(5000)]
    assert parsed.is_cut
    assert "5001 records on one page: only the first 5000 are taken; is record right?" in parsed.notes
    assert passed.items.passes == ()  # or the posts that were cut would count as deleted


@pytest.mark.parametrize(("more", "is_over"), [("", True), ("<a class=next>", False)])
def test_a_full_pass_is_over_with_the_last_page_of_a_board(more: str, is_over: bool) -> None:
    request = ask(Stage.LIST, page=2)
    whole = request._replace(reach=request.reach._replace(whole="7", read_from=1))

    passes = [site_parser().parse(one, answer(one, rows(7, more=more)), 0).items.passes for one in (request, whole)]

    assert [len(one) for one in passes] == [0, int(is_over)]


def test_a_required_field_that_is_missing_in_one_row_is_an_error() -> None:
    listing = LIST.replace("title: .t", "title: {css: .t, required: true}")
    parser = site_parser(stages=(listing, POST, COMMENT))
    request = ask(Stage.LIST)

    with pytest.raises(ParseError, match="required title is missing in record 2"):
        parser.parse(request, answer(request, rows(7) + "<li class=row data-id=8>"), 0)


def test_a_field_that_no_row_has_is_remarked_upon() -> None:
    request = ask(Stage.LIST)
    body = "".join(f"<li class=row data-id={one}><b class=n>1</b>" for one in range(3))

    assert site_parser().parse(request, answer(request, body), 0).notes == ("list.title: found in none of 3 records",)


@pytest.mark.parametrize(
    ("rule", "raised"),
    [("gone_when", Gone), ("login_when", AccessDenied)],
)
def test_a_wall_is_told_from_a_list(rule: str, raised: type[Exception]) -> None:
    parser = site_parser(listing=f"  {rule}: {{css: .wall, regex: please}}")
    request = ask(Stage.LIST)

    with pytest.raises(raised, match=rule):
        parser.parse(request, answer(request, "<p class=wall>please"), 0)
    assert parser.parse(request, answer(request, rows(7) + "<p class=wall>welcome"), 0).items.posts


REVISIONS = """
  address: /list/{board}/{page}
  record: .row
  fields: {post_id: {attr: data-id}, reply_count: .n, last_reply_at: .last}
  revision: [reply_count, last_reply_at, {css: .mark, attr: title}]
"""


@pytest.mark.parametrize(
    ("row", "revision"),
    [
        ("<b class=n>1,234</b><i class=last>2024-06-19</i><u class=mark title=e2>", "1234|2024-06-19|e2"),
        ("<b class=n>7</b>", "7||"),
        ("<b class=n>7</b><i class=last>3 小时前</i>", "7||"),
        ("<i class=last>yesterday at 3:05</i>", "||"),
        ("<time class=last datetime=2024-06-19T10:00:05Z>3 hours ago</time>", "|2024-06-19T10:00:05Z|"),
        ("<time class=last datetime=2024-06-19T10:00:05Z>06/19</time>", "|2024-06-19T10:00:05Z|"),
        ("<time class=last datetime='3 hours ago'>2024-06-19</time>", "|2024-06-19|"),
        ("<time class=last datetime=soon>06-19</time>", "|06-19|"),
        ("<time class=last datetime='today at 3:05'>3 hours ago</time>", "||"),
    ],
)
def test_a_revision_holds_only_what_stands_still(row: str, revision: str) -> None:
    parser = site_parser(listing="", stages=(REVISIONS, POST, COMMENT))
    request = ask(Stage.LIST)

    found = parser.parse(request, answer(request, f"<li class=row data-id=7>{row}</li>"), 0).items.posts[0].revision

    assert found == revision


@pytest.mark.parametrize(
    ("rule", "row", "part"),
    [
        ("{css: .at, attr: title}", "<i class=at title='2024-06-19 10:00'>3 hours ago</i>", "2024-06-19 10:00"),
        (
            "{first_of: [{css: '.at[title]', attr: title}, .at]}",
            "<i class=at title='2024-06-19 10:00'>3 hours ago</i>",
            "2024-06-19 10:00",
        ),
        ("{first_of: [.none, .at]}", "<time class=at datetime=2024-06-19T10:00:05Z>now</time>", "2024-06-19T10:00:05Z"),
        ("{css: .at, regex: '^by (.+)'}", "<i class=at>by 2024-06-19</i>", "2024-06-19"),
        ("{css: .at, format: ['%d/%m/%Y']}", "<i class=at>19/06/2024</i>", "19/06/2024"),
        ("{css: .at, as: date}", "<i class=at>19 lipca</i>", "19 lipca"),
    ],
)
def test_a_date_in_a_revision_is_the_text_it_is_read_from(rule: str, row: str, part: str) -> None:
    listing = REVISIONS.replace("last_reply_at: .last", f"last_reply_at: {rule}")
    parser = site_parser(listing="", stages=(listing, POST, COMMENT))
    request = ask(Stage.LIST)

    found = parser.parse(request, answer(request, f"<li class=row data-id=7>{row}</li>"), 0).items.posts[0].revision

    assert found in (f"|{part}|", tidy(f"|{part}|"))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("vor 3 Stunden", ""),
        ("Gestern, 10:02", ""),
        ("Heute um 10:02 Uhr", ""),
        ("19. Juni 2024, 10:02 Uhr", "19. Juni 2024, 10:02 Uhr"),
        ("2024-06-19 10:02", "2024-06-19 10:02"),
    ],
)
def test_words_that_count_from_now_in_a_language_of_the_site_are_no_sign(text: str, part: str) -> None:
    parser = site_parser(listing="", stages=(REVISIONS, POST, COMMENT), head="languages: [de]")
    request = ask(Stage.LIST)

    found = parser.parse(request, answer(request, f"<li class=row data-id=7><i class=last>{text}</i></li>"), 0)

    assert found.children[0].revision == tidy(f"|{part}|")


def test_a_bumped_edit_is_seen_though_the_page_says_when_in_words() -> None:
    parser = site_parser(listing="", stages=(REVISIONS, POST, COMMENT))
    request = ask(Stage.LIST)
    row = "<li class=row data-id=7><b class=n>7</b><time class=last datetime={}>{}</time></li>"
    looks = [("2024-06-19T10:00:05Z", "3 hours ago"), ("2024-06-19T10:00:05Z", "4 hours ago")]
    looks.append(("2024-06-19T14:00:00Z", "3 hours ago"))

    pages = [answer(request, row.format(*look)) for look in looks]
    first, later, bumped = (parser.parse(request, page, 0).children[0].revision for page in pages)

    assert first == later != bumped


def test_a_rule_of_a_date_in_a_revision_is_no_moment_that_moves_with_the_clock() -> None:
    listing = REVISIONS.replace("last_reply_at, {css: .mark, attr: title}", "{css: .last, as: date}")
    parser = site_parser(listing="", stages=(listing, POST, COMMENT))
    request = ask(Stage.LIST)

    found = parser.parse(request, answer(request, "<li class=row data-id=7><i class=last>3 hours ago"), 0)

    assert found.children[0].revision == "|"


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("<i class=last>{} hours ago</i>", "its text counts from now (the first: '7 hours ago')"),
        ("<i>{}</i>", "nothing was found"),
    ],
)
def test_a_part_of_the_revision_that_no_row_has_is_remarked_upon(cell: str, why: str) -> None:
    parser = site_parser(listing="", stages=(REVISIONS, POST, COMMENT))
    request = ask(Stage.LIST)
    lines = [f"<li class=row data-id={one}><b class=n>{one}</b>{cell.format(one)}</li>" for one in (7, 8, 9)]
    marked = "<u class=mark title=e2>"

    full = parser.parse(request, answer(request, "".join(lines) + marked), 0)
    few = parser.parse(request, answer(request, "".join(lines[:2])), 0)

    assert full.notes == (
        f"list.revision: last_reply_at is empty in all of 3 records: {why}",
        "list.revision: .mark is empty in all of 3 records: nothing was found",
    )
    assert few.notes == ()


def test_an_odd_or_long_revision_is_kept_as_its_hash() -> None:
    parser = site_parser(listing="", stages=(REVISIONS, POST, COMMENT))
    request = ask(Stage.LIST)
    body = "".join(f"<li class=row data-id={n}><i class=last>Jun 19, 202{n}</i></li>" for n in (3, 4))

    found = [post.revision or "" for post in parser.parse(request, answer(request, body), 0).items.posts]

    assert all(len(one) == 16 and one.isalnum() for one in found)
    assert found[0] != found[1]


def test_posts_are_found_by_link_where_the_site_file_has_no_template() -> None:
    listing = """
  address: /list/{board}/{page}
  record: .row
  fields: {post_id: {attr: data-id}, url: {css: a, attr: href}}
"""
    post = "\n  fields: {title: h1}\n"
    parser = site_parser(listing="", post="", comment="", stages=(listing, post, COMMENT))
    request = ask(Stage.LIST)

    found = parser.parse(request, answer(request, "<li class=row data-id=7><a href='../../t/Über?x#y'>"), 0)

    assert found.children[0].address == "https://forum.example/t/%C3%9Cber?x"


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("/t/words/", "https://forum.example/t/words/"),
        ("/post/7?from=list", "https://forum.example/post/7?from=list"),
        ("/post/8", "https://forum.example/post/7"),
        ("/list/1/2", "https://forum.example/post/7"),
        ("https://elsewhere.example/t/words/", "https://forum.example/post/7"),
    ],
)
def test_a_row_s_own_link_is_taken_unless_it_names_something_else(href: str, address: str) -> None:
    listing = LIST.replace("title: .t", "title: .t, url: {css: a, attr: href}")
    parser = site_parser(stages=(listing, POST, COMMENT))
    request = ask(Stage.LIST)

    found = parser.parse(request, answer(request, f"<li class=row data-id=7><a href='{href}'>T</a>"), 0)

    assert found.children[0].address == address


@pytest.mark.parametrize(
    ("path", "board"), [("/list/9/1", "9"), ("/list/7/1", "7"), ("/list/4711/1", "7"), ("/", "7"), ("/post/9", "7")]
)
def test_the_threads_of_a_board_that_leads_to_another_are_that_boards(path: str, board: str) -> None:
    parser = site_parser(head="boards: [7, 9]")
    request = ask(Stage.LIST, "7")

    parsed = parser.parse(request, answer(request, rows(4), url=f"https://forum.example{path}"), 0)

    assert [one.forum_id for one in parsed.items.posts] == [board]
    assert [one.forum_id for one in parsed.items.forums] == (["7"] if board == "7" else [])
    assert ("board 7 leads to board 9: its threads are that board's" in parsed.notes) is (board == "9")


@pytest.mark.parametrize(("number", "leads"), [(2, True), (3, False), (417, False)])
def test_a_page_of_a_board_may_have_its_number_where_threads_have_theirs(number: int, leads: bool) -> None:
    below = LIST.replace("address: /list/{board}/{page}", "identity: '^/list/(?P<board>\\w+)/$'")
    threads = POST.replace("address: /post/{post}", "identity: '^/list/\\w+/(?P<post>\\d+)/$'")
    head = "boards: [{id: cats, address: /list/cats/}]"
    parser = site_parser(
        head=head, listing="  next: {css: .next, attr: href, as: url}", stages=(below, threads, COMMENT)
    )
    request = ask(Stage.LIST, "cats")._replace(address="https://forum.example/list/cats/")

    parsed = parser.parse(request, answer(request, rows(7, more=f"<a class=next href=/list/cats/{number}/>on</a>")), 0)

    found = [(one.page, one.address) for one in parsed.children if one.stage is Stage.LIST]
    assert found == [(2, "https://forum.example/list/cats/2/")] * leads


def test_entries_without_addresses_lead_on_until_a_page_shows_what_it_showed_before() -> None:
    entries = POST.replace("  address: /post/{post}\n", "")
    parser = site_parser(stages=(LIST, entries, COMMENT))
    request = ask(Stage.LIST, "9")

    first, again, other = (
        parser.parse(request, answer(request, rows(*ids, more="<a class=next>on</a>")), 0).children
        for ids in ((7, 8), (7, 8), (8, 9))
    )

    assert [(one.stage, one.page, one.only_if_new) for one in first] == [(Stage.LIST, 2, False)]
    assert first[0].revision == again[0].revision != other[0].revision


@pytest.mark.parametrize(
    "href",
    [
        "/post/7",
        f"{BASE}/post/7",
        "//forum.example/post/7",
        "../../post/7",
        "/post/7#c3",
        "/post/7?sid=abc",
        "/post/7?utm_x=1",
    ],
)
def test_an_id_is_read_from_a_link_however_it_is_written(href: str) -> None:
    listing = LIST.replace("{attr: data-id}", "{css: a, attr: href, as: id}")
    parser = site_parser(head="drop_params: [sid, utm_*]", stages=(listing, POST, COMMENT))
    request = ask(Stage.LIST)

    posts = parser.parse(
        request, answer(request, f"<div class=row><a class=t href='{href}'>x</a></div>"), 0
    ).items.posts

    assert [post.post_id for post in posts] == ["7"]


FRAME = LIST + "  empty: '#threads'\n"


@pytest.mark.parametrize(
    ("frame", "is_read"),
    [
        ("<p>No threads here</p>", True),
        ("<p class=line><a href=/post/7>T7</a></p><p class=line><a href=/post/8>T8</a></p>", False),
        ("<p class=line><a href=/post/7>moved</a></p>", True),
        ("<a href=/list/2/1>another board</a><a href=/list/3/1>one more</a>", True),
    ],
)
def test_a_list_whose_frame_links_threads_is_not_empty(frame: str, is_read: bool) -> None:
    newest = "".join(f"<a href=/post/{n}>newest</a>" for n in range(20, 25))
    request, parser = ask(Stage.LIST), site_parser(stages=(FRAME, POST, COMMENT))
    page = answer(request, f"<div id=threads>{frame}</div><div id=newest>{newest}</div>")

    if is_read:
        assert parser.parse(request, page, 0).items.posts == ()
    else:
        with pytest.raises(ParseError, match="no rows, and 2 threads are linked where `empty` is; mend record"):
            parser.parse(request, page, 0)
