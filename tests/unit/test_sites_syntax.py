"""Regexes that may run for ever are told from those that do not, and selectors are read as they are meant."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from crawl_tasks.sites.syntax import check_css, check_regex


@pytest.mark.parametrize(
    "pattern",
    [
        "(.*a){20}b",
        "(.*a){5}",
        "(a+){2,}",
        "((a+){3}){2}",
        "(a|aa){30}",
        "(a|b|ab){1,11}x",
        "((a|b){2})+",
        "(a+)+",
        "(a*)*$",
        "(?:a+b?)+",
        "((a+)b)*",
        "(a|aa)+",
        "(a|b)*c",
        "([a-z]+)*",
        "(a{2,})+",
        r"(\d+,?)+",
        "(.*)+",
    ],
)
def test_a_repeated_repetition_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="repeats a repetition"):
        check_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"/post/(\d+)",
        "a+b+",
        "(?:ab)+",
        "(a|b)c",
        r"\(a+\)+",
        "[(+]+",
        "[^]+)]+",
        "(a+)?",
        "(a+){2}",
        r"p(\d+)-(\d+)",
        r"(\d{1,3}\.){3}\d+",
        "(?:jan|feb){2}",
        "(a{3}){40}",
        "a{0}b+",
    ],
)
def test_an_ordinary_regex_is_taken(pattern: str) -> None:
    assert check_regex(pattern) == pattern


@pytest.mark.parametrize("pattern", ["", "   ", "(", "[", "(?P<a>x)(?P<a>y)", "x" * 2001])
def test_what_is_no_regex_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"is no regular|is empty|is longer"):
        check_regex(pattern)


@pytest.mark.parametrize(
    "selector",
    [
        ":is(.a, .b) i",
        ":where(.a) i",
        "div :is(.a) i",
        ":has(i) i",
        "q, :is(.a) i",
        "div > :is(.a) i",
        ":is(:is(.a) u) i",
    ],
)
def test_a_pseudo_class_without_an_element_finds_what_stands_deeper(selector: str) -> None:
    page = LexborHTMLParser("<div><p class=a><u><b><i>deep</i></b></u></p></div>")

    assert [node.text() for node in page.css(check_css(selector))] == ["deep"]


def test_a_pseudo_class_of_an_element_stays_as_it_is() -> None:
    quoted = "a[title='x :is(.a)'], a[title=\"'( :has(b)\"], a[title='\\' :is(b)']"
    selector = f"li:is(.a, .b):not(:has(i)) a:is([href]), .c:has(b), {quoted}"

    assert check_css(selector) == selector.replace("not(:has", "not(*:has")
