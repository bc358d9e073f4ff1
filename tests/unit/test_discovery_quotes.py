"""Quotes in the posts of an unknown program: what repeats another post, with its author's name, is no own text."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from crawl_tasks.discovery.records.boilerplate import quotes_in, quotes_of
from crawl_tasks.parse.document import matches

SAID = "The lamp of the old house glows when rain falls."
AUTHORS = {0: "ann", 1: "Bob Stone", 2: "carl"}


@pytest.mark.parametrize(
    ("quote", "css"),
    [
        (f"<div class=said-before><b>ann</b> wrote: <i>{SAID}</i></div>", "div.said-before"),
        (f"<fieldset><legend>ann</legend>{SAID} And more.</fieldset>", "fieldset"),
        (f"<div class=zitat><b>ann</b><p>{SAID}</p></div>", None),
        (f"<table><tr><td>ann<td>{SAID}</table>", None),
        (f"<p>{SAID}</p>", None),
        ("<div class=said-before><b>ann</b> wrote: another thing altogether, to be sure</div>", None),
    ],
)
def test_a_quote_that_no_usual_rule_finds_is_found_by_its_author_and_words(quote: str, css: str | None) -> None:
    page = LexborHTMLParser(
        f"<li><b>ann</b><div>{SAID}</div></li>"
        f"<li><b>Bob Stone</b><div>{quote}<p>I thought so.</p></div></li>"
        "<li><b>carl</b><div>Nobody knows why it does so.</div></li>"
    )

    assert quotes_of(page.css("li"), AUTHORS) == css


def test_a_quote_in_a_plain_table_is_no_rule_and_still_known() -> None:
    page = LexborHTMLParser(
        f"<li><b>ann</b><div>{SAID}</div></li><li><b>Bob Stone</b><div><table><tr><td>ann<td>{SAID}</table>Yes.</div>"
    )

    assert [box.tag for _, box in quotes_in(page.css("li"), AUTHORS)] == ["tr"]


def test_a_selector_matches_an_element_itself_and_none_around_it() -> None:
    outer, inner = (LexborHTMLParser("<div class=a><p class=b>x</p></div>").css_first(css) for css in (".a", ".b"))
    assert outer is not None
    assert inner is not None

    assert matches(inner, ".a > .b")
    assert not matches(outer, ".b")
