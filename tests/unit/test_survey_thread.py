"""Proposals: what a page of an unknown program says beside its posts, and what its links and columns mean."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Fetched
from crawl_tasks.parse.document import Document
from crawl_tasks.survey.buttons import buttons_in
from crawl_tasks.survey.counts import count_rules
from crawl_tasks.survey.pager import next_of

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
