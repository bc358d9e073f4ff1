"""Markup limits: one linear look at a page's bytes refuses markup that a parser needs quadratic time or memory for.

Each limit is far above any forum page, and bounds the parsers' work to about a second. Only large pages are searched.
"""

from __future__ import annotations

import re
from collections import Counter

from crawl_tasks.errors import ParseError

# Building the tree costs about 2 ns for each tag and each element open around it (30,000 unclosed <div>: 1.7 s).
CHECKED_FROM_TAGS = 10_000
# Counting tags takes 25 us for a page of 48 KB; up to here the worst, nothing but <ul>, builds in 0.4 s.
SMALL_BYTES = 64_000
MOST_TAGS = 1_000_000
DEEPEST = 1_000
# Both parsers compare each attribute with all before it of its tag (20,000: 0.7 s, 60,000: 5.8 s). Looking for
# such tags takes 5 us a KB, and up to here the worst builds in 2.4 s.
CHECKED_FROM_BYTES = 256_000
MOST_COMPARED = 250_000_000
# HTML opens each unclosed <b>, <font> .. again in each further paragraph: 16 KB made 1.8 million elements of 300 bytes.
REOPENED_FROM_TAGS = 2_000
MOST_REOPENED = 1_000_000

_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Elements without an end tag, or whose end tag people leave out and the parser puts in.
_SHALLOW = frozenset(
    name.encode()
    for names in ("area base br col embed hr img input link meta param source track wbr", "p li dt dd option tr td th")
    for name in (*names.split(), "tbody", "thead", "tfoot", "colgroup", "optgroup", "html", "head", "body")
)
_STYLES = (
    rb"(?=[bBcCeEfFiIsStTuU])([bBiIsSuU]|[eE][mM]|[tT][tT]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]"
    rb"|[sS](?:[mM][aA][lL][lL]|[tT][rR](?:[oO][nN][gG]|[iI][kK][eE])))"
)
# Of formatting without attributes, HTML opens no more than three again.
_STYLED = re.compile(rb"<" + _STYLES + rb"[\s/]")
# What is in a comment or script may be text: an end tag there ends nothing.
_TEXTS = rb"(?i:script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)"
_STEPS = re.compile(
    rb"<" + _STYLES + rb"[\s/]|</" + _STYLES + rb"[\s/>]|(<!--|<" + _TEXTS + rb")|(-->|</" + _TEXTS + rb")"
)
# A tag as HTML's tokenizer reads it. Possessive throughout, so that no byte is read a second time.
_ATTRIBUTE = rb"[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?+)?+"
_USUAL = rb"</?[a-zA-Z][^>\"'=]{0,60}+(?:=(?:\"[^\"]*+\"|'[^']*+')[^>\"'=]{0,60}+){0,20}+>"
_ORDINARY = re.compile(
    rb"(?:[^<]++|"
    + _USUAL
    + rb"|</?[a-zA-Z][^\s/>]*+(?:"
    + _ATTRIBUTE
    + rb"){0,500}+[\s/]*+(?:>|\Z)|</?(?![a-zA-Z/]))*+"
)
_WHOLE_TAG = re.compile(rb"</?([a-zA-Z][^\s/>]*+)((?:" + _ATTRIBUTE + rb")*+)")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
# Within SVG and MathML a script is markup as any other.
_SCRIPT = re.compile(rb"(?i:<script)(?:[^<]++|<(?!/(?i:script)))*+")
_FOREIGN = re.compile(rb"(?i:<(?:svg|math))")
_ROOTS = (b"html", b"body")
# Fewer repeated roots cannot bring many attributes together, as each has 500 at most.
_FEW_ROOTS = 20


def check_markup(raw: bytes, url: str) -> None:
    """Refuse a page with more tags, attributes, nesting or unclosed formatting than any forum page.

    Raises:
        ParseError: The page is over a limit.
    """
    tags = raw.count(b"<")
    if tags > REOPENED_FROM_TAGS:
        _check_formatting(raw, tags, url)
    if tags > MOST_TAGS:
        raise ParseError(f"{url}: has {tags} tags, more than {MOST_TAGS}; that is no forum page")
    if len(raw) > SMALL_BYTES and tags > CHECKED_FROM_TAGS:
        _check_depth(_without_scripts(raw), url)
    if len(raw) > CHECKED_FROM_BYTES and _is_odd(raw):
        _check_attributes(_without_scripts(raw), url)


def _without_scripts(raw: bytes) -> bytes:
    return raw if _FOREIGN.search(raw) else _SCRIPT.sub(b"", raw)


def _check_depth(raw: bytes, url: str) -> None:
    # Tags are counted in the bytes, because the parser itself is the part that takes too long.
    depth = 0
    for tag in _TAG.finditer(raw):
        if tag[2].lower() in _SHALLOW:
            continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > DEEPEST:
            raise ParseError(f"{url}: is nested deeper than {DEEPEST} elements; that is no forum page")


def _check_formatting(raw: bytes, tags: int, url: str) -> None:
    if len(_STYLED.findall(raw)) * tags <= MOST_REOPENED:
        return
    unclosed: Counter[bytes] = Counter()
    most, is_text = 0, False
    for opened, closed, text, text_end in _STEPS.findall(raw):
        if opened:
            unclosed[opened.lower()] += 1
            most = max(most, unclosed.total())
        elif closed and not is_text:
            unclosed[closed.lower()] = max(0, unclosed[closed.lower()] - 1)
        elif text or text_end:
            is_text = bool(text)
    if most * tags > MOST_REOPENED:
        raise ParseError(f"{url}: has {most} unclosed tags such as <b> among {tags}; that is no forum page")


def _is_odd(raw: bytes) -> bool:
    """Return whether a tag has more than 500 attributes, or many tags give attributes to one root."""
    ordinary = _ORDINARY.match(raw)
    if ordinary is None or ordinary.end() < len(raw):
        return True
    lower = raw.lower()
    return sum(lower.count(b"<" + root) for root in _ROOTS) > _FEW_ROOTS


def _check_attributes(raw: bytes, url: str) -> None:
    compared = of_roots = 0
    for tag in _WHOLE_TAG.finditer(raw):
        name, text = tag.groups()
        count = len(_ATTRIBUTES.findall(text))
        if name.lower() in _ROOTS:
            of_roots += count
        else:
            compared += count * count
    if compared + of_roots * of_roots > MOST_COMPARED:
        raise ParseError(f"{url}: has tags of thousands of attributes; that is no forum page")
