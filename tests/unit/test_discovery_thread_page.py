"""Proposals: what a page of an unknown program says beside its posts, and what its links and columns mean."""

from __future__ import annotations

import time
from zoneinfo import ZoneInfo

import pytest
from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.html_rules.board_scan import BoardScan
from crawl_tasks.discovery.html_rules.list_rules import Listing, list_rules
from crawl_tasks.discovery.html_rules.thread_rules import FirstPost, thread_rules
from crawl_tasks.discovery.links.links import links_of
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.post_checks import posts_are_no_replies, posts_have_own_texts
from crawl_tasks.discovery.proof.read_pages import ReadPages, ReadThread
from crawl_tasks.discovery.proof.text_checks import (
    WrittenRecord,
    WrittenRecords,
    posts_are_no_edit_notes,
    posts_are_whole,
    texts_end_without_edit_notes,
)
from crawl_tasks.discovery.records.boilerplate import edited_in
from crawl_tasks.discovery.records.next_page import next_of
from crawl_tasks.discovery.records.post_ids import marked_in
from crawl_tasks.discovery.records.record_fields import fields_of
from crawl_tasks.discovery.records.record_queries import selector_in
from crawl_tasks.discovery.records.repeated_records import find_rows
from crawl_tasks.discovery.records.reply_counts import count_rules, replies_in
from crawl_tasks.discovery.records.slots import Slots
from crawl_tasks.discovery.records.thread_page import FetchedThread, ThreadRecords, comment_hypotheses
from crawl_tasks.discovery.text.timestamps import times_in
from crawl_tasks.model import Comment, Fetched, Post, Request, Stage
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.values.dates import read_date
from crawl_tasks.sites.loader import parse_site
from tests.unit.good_site import GOOD

HEAD = "<tr><th colspan=2>Subject</th><th>Views</th><th>{}</th></tr>"


def pages_of(posts: list[Post], comments: tuple[Comment, ...] = ()) -> ReadPages:
    """Return read pages of threads with these posts, each with the same comments."""
    site = parse_site(GOOD, "good.yaml")
    trial = DryRun(Request(site.name, Stage.POST, "7", "https://forum.example/7"))
    return ReadPages(site, threads=[ReadThread(Post(post.post_id), trial, post, comments) for post in posts])


def page(html: str) -> Document:
    return Document(Fetched("http://forum.example/read?4,71", 200, {}, html.encode(), 1_700_000_000.0))


@pytest.mark.parametrize(
    ("heading", "least", "rule"),
    [
        ("Posts", 1, "{css: 'td:nth-child(4)', plus: -1}"),
        ("Posts", 0, "'td:nth-child(4)'"),
        ("Replies", 1, "'td:nth-child(4)'"),
    ],
)
def test_a_column_is_known_by_its_heading_even_below_a_wide_one(heading: str, least: int, rule: str) -> None:
    row = "<tr class=r><td><img></td><td><h4><a href=/read?4,{0}>Words {0}</a></h4></td><td>9{0}</td><td>{1}</td></tr>"
    rows = "".join(row.format(at, at + least) for at in range(12))
    records = page(f"<table>{HEAD.format(heading)}{rows}</table>").root.css("tr.r")

    assert count_rules(records, {}) == {"reply_count": rule, "view_count": "'td:nth-child(3)'"}


def test_links_to_the_pages_of_a_thread_beside_its_title_count_nothing() -> None:
    pages = "<p><a href=?p=1>1</a><a href=?p=2>2</a></p>"
    row = "<li><a href=/read/{0}>Words {0}</a>{1}<div class=c>{2}</div><div class=c>40{0}</div></li>"
    rows = "".join(row.format(at, pages if at < 4 else "", at) for at in range(12))
    records = page(f"<ul>{rows}</ul>").root.css("li")

    assert count_rules(records, {}) == {"reply_count": "div.c"}
    assert replies_in(records) == list(range(12))


@pytest.mark.parametrize(
    ("html", "url"),
    [
        ('<a class="icon-next" href="/read?4,1795,older">Next topic</a>', None),
        ('<a class="icon-next" href="/read?4,1795,older">x</a><a title="Next" href="/read?4,71,page=2"><img></a>', 2),
        ('<a href="/read?4,72">Next</a> <a href="/read?4,71,page=2">Next</a>', 2),
        ('<h1><a href="/read?4,71&id=how-old-is-the-boat-5">How old is the boat 5?</a></h1>', None),
    ],
)
def test_a_link_to_the_next_thread_is_none_to_the_next_page(html: str, url: int | None) -> None:
    found = next_of(page(html), "71")

    assert (found and found.url) == (url and "http://forum.example/read?4,71,page=2")


@pytest.mark.parametrize(
    ("note", "css"),
    [
        ('<div class="updated-message">Edited 04 May, 2025 11:15</div>', "div.updated-message"),
        (
            '<p class="edit-info"><small class="muted">Last edited by <a>bo</a> on May 4, 2025, 11:15 a.m.</small></p>',
            "p.edit-info",
        ),
        ('<em class="n">最后由 bo 于 2025-05-04 11:15 编辑</em>', "em.n"),
        ("<p>I edited this on 2025-05-04</p>", None),
        ('<div class="muted">Edited 04 May, 2025 11:15</div>', None),
        ('<div class="quote"><i class="e">Edited 04 May, 2025 11:15</i></div>', None),
    ],
)
def test_a_note_of_an_edit_is_known_by_what_it_says_where_no_other_post_has_one(note: str, css: str | None) -> None:
    post = '<div class="post"><div class="muted">12 Apr, 2025 10:00</div><small class="muted">#1</small> words{}</div>'
    records = page(post.format("") + post.format(note) + post.format("")).root.css("div.post")

    assert edited_in(records) == css


@pytest.mark.parametrize(
    ("began", "replies", "field", "rule"),
    [
        ("2025-04-03 10:00", 2, "created_at", "reply_count: td.count"),
        ("2025-03-01 10:00", 2, "last_reply_at", "reply_count: td.count"),
        ("2025-03-01 10:00", 1, "last_reply_at", "reply_count: {css: td.count, plus: -1}"),
    ],
)
def test_what_a_row_counts_and_when_is_told_by_the_page_of_its_thread(
    began: str, replies: int, field: str, rule: str
) -> None:
    row = "<tr class=r><td><a class=t href=/t/{0}/>Words on {0}</a><td class=count>2<td class=at>2025-04-0{0} 10:00"
    listing = page(f"<table>{''.join(row.format(at) for at in range(3, 9))}</table>")
    rows = find_rows(listing)
    at = read_date(began, 0, ZoneInfo("UTC"))
    assert rows is not None

    rules = "\n".join(list_rules(Listing(listing, rows), None, BoardScan(()), {0: FirstPost("ann", at, replies)}, {}))

    assert f"{field}: td.at" in rules
    assert rule in rules


def thread(number: int, replies: int) -> FetchedThread:
    """Make a thread whose posts have a panel that is a function of the author, and whose pages have a heading each."""
    who = ("ann", "Bob Stone", "cy")
    post = (
        "<div class=card id=p{0}><time datetime=2025-04-{1:02}T10:00>then</time><div class=side><b>{2}</b>"
        "<p>Joined in 201{3}</p></div><h4>Re: Title {4}</h4><div class=x>{5} words of its own</div>"
        "<div class=foot>My own words, always: {2}</div></div>"
    )
    posts = "".join(
        post.format(number * 100 + at, at + 1, who[at % 3], len(who[at % 3]), number, "abcdefgh"[at] * 9)
        for at in range(replies + 1)
    )
    document = page(f"<a href=/t/{number}>Title {number}</a><h1>Title {number}</h1>{posts}")
    return FetchedThread(links_of(document)["/t/#"][0], number, document)


def test_functions_of_the_author_and_of_the_page_are_no_part_of_a_body() -> None:
    samples = [thread(number, replies) for number, replies in ((1, 6), (2, 3), (3, 4))]
    records = comment_hypotheses(samples)[0]

    found = thread_rules(samples, records, samples[0].link, None, is_post_inside=True)

    assert "author: 'div.card[id] div.side > b'" in "\n".join(found.lines)
    assert "body: {css: 'div.card[id] div.x'," in "\n".join(found.lines)
    assert {row: one.replies for row, one in found.first.items()} == {1: 6, 2: 3, 3: 4}


def test_posts_in_one_of_three_rows_of_a_table_are_found_by_the_way_to_their_mark() -> None:
    row = (
        "<tr><td><span class=name><a name={0}></a><b>{1}</b></span></td><td><table><tr><td>"
        "<span class=postdetails>Posted: Tue May {2:02}, 2008 3:14 pm<i>&nbsp;</i>Post subject: Re: Old lamps burn"
        "</span></td></tr><tr><td><span class=postbody>{3} and more words</span></td></tr></table></td></tr>"
        "<tr><td>Top</td><td></td></tr><tr><td colspan=2></td></tr>"
    )
    posts = "".join(row.format(90 + at, ("ann", "bo", "cy")[at % 3], at + 1, "abcdefgh"[at] * 30) for at in range(8))
    document = page(f"<a href=/t/1>Old lamps burn</a><h1>Old lamps burn</h1><table>{posts}</table>")
    samples = [FetchedThread(links_of(document)["/t/#"][0], 0, document)]

    records = comment_hypotheses(samples)[0]
    found = fields_of([("Old lamps burn", node) for node in records.nodes(document)])

    assert records.css.startswith("tr:has(> td > span > a[name])")
    assert found.authors[0] == "ann"
    assert found.at[7] - found.at[0] == 7 * 86_400
    assert "text: own, regex:" in found.rules["created_at"]
    assert "span.postbody" in found.rules["body"]


@pytest.mark.parametrize(("attr", "times"), [("data-time", 1000), ("data-timestamp", 1)])
def test_an_exact_moment_in_an_attribute_is_better_than_a_relative_text(attr: str, times: int) -> None:
    stamps = [1_723_793_769 + 90_061 * at for at in range(4)]
    records = page("".join(f"<p><b {attr}={at * times}>2 years ago</b></p>" for at in stamps)).root.css("p")

    moments = Slots(records).moments()

    assert [(one.attr, list(one.at.values())) for one in moments] == [(attr, stamps)]


def test_days_between_dashes_have_the_order_that_several_show() -> None:
    said = "<p><b>Posted: {}-04-2026, 5:41 PM<i>#1</i></b></p>"
    records = page("".join(said.format(f"{at:02}") for at in (2, 9, 20))).root.css("p")

    assert [one.order for one in Slots(records).moments()] == ["dmy"]


def test_moments_in_attributes_are_known_by_their_values_and_never_taken_for_ids() -> None:
    said = "<div class=post><b data-order={0} data-no={1}>12 Aug 2024</b><p>{2} and more words than twenty</p></div>"
    stamps = [1_723_420_800 + 600 * at for at in (1, 2, 3, 3)]
    document = page("".join(said.format(at, 1_100_000_000 + 7 * n, f"text {n}") for n, at in enumerate(stamps)))

    (moments,) = Slots(document.root.css("div.post")).moments()

    assert (moments.attr, list(moments.at.values())) == ("data-order", stamps)
    assert "data-order" not in [one.attr for one in marked_in(document)]


def test_a_count_is_read_between_author_and_moment() -> None:
    row = "<li><a href=/t/{0}>Words {0}</a> <small>(by ann, {1}, 2 oct. 2026, 15:36)</small></li>"
    records = page("".join(row.format(at, f"{at} repl{'y' if at == 1 else 'ies'}") for at in range(6))).root.css("li")

    assert replies_in(records) == [0, 1, 2, 3, 4, 5]
    assert count_rules(records, {})["reply_count"] == "{css: small, regex: '(\\d[\\d.,]*)\\s*(?:replies|reply)'}"


def test_a_number_and_a_name_of_a_record_in_letters_and_figures_are_no_text() -> None:
    row = "<li><p>{0} : <b>{1}</b> ID:{2:x}a<br></p><div>{3}</div></li>"
    said = ("灯坏了", "为什么", "试试看", "已经好了", "谢谢你", "没关系")
    records = page("".join(row.format(at, "abc"[at % 3], at * 37 + 160, text) for at, text in enumerate(said))).root
    slots = Slots(records.css("li"))

    assert slots.body({at: "abc"[at % 3] for at in range(6)}, [], lambda _: False) == ("div 0",)


@pytest.mark.parametrize(("text", "holds"), [("Cable today valve.", True), ("2024-06-19 22:17", False)])
def test_a_text_with_the_word_today_is_no_date(text: str, holds: bool) -> None:
    at = int(time.time()) if holds else 1_718_835_420
    posts = [Post(str(n), author="ann", created_at=at + n, body=text if n else "Words.") for n in range(3)]

    checks = posts_are_whole(pages_of(posts))

    assert ("texts of posts are no dates" in [check.name for check in checks if not check.holds]) is not holds


def test_links_to_the_post_that_is_answered_are_no_ids_of_replies() -> None:
    row = """<div class=card><a name={0}></a><b>ann</b> <i>19 June 2024 14:{0}</i><p>Words that somebody says, {0}.</p>
      <small>In reply to <a href="#{1}">this</a></small></div>"""
    document = page("".join(row.format(at, at - 1) for at in range(11, 16)))

    marks = {(one.attr, tuple(one.keys)) for one in marked_in(document) if one.attr}

    assert ("name", ("11", "12", "13", "14", "15")) in marks
    assert ("href", ("10", "11", "12", "13", "14")) not in marks


NOTICE = "This topic is now archived and is closed to further replies."
MENU = "Dashboard\nForum\nMembers\nTerms of use\nWelcome to topic {}"


@pytest.mark.parametrize(
    ("texts", "holds"),
    [
        ([NOTICE, NOTICE], False),
        ([NOTICE, "Words of my own about lamps that nobody else has said."], True),
        (["Thanks!", "Thanks!"], None),
        ([MENU.format(1), MENU.format(2), MENU.format(3)], False),
        (["One line\nof ann", "Two lines\nof bob", "Three lines\nof cy"], True),
    ],
)
def test_a_notice_or_a_menu_of_every_page_is_no_text_of_posts(texts: list[str], holds: bool | None) -> None:
    check = posts_have_own_texts(pages_of([Post(str(at), body=text) for at, text in enumerate(texts)]))

    assert (check and check.holds) == holds


@pytest.mark.parametrize(
    ("author", "at", "holds"),
    [
        ("ann", 1_718_806_620, False),
        ("bob", 1_718_806_620, True),
        ("ann", 1_718_806_680, True),
        ("ann", 1_718_755_200, None),
    ],
)
def test_a_reply_of_the_author_and_the_moment_of_its_post_is_the_post(author: str, at: int, holds: bool | None) -> None:
    began = at if at % 86_400 == 0 else 1_718_806_620
    post = Post("7", author="ann", created_at=began, url="/7")

    check = posts_are_no_replies(pages_of([post], (Comment("7", "8", author=author, created_at=at),)))

    assert (check and check.holds) == holds


def test_a_button_in_brackets_is_no_author() -> None:
    links = ("<a>[link]</a><a>[source]</a>", "<a>[source]</a><a>[edit]</a>")
    said = [f"<p><a>{['ann', 'bob', 'carl'][n % 3]}</a>{links[n % 4 == 0]}</p>" for n in range(12)]
    document = page("".join(said))

    assert [slot.path[-1] for slot in Slots(find_all(document.root, "p")).names()] == ["a 0"]


def test_a_moment_before_the_records_is_that_of_a_post_apart() -> None:
    inside = thread(1, 3)
    apart = page(f"<article>by ann, <time>2025-04-01 10:00</time></article>{inside.document.source}")
    records = ThreadRecords("div.card")

    assert not records.is_behind_post([inside.document])
    assert records.is_behind_post([apart])
    assert not records.is_behind_post([apart, inside.document])


def test_an_element_counts_once_whatever_selectors_of_a_list_fit_it() -> None:
    document = page("<time datetime=2025-04-01T10:00>then</time>")

    assert len(find_all(document.root, "time, [datetime]")) == 1
    assert len(times_in(document.root)) == 1


def records_of(*posts: str) -> list[tuple[str, LexborNode]]:
    return [("An old lamp", node) for node in page("".join(posts)).root.css("li")]


def post(who: str, text: str, *, before: str = "", after: str = "") -> str:
    day = len(text)
    return f"<li><div>{who}</div><div><time>2024-05-{day} 10:00</time></div>{before}<div>{text}</div>{after}</li>"


TEXTS = ("the lamp is old", "a new seal it is", "no one knows of it", "the winter was so cold")


def test_a_guest_has_a_name_where_members_have_a_link() -> None:
    who = ("<a href=/user/1>ann</a>", "<span>guest</span>", "<a href=/user/2>bob</a>", "<a href=/user/1>ann</a>")

    found = fields_of(records_of(*map(post, who, TEXTS)))

    assert found.authors == {0: "ann", 1: "guest", 2: "bob", 3: "ann"}
    assert ":is(a, span)" in found.rules["author"]


def test_a_person_is_found_by_a_class_that_a_name_without_a_link_may_have_too() -> None:
    who = ("<a class=nick href=/user/1>ann</a>", "<a class=nick href=/user/2>bob</a>")

    found = fields_of(records_of(*(post(who[at % 2], text) for at, text in enumerate(TEXTS))))

    assert found.rules["author"] == "'.nick'"


def test_places_of_removed_posts_fit_the_selector_without_its_narrowing() -> None:
    assert ThreadRecords("div.post:has(a[name]):has(time)").bare == "div.post"
    assert ThreadRecords("div[id^=p-]").bare == "div[id^=p-]"


def test_buttons_below_some_reactions_are_no_authors() -> None:
    liked = "<div>likes <span>bob</span></div>"
    who = ("<span>ann</span>", "<span>cy</span>", "<span>bob</span>", "<span>ann</span>")
    records = [post(one, text, after=liked * (at == 1) or "<div><span>Reply</span></div>")
               for at, (one, text) in enumerate(zip(who, TEXTS, strict=True))]  # fmt: skip

    assert fields_of(records_of(*records)).authors == {0: "ann", 1: "cy", 2: "bob", 3: "ann"}


@pytest.mark.parametrize(
    "before",
    ["<h3>An old lamp</h3>", "<div><h4>An old lamp</h4><ul><li>oil 40%</li><li>gas 60%</li></ul></div>"],
)
def test_a_subject_or_a_poll_is_no_part_of_a_text(before: str) -> None:
    who = ("<span>ann</span>", "<span>cy</span>", "<span>bob</span>", "<span>ann</span>")
    records = [post(one, text, before=before * (not at)) for at, (one, text) in enumerate(zip(who, TEXTS, strict=True))]
    named = records_of(*records)

    found = fields_of([(title, node) for title, node in named if node.css_first("time")])

    body = found.slots.at(found.paths[2] or ())
    assert body is not None
    assert body.texts() == dict(enumerate(TEXTS))


@pytest.mark.parametrize(
    ("known", "rule"),
    [
        ({0: 0, 1: 1, 2: 2}, "{css: b.replies, default: 0}"),
        ({1: 1, 2: 2}, "b.replies"),
        ({0: 4, 1: 1, 2: 2}, "b.replies"),
    ],
)
def test_a_count_that_is_left_out_is_0_where_a_thread_proves_it(known: dict[int, int], rule: str) -> None:
    rows = "".join(
        f"<li><a href=/t/{at}>Words {at + 20}</a>{f'<b class=replies>{at % 4}</b>' * (at % 4 > 0)}</li>"
        for at in range(12)
    )

    assert count_rules(page(f"<ul>{rows}</ul>").root.css("li"), known)["reply_count"] == rule


def test_a_number_in_few_rows_is_no_count_of_replies() -> None:
    row = "<li><a href=/read/{0}>Words {0}</a>{1}</li>"
    rows = "".join(row.format(at, "<small><a href=?p=2>2</a></small>" if at < 2 else "") for at in range(12))

    assert count_rules(page(f"<ul>{rows}</ul>").root.css("li"), {}) == {}


@pytest.mark.parametrize("text", ["il y a 4 mois", "vor 4 Monaten", "4 месяца назад", "03/11/2026 22h16"])
def test_a_moment_is_known_in_several_languages(text: str) -> None:
    assert [node.text() for node in times_in(page(f"<li>one <b>{text}</b> two</li>").root.css("li")[0])] == [text]


def test_later_records_are_of_the_last_kind_in_a_selector() -> None:
    assert ThreadRecords("ol > li:has(p:nth-child(2) > a:nth-child(1))").later([]) == (
        "ol > li:has(p:nth-child(2) > a:nth-child(1)) ~ li:has(p:nth-child(2) > a:nth-child(1))"
    )


def test_later_records_may_stand_below_the_element_beside_the_first() -> None:
    beside = page("<main><p class=c>1</p><p class=c>2</p></main>")
    below = page("<main><div class=c>1</div><ul><li><div class=c>2</div><ul><li><div class=c>3</div></ul></ul></main>")

    assert ThreadRecords(".c").later([beside]) == ".c ~ .c"
    assert ThreadRecords(".c").later([below]) == ".c ~ * .c"
    assert ThreadRecords(".c").later([below, beside]) == ":is(.c ~ .c, .c ~ * .c)"


def test_rows_of_one_board_are_found_by_no_key_of_the_board() -> None:
    rows = "".join(f"<tr><td><p><a href=/show.php?f=1&t={at}>Words</a></p></td></tr>" for at in (12, 57, 91))
    records = page(f"<table>{rows}</table>").root.css("tr")

    css = selector_in(records, [record.css_first("a") for record in records])

    assert css is not None
    assert "f=1" not in css


def test_a_mark_beside_some_names_is_no_part_of_them() -> None:
    names = ("ann", "ann", "ann", "ann", "ann", "bob", "cy")
    marks = ("", "<em>OP</em>", "<em>OP</em>", "", "", "", "")
    said = "".join(f"<p><span><b>{name}</b>{mark}</span></p>" for name, mark in zip(names, marks, strict=True))

    author = Slots(find_all(page(said).root, "p")).names()[0]

    assert author.texts() == dict(enumerate(names))


def test_a_text_is_found_behind_a_poll_and_without_paragraphs() -> None:
    texts = ("<div><p>one</div>", "<div><p>two</div>", "<div><p>three</div>")
    records = page("".join(f"<li><div>who</div><div>when</div>{one}</li>" for one in texts)).root.css("li")
    css = selector_in(records, [record.css("div")[2] for record in records])
    others = ("<div><h4>Which?</h4></div><div><p>four</div>", "<div>five</div>")

    assert css is not None
    found = [
        one.css_first(css)
        for one in page("".join(f"<li><div>who</div><div>when</div>{one}</li>" for one in others)).root.css("li")
    ]
    assert [one.text() for one in found if one is not None] == ["four", "five"]


def test_half_a_word_of_a_board_finds_no_links_of_other_boards() -> None:
    rows = "".join(
        f"<p><a href=/u/1>ann</a><i><a href=/forums/old-brake/{at}/#n1>#1</a></i></p>" for at in (12, 57, 91)
    )
    records = page(rows).root.css("p")

    css = selector_in(records, [record.css("a")[1] for record in records])

    assert css is not None
    assert "old-" not in css


@pytest.mark.parametrize(("text", "holds"), [("Last edited: 2024-06-19 22:17", False), ("I edited it twice.", True)])
def test_a_note_of_an_edit_is_no_text_of_a_post(text: str, holds: bool) -> None:
    check = posts_are_no_edit_notes(pages_of([Post("7", author="ann", created_at=1_700_000_000, body=text)]))

    assert (check is None) is holds


def test_notes_of_edits_at_the_end_of_several_texts_refute_the_rules() -> None:
    texts = ("Words.\nLast edited by ann on 2024-06-19 22:17", "More.\nLast edited by bo on 2024-06-20 10:00", "Words")

    check = texts_end_without_edit_notes(pages_of([Post(str(at), body=text) for at, text in enumerate(texts)]))

    assert check is not None
    assert not check.holds


def test_the_title_of_a_page_is_no_text_where_its_link_is_a_card() -> None:
    samples = []
    for at, text in enumerate(TEXTS):
        card = f"<a href=/t/{at}><b>Old lamps {at} burn</b> by ann</a>"
        crumbs = f"<p class=crumbs>Home » Old lamps {at} burn</p><h1>Old lamps {at} burn</h1>"
        document = page(f"<main>{card}{crumbs}<i>ann</i> <time>2025-04-0{at + 1} 10:00</time><div>{text}</div></main>")
        samples.append(FetchedThread(links_of(document)["/t/#"][0], at, document))

    found = thread_rules(samples, None, samples[0].link, None, is_post_inside=False)

    assert "body: {css: 'main > div'," in "\n".join(found.lines) or "body: {css: div," in "\n".join(found.lines)


@pytest.mark.parametrize(("texts", "holds"), [(("words", "", "more"), True), (("words", "", ""), False)])
def test_one_post_may_be_a_picture(texts: tuple[str, ...], holds: bool) -> None:
    rows = [WrittenRecord(f"author {at}", at, text) for at, text in enumerate(texts)]

    checks = {check.name: check.holds for check in WrittenRecords("posts", rows).checks()}

    assert (checks["texts of posts have words"], checks["posts show a text"]) == (holds, True)
