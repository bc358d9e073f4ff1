"""Regexes that may run for ever are told from those that do not."""

from __future__ import annotations

import pytest

from crawl_tasks.sites.syntax import check_regex


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+", "(a*)*$", "(?:a+b?)+", "((a+)b)*", "(a|aa)+", "(a|b)*c", "([a-z]+)*", "(a{2,})+", r"(\d+,?)+", "(.*)+"],
)
def test_a_repeated_repetition_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="repeats a repetition"):
        check_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"/post/(\d+)", "a+b+", "(?:ab)+", "(a|b)c", r"\(a+\)+", "[(+]+", "[^]+)]+", "(a+)?", "(a+){2}", r"p(\d+)-(\d+)"],
)
def test_an_ordinary_regex_is_taken(pattern: str) -> None:
    assert check_regex(pattern) == pattern


@pytest.mark.parametrize("pattern", ["", "   ", "(", "[", "(?P<a>x)(?P<a>y)", "x" * 2001])
def test_what_is_no_regex_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"is no regular|is empty|is longer"):
        check_regex(pattern)
