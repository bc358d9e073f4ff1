"""Proposals: what a page of an unknown program says beside its posts, and what its links and columns mean."""

from __future__ import annotations

import pytest
from crawl_tasks.discovery.first_post import beginning_of

from crawl_tasks.discovery.boilerplate import buttons_in, edited_in
from crawl_tasks.discovery.links import links_of
from crawl_tasks.discovery.list_rules import Listing, list_rules
from crawl_tasks.discovery.next_page import next_of
from crawl_tasks.discovery.repeated_records import find_rows
from crawl_tasks.discovery.reply_counts import count_rules, replies_in
from crawl_tasks.discovery.thread_rules import thread_rules
from crawl_tasks.model import Fetched
from crawl_tasks.parse.document import Document

HEAD = "<tr><th colspan=2>Subject</th><th>Views</th><th>{}</th></tr>"
BODY = '<div class="body">say {}<p class="note">{}</p><div class="options"><a class="go">Reply</a> <a>x</a></div></div>'


def page(html: str) -> Document:
    return Document(Fetched("http://forum.example/read?4,71", 200, {}, html.encode(), 1_700_000_000.0))


def test_buttons_in_bodies_are_told_by_saying_the_same_in_all() -> None:
    bodies = page("".join(BODY.format(at, f"note {at}") for at in range(4))).root.css("div.body")

    assert buttons_in(bodies) == ["div.options"]
    assert buttons_in(bodies[:2]) == []


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

    assert count_rules(records) == {"reply_count": rule, "view_count": "'td:nth-child(3)'"}


def test_links_to_the_pages_of_a_thread_beside_its_title_count_nothing() -> None:
    pages = "<p><a href=?p=1>1</a><a href=?p=2>2</a></p>"
    row = "<li><a href=/read/{0}>Words {0}</a>{1}<div class=c>{2}</div><div class=c>40{0}</div></li>"
    rows = "".join(row.format(at, pages if at < 4 else "", at) for at in range(12))
    records = page(f"<ul>{rows}</ul>").root.css("li")

    assert count_rules(records) == {"reply_count": "div.c"}
    assert replies_in(records) == list(range(12))


@pytest.mark.parametrize(
    ("html", "url"),
    [
        ('<a class="icon-next" href="/read?4,1795,older">Next topic</a>', None),
        ('<a class="icon-next" href="/read?4,1795,older">x</a><a title="Next" href="/read?4,71,page=2"><img></a>', 2),
        ('<a href="/read?4,72">Next</a> <a href="/read?4,71,page=2">Next</a>', 2),
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
            "p.edit-info > small.muted",
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
    ("began", "count", "field", "rule"),
    [
        ("2025-04-03 10:00", 2, "created_at", "reply_count: td.count"),
        ("2025-03-01 10:00", 2, "last_reply_at", "reply_count: td.count"),
        ("2025-03-01 10:00", 3, "last_reply_at", "reply_count: {css: td.count, plus: -1}"),
    ],
)
def test_what_a_row_counts_and_when_is_told_by_the_page_of_its_thread(
    began: str, count: int, field: str, rule: str
) -> None:
    row = "<tr class=r><td><a class=t href=/t/{0}/>Words on {0}</a><td class=count>{1}<td class=at>2025-04-0{0} 10:00"
    listing = page(f"<table>{''.join(row.format(at, count) for at in range(3, 9))}</table>")
    rows = find_rows(listing)
    post = "<div class=post id=p{0}><b class=author>ann</b><i class=at>{1}</i><p>Some words about it, {0}</p></div>"
    thread = page("".join(post.format(at, f"{began[:-1]}{at}") for at in range(1, 4)))
    assert rows is not None

    known = beginning_of(rows.records[0], (rows.titles[0], thread))
    rules = "\n".join(list_rules(Listing(listing, rows), None, None, known))

    assert f"{field}: td.at" in rules
    assert rule in rules


def test_a_first_post_of_few_words_is_read_as_the_replies_are() -> None:
    card = (
        "<div class=card {}><time datetime=2025-04-03T10:0{}>then</time><div class=thread><div class=who>"
        "<a href=/members/7>ann</a><p>Joined in the spring of 2019, has written 82 posts</p></div>"
        "<div class=main><div class=content>{}</div></div></div></div>"
    )
    replies = "".join(
        card.format(f"id=post-{at}", at, f"Number {at} has more words than the first, " * 4) for at in range(5)
    )
    thread = page(f"<a href=/t/71>A title</a><h1>A title</h1>{card.format('', 9, 'It is the seal, I think.')}{replies}")
    link = links_of(thread)["/t/#"][0]

    rules = "\n".join(thread_rules((link, thread), link, None))

    assert "body: {css: div.content," in rules.partition("comment")[0]
