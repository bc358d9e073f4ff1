"""Markup that a post leaves open hides all behind it, in browsers as here. It is told where records stand there."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Reach, Stage
from crawl_tasks.parse.document import Document
from tests.unit.pages import COMMENT, LIST, POST, answer, ask, site_parser

OPEN = [
    "<!-- a note",
    "<!--",
    "<textarea> raw",
    "<plaintext> raw",
    "<xmp>",
    "<title>",
    "<style>",
    "<script>",
    "<iframe>",
]
TAKES_IN = ["<select>", "<select><option>a", "<form><select name=a><option>a"]
CLOSED = [
    "<select><option>a</select>",
    "<!-- a note -->",
    "<textarea>raw</textarea>",
    "<script>if(a<b){}</script>",
    "<b>bold",
    "plain",
]
FOOTERS = [
    """<script>var t='<div class="c" id="c9">'</script>""",
    '<textarea><div class="c" id="c9"></textarea>',
    '<iframe><div class="c" id="c9"></iframe >',
    '<!-- <div class="c" id="c9"> -->',
    '<title><div class="c" id="c9"></TITLE>',
]


def thread(text: str, mark: str = 'id="c{n}" class="c"') -> str:
    said = {n: text if n == 2 else f"text {n}" for n in range(1, 6)}
    records = "".join(
        f"<div {mark.format(n=n)} data-id={n}><b class=who>ann</b><p class=say>{words}</p></div>"
        for n, words in said.items()
    )
    return f"<!doctype html><html><body><h1>T</h1><div class=body>b</div>{records}<p>footer</body></html>"


@pytest.mark.parametrize("mark", ['id="c{n}" class="c"', "class='c'"])
@pytest.mark.parametrize("text", OPEN)
def test_records_behind_open_markup_are_told_and_none_counts_as_deleted(text: str, mark: str) -> None:
    request = ask(Stage.POST)._replace(reach=Reach(whole="p1"))

    parsed = site_parser(post="  next: .next").parse(request, answer(request, thread(text, mark)), 0)

    assert [one.comment_id for one in parsed.items.comments] == ["1", "2"]
    [note] = [one for one in parsed.notes if "hides all behind it" in one]
    assert "3 more records stand in the source" in note
    assert parsed.items.swept == ()


@pytest.mark.parametrize("text", TAKES_IN)
def test_records_that_an_open_select_takes_in_are_told(text: str) -> None:
    request = ask(Stage.POST)._replace(reach=Reach(whole="p1"))

    parsed = site_parser(post="  next: .next").parse(request, answer(request, thread(text)), 0)

    assert [note for note in parsed.notes if "an open <select> takes in all behind it: 3 more records" in note]
    assert parsed.items.swept == ()


@pytest.mark.parametrize("text", CLOSED)
def test_markup_that_is_closed_or_hides_nothing_is_not_told(text: str) -> None:
    request = ask(Stage.POST)

    parsed = site_parser(post="  next: .next").parse(request, answer(request, thread(text)), 0)

    assert len(parsed.items.comments) == 5
    assert [one for one in parsed.notes if "hides" in one] == []


@pytest.mark.parametrize("mark", ['id="c{n}" class="c"', "class='c'"])
@pytest.mark.parametrize("footer", FOOTERS)
def test_closed_markup_at_the_end_of_a_page_hides_nothing(footer: str, mark: str) -> None:
    request = ask(Stage.POST)
    page = thread("plain", mark).replace("<p>footer</body></html>", footer)

    parsed = site_parser(post="  next: .next").parse(request, answer(request, page), 0)

    assert [one for one in parsed.notes if "hides" in one] == []


def test_letters_that_grow_in_lower_case_shift_no_source() -> None:
    request = ask(Stage.POST)

    parsed = site_parser(post="  next: .next").parse(request, answer(request, thread("İ" * 400 + "<textarea> raw")), 0)

    assert [note for note in parsed.notes if "3 more records stand in the source" in note]


def test_a_list_whose_row_leaves_a_comment_open_is_told() -> None:
    request = ask(Stage.LIST)
    rows = "".join(f"<p class=row data-id={n}><b class=t>{'<!--' if n == 2 else n}</b></p>" for n in range(1, 5))

    parsed = site_parser(stages=(LIST, POST, COMMENT)).parse(request, answer(request, f"<html>{rows}"), 0)

    assert [note for note in parsed.notes if "an open <!-- hides all behind it: 2 more records" in note]


def test_nul_is_no_part_of_a_text() -> None:
    request = ask(Stage.POST)

    parsed = site_parser(post="  next: .next").parse(request, answer(request, thread("the \0manual")), 0)

    assert [one.body for one in parsed.items.comments][1] == "the manual"


def test_nul_is_no_part_of_a_page_in_any_form() -> None:
    document = Document(answer(ask(Stage.POST), "<p>the \0manual</p>"))

    whole = document.source
    document.embed_html("<p>the \0manual</p>")

    texts = [whole, document.source, document.root.text(), document.soup.get_text(), str(document.xml.text_content())]

    assert not any("\0" in text or "\ufffd" in text for text in texts)
