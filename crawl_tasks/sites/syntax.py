"""Syntax checks: whether a selector, path or expression of a site file can be used, told before the crawl.

Each check returns its argument, or raises ValueError with the mistake and the remedy.
"""

from __future__ import annotations

import re
from functools import lru_cache

import jmespath
from jmespath.exceptions import JMESPathError
from lxml import etree
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

_LIMIT = 2000
_once = lru_cache(maxsize=4096)  # hundreds of sites of one preset have the same rules
_PROBE = "<html><body><p>x</p></body></html>"
_SEARCH_IN_SEARCH = re.compile(r"\[[^\]]*(?<![.\w\])*@:-])//")
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_FOR_EVER = 1_000_000
"""Stands for a repetition without end."""
MOST_REPEATED = 4
"""Repetitions without end that a counted group may make: each multiplies the time by the length of the text."""
MOST_ALTERNATIVES = 10
"""Times that a group with alternatives may be counted: each may double the time."""


_BARE = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?<![^\s>+~,(]):(?=(?:is|where|has)\()""")
"""A text in quotes, or a pseudo-class without an element before it.

Of `:is(.a) b` the parser finds only such b as are children of a.
"""


@_once
def check_css(selector: str) -> str:
    """Return a CSS selector that the parser accepts, and reads as it is meant."""
    _check_size(selector)
    selector = _BARE.sub(lambda match: match[1] or "*:", selector)
    try:
        LexborHTMLParser(_PROBE).css(selector)
    except SelectolaxError:
        raise ValueError(f"is no CSS selector we can use: {selector!r}; check brackets and quotes") from None
    return selector


@_once
def check_xpath(expression: str) -> str:
    """Return an XPath 1.0 expression that compiles. Functions that read other documents are refused."""
    _check_size(expression)
    try:
        etree.XPath(expression, regexp=False)
    except etree.XPathError as error:
        raise ValueError(f"is no XPath 1.0 expression: {expression!r}: {error}") from None
    if re.search(r"\b(document|unparsed-entity-uri)\s*\(", expression):
        raise ValueError("may not use document(); it reads other documents")
    # A search of the whole page for each element costs quadratic time.
    if _SEARCH_IN_SEARCH.search(expression):
        raise ValueError("searches the whole page for each match (// inside [ ]), which takes for ever; write .//")
    return expression


@_once
def check_json_path(expression: str) -> str:
    """Return a JMESPath expression that compiles."""
    _check_size(expression)
    try:
        jmespath.compile(expression)
    except JMESPathError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"is no JMESPath expression: {expression!r}: {reason}") from None
    return expression


@_once
def check_regex(pattern: str) -> str:
    """Return a regex that compiles. One that repeats a repetition is refused, because it may run for ever."""
    _check_size(pattern)
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {pattern!r}: {error}") from None
    if _repeats_a_repetition(pattern):
        raise ValueError(f"repeats a repetition, which can run for ever: {pattern!r}; write (a+)+ as a+")
    return pattern


def _check_size(text: str) -> None:
    if not text.strip():
        raise ValueError("is empty; write a selector or leave the key out")
    if len(text) > _LIMIT:
        raise ValueError(f"is longer than {_LIMIT} characters; split it")


def _repeats_a_repetition(pattern: str) -> bool:
    """Return whether a regex holds `(...+...)+` or `(...+...){20}`, which backtracks for ever (ReDoS).

    The form is a repeated group with repetitions or an alternative inside.
    """
    # Escapes and character classes become one letter each, so that no bracket or sign in them counts.
    bare = re.sub(r"\\.", "e", pattern, flags=re.DOTALL)
    bare = re.sub(r"\[\^?\]?[^\]]*\]", "c", bare)
    # The repetitions without end of each open group, and whether it has an alternative.
    groups: list[tuple[int, bool]] = [(0, False)]
    for at, mark in enumerate(bare):
        times = _most_times(bare, at + 1)
        repeated, chosen = groups[-1]
        if mark == "(":
            groups.append((0, False))
        elif mark == ")" and len(groups) > 1:
            groups.pop()
            if times > 1 and (repeated * times > MOST_REPEATED or (chosen and times > MOST_ALTERNATIVES)):
                return True
            outer, is_choice = groups[-1]
            groups[-1] = (outer + repeated * times + (times == _FOR_EVER), is_choice or chosen)
        elif mark == "|":
            groups[-1] = (repeated, True)
        elif times == _FOR_EVER:
            groups[-1] = (repeated + 1, chosen)
    return False


def _most_times(bare: str, at: int) -> int:
    """Return how often at most that repeats what is before a place of a regex."""
    if bare[at : at + 1] in ("*", "+"):
        return _FOR_EVER
    match = _COUNT.match(bare, at)
    if match is None or not (match[1] or match[2]):
        return 1
    least, has_range, most = match.groups()
    return int(most or _FOR_EVER) if has_range else int(least)
