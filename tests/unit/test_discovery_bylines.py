"""Bylines: an author is found beside other parts of a text, and what only looks like one is not."""

from __future__ import annotations

import re

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl_tasks.discovery.records.author_text import byline_in, number_in
from crawl_tasks.discovery.records.boilerplate import edited_in, notes_in, quotes_of
from crawl_tasks.discovery.records.record_fields import fields_of
from crawl_tasks.discovery.records.slots import Slots

NAMES = ["ann", "Bob Stone", "carl the 2nd", "ann", "Bob Stone", "d'Arc", "ann", "carl the 2nd"]
DAYS = [f"Wed Jan {day:02}, 2003 9:31 pm" for day in range(1, 9)]


def slots_of(texts: list[str], pages: int = 2) -> Slots:
    root = LexborHTMLParser("".join(f"<li><i>{text}</i><p>text {at}</p></li>" for at, text in enumerate(texts)))
    return Slots(root.css("li"), pages={at: f"page {at * pages // len(texts)}" for at in range(len(texts))})


@pytest.mark.parametrize(
    "form",
    [
        "#{number} - {name} - {day}",
        "{name} - {day}",
        "{day} | {name}",
        "Posted by {name} on {day}",
        "Posted by: {name} (IP logged)",
        "{day} von {name}",
        "Re: lamps by {name} » {day}",
        "\n  #{number} -\n  {name}\n  - {day}\n",
        "\n  Posted by\n  {name}\n  on {day}",
    ],
)
def test_an_author_is_found_beside_other_parts(form: str) -> None:
    texts = [
        form.format(number=570 + 7 * at, name=name, day=day)
        for at, (name, day) in enumerate(zip(NAMES, DAYS, strict=True))
    ]

    found = byline_in(slots_of(texts))

    assert found is not None
    assert [*found.texts().values()] == NAMES
    # Workers search the text as it stands on the page, with its line breaks.
    assert [" ".join(re.search(found.regex, text)[1].split()) for text in texts] == NAMES


@pytest.mark.parametrize(
    "texts",
    [
        [f"Reply - {day}" for day in DAYS],
        [f"{'lamps' if at < 4 else 'doors'} - {day}" for at, day in enumerate(DAYS)],
        [f"reader {at} - {day}" for at, day in enumerate(DAYS)],
        ["Quote | Report"] * 8,
    ],
    ids=["a label", "the title of the page", "each another", "buttons"],
)
def test_what_is_the_same_on_a_page_or_never_comes_again_is_no_author(texts: list[str]) -> None:
    assert byline_in(slots_of(texts)) is None


def test_a_number_is_an_id_unless_other_pages_have_it_too() -> None:
    own = slots_of([f"#{500 + at} - {name}" for at, name in enumerate(NAMES)])
    counted = slots_of([f"#{1 + at % 4} - {name}" for at, name in enumerate(NAMES)])

    assert number_in(own, ("i 0",)) == r"#(\d+)"
    assert number_in(counted, ("i 0",)) == ""
    assert number_in(slots_of([f"#{500 + at} - ann" for at in range(4)], pages=1), ("i 0",)) == ""


def test_a_short_post_that_speaks_of_an_update_hides_no_note_of_edits() -> None:
    page = LexborHTMLParser(
        "<li><h4>ann - Wed Jan 12, 2005 2:22 pm</h4><p>I have updated the site.</p><span class=note></span></li>"
        "<li><h4>bob - Wed Jan 12, 2005 3:22 pm</h4><p>Fine.</p><span class=note>Last edited Jan 13, 2005</span></li>"
        "<li><h4>ann - Wed Jan 12, 2005 4:22 pm</h4><div class=text><p>Modified: Jan 14, 2005</p></div></li>"
        "<li><h4>bob - Wed Jan 12, 2005 5:22 pm</h4><p>Yes.</p><span class=note>Last edited Jan 15, 2005</span></li>"
    )

    assert edited_in(page.css("li")) == "span.note"
    assert notes_in(page.css("li")[0]) == []


def test_an_author_who_quotes_within_the_own_text_keeps_the_text() -> None:
    said = "The lamp of the old house glows when rain falls."
    page = LexborHTMLParser(
        f"<li><b>ann</b><span class=text>{said}</span></li>"
        f"<li><b>bob</b><span class=text>ann wrote:<br>{said}<br>I thought so.</span></li>"
    )
    records = page.css("li")
    bodies = dict(enumerate(page.css("span")))

    assert quotes_of(records, {0: "ann", 1: "bob"}) == "span.text"
    assert quotes_of(records, {0: "ann", 1: "bob"}, bodies) is None


def rows_of(ends: dict[str, str]) -> list[tuple[str, LexborNode]]:
    """Return posts of three authors, of whom some end their texts alike."""
    names = ["ann", "bob", "carl", "ann", "bob", "carl", "ann", "bob"] * 2
    head = "<li><b>{}</b><i>2024-05-{} 10:00</i><div><span>Text {} of words {}</span></div>"
    rows = (head.format(name, at + 10, at, ends.get(name, "").format(at=at)) for at, name in enumerate(names))
    return [("", node) for node in LexborHTMLParser("".join(rows)).css("li")]


def test_the_second_link_of_some_texts_is_no_signature() -> None:
    first = "<a class=to>{at}</a> <a class=to>"
    found = fields_of(rows_of({"ann": f"{first}my lamps</a>", "bob": f"{first}shop</a>"}))

    assert found.rules["body"] == "{css: span, drop: usual-quotes}"


def test_an_element_that_is_empty_for_most_authors_is_no_signature() -> None:
    empty = "<em class=more></em>"
    rows = rows_of({"ann": empty, "bob": empty, "carl": empty})
    rows += [
        ("", node)
        for node in LexborHTMLParser(
            "<li><b>dora</b><i>2024-06-01 10:00</i><div><span>Text <em class=more>of her own</em></span></div>"
        ).css("li")
    ]

    assert "em.more" not in fields_of(rows).rules["body"]
