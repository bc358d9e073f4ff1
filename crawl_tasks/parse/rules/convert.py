"""Value conversion: the text or attribute of an element, cut by a regex, mapped by a table, turned into its type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl_tasks.parse.document import Document, find_all, must
from crawl_tasks.parse.markup_limits import check_markup
from crawl_tasks.parse.rules.date_reader import PageClock, date_reader
from crawl_tasks.parse.values import text as texts
from crawl_tasks.parse.values.clock_words import clock_of, with_clock
from crawl_tasks.parse.values.counts import read_count, read_int
from crawl_tasks.parse.values.numeric_dates import figures_in
from crawl_tasks.sites.field_rules import As, Plain, Rule, TextMode

Convert: TypeAlias = Callable[[str, Document], Plain]
Take: TypeAlias = Callable[[LexborNode], str | None]

_SIMPLE = re.compile(r"(?:([a-z][a-z0-9]*)|(?=\.))(?:\.([A-Za-z_][\w-]*))*")
# Characters that a regex of a site file may search (docs/site-files.md): a bound on the time of a slow pattern.
SEARCHED = 100_000
_OTHER_THAN_WORDS = "img, picture, video, audio, iframe, embed, object"
FALSE = frozenset({"", "0", "false", "no", "off", "none", "null"})


@dataclass(frozen=True, slots=True)
class Want:
    """The target of a conversion: type, text mode and clock for a rule that names none.

    With `as_written` a date stays the text on the page, provided that the text can be read as a date.
    With `keeps_blank` an element with a picture or a dropped part, and no words, has an empty text and is not missing.
    """

    kind: As
    mode: TextMode
    clock: PageClock
    key_in: Callable[[str], str | None]
    as_written: bool = False
    keeps_blank: bool = False


_DAY_ALONE = re.compile(r"\d{4}-\d\d-\d\d").fullmatch


def take_of(rule: Rule, want: Want) -> Take:
    """Return a function that takes the raw text of an element, without the dropped parts."""
    take = _take_rest(rule, want)
    return _or_blank(take, rule) if keeps_blank(rule, want) else take


def keeps_blank(rule: Rule, want: Want) -> bool:
    """Return whether the rule reads an element without words as an empty text."""
    return want.keeps_blank and not (rule.attr or rule.map) and rule.default is None


def _or_blank(take: Take, rule: Rule) -> Take:
    """Return a function that takes an empty text from an element that shows something but words."""
    selector = _OTHER_THAN_WORDS if rule.drop is None else f"{_OTHER_THAN_WORDS}, {rule.drop}"
    return lambda node: take(node) or ("" if node.css_first(selector) is not None else None)


def _take_rest(rule: Rule, want: Want) -> Take:
    take = _take_whole(rule, want)
    if rule.drop is None:
        return take
    drop, signs = rule.drop, _signs_of(rule.drop)
    if signs and rule.attr is None and (rule.text or want.mode) is TextMode.LINES:
        return _lines_without(take, drop, signs)

    def without(node: LexborNode) -> str | None:
        return take(node) if node.css_first(drop) is None else take(_rest_of(node, drop))

    return without


def _lines_without(take: Take, drop: str, signs: tuple[str, ...]) -> Take:
    """Return a function that takes the lines of an element without the dropped parts, whose signs are in HTML."""

    def without(node: LexborNode) -> str | None:
        # Most bodies have nothing to drop. The HTML, which is needed anyway, shows that without a query.
        html = node.html or ""
        # A loop, because any() with its generator takes 0.4 us more per body.
        for sign in signs:
            if sign in html:
                return take(_rest_of(node, drop))
        return texts.lines(html) or None

    return without


def _rest_of(node: LexborNode, drop: str) -> LexborNode:
    rest = node.clone()
    # Inner ones first: an element is gone with the one around it. What is read is no part of itself.
    for part in reversed(find_all(rest, drop)):
        if part.mem_id != rest.mem_id:
            part.decompose()
    return rest


def _signs_of(selector: str) -> tuple[str, ...]:
    """Return texts of which one is in the HTML of each match of a selector, () for a complex selector."""
    parts = [_SIMPLE.fullmatch(part.strip()) for part in selector.split(",")]
    signs = tuple(f"<{match[1]}" if match[1] else match[2] for match in parts if match)
    return signs if len(signs) == len(parts) else ()


def _take_whole(rule: Rule, want: Want) -> Take:
    if rule.attr is not None:
        name = rule.attr
        return lambda node: node.attrs.get(name)
    if (rule.as_ or want.kind) is As.HTML:
        return lambda node: node.inner_html or None
    if (rule.as_ or want.kind) is As.DATE and rule.text is None:
        return _moment_of
    mode = rule.text or want.mode
    if mode is TextMode.LINES:
        return lambda node: texts.lines(node.html or "") or None
    if mode is TextMode.ALL:
        return lambda node: texts.one_line(node.text()) or None
    return lambda node: texts.one_line(node.text(deep=False, separator=" ")) or None


def _moment_of(node: LexborNode) -> str | None:
    """Return the machine-readable attribute of a time element, with the time of the text where it has the day alone."""
    moment = node.attrs.get("datetime")
    if moment is None or not _DAY_ALONE(moment):
        return moment or texts.one_line(node.text()) or None
    return f"{moment} {clock_of(texts.one_line(node.text()))}".rstrip()


def shape_of(rule: Rule, want: Want) -> Convert:
    """Return the conversion of a raw text: regex, table, type."""
    convert = _convert(rule.as_ or want.kind, rule, want)
    if rule.plus:
        convert = _shifted(convert, rule.plus)
    if rule.map:
        convert = _mapped(convert, rule.map)
    return _cut(convert, rule.regex, is_date=(rule.as_ or want.kind) is As.DATE) if rule.regex else convert


def _mapped(convert: Convert, table: Mapping[str, Plain]) -> Convert:
    def shape(raw: str, document: Document) -> Plain:
        if raw not in table:
            return convert(raw, document)
        value = table[raw]
        return convert(value, document) if isinstance(value, str) else value

    return shape


def _cut(convert: Convert, regex: str, *, is_date: bool) -> Convert:
    """Return the conversion of what a regex finds: its first group, or all of the match."""
    search = re.compile(regex).search

    def shape(raw: str, document: Document) -> Plain:
        match = search(raw[:SEARCHED])
        if match is None:
            return None
        group = min(1, match.re.groups)
        part = with_clock(match.string, *match.span(group)) if is_date else match[group] or ""
        return convert(part, document)

    return shape


def _shifted(convert: Convert, plus: int) -> Convert:
    def shift(raw: str, document: Document) -> Plain:
        value = convert(raw, document)
        return max(0, value + plus) if isinstance(value, int) else value

    return shift


def _convert(kind: As, rule: Rule, want: Want) -> Convert:
    key_in = want.key_in
    is_ours = rule.attr is None and rule.json_path is None and not rule.regex
    read_at = date_reader(rule.format, want.clock)
    table: dict[As, Convert] = {
        As.TEXT: (lambda raw, _: raw.strip()) if keeps_blank(rule, want) else (lambda raw, _: raw.strip() or None),
        As.HTML: lambda raw, document: _clean(raw if is_ours else reserialised(raw), document) or None,
        As.INT: lambda raw, _: read_int(raw),
        As.COUNT: lambda raw, _: read_count(raw),
        As.DATE: _as_written(read_at) if want.as_written else read_at,
        As.URL: lambda raw, document: document.absolute(raw),
        As.BOOL: lambda raw, _: raw.strip().lower() not in FALSE,
        As.ID: lambda raw, document: key_in(raw) or key_in(document.absolute(raw) or ""),
    }
    return table[kind]


def _clean(html: str, document: Document) -> str:
    document.cut += len(html) > texts.LONGEST
    return texts.clean_html(html)


def _as_written(read: Convert) -> Convert:
    # The text of a date in figures tells it from others, whatever its order.
    return lambda raw, document: None if read(raw, document) is None and not figures_in(raw) else raw.strip()


def reserialised(html: str) -> str:
    """Return HTML of unknown origin as our parser serialises it, because texts.lines() reads no other."""
    raw = html.encode("utf-8", "replace")
    check_markup(raw, "HTML in a value")
    return LexborHTMLParser(raw, is_fragment=True).html or ""


def html_in(text: str) -> LexborNode:
    """Return the HTML inside a value as the body of a page of its own."""
    raw = text.encode("utf-8", "replace")
    check_markup(raw, "HTML in a value")
    return must(LexborHTMLParser(raw).body)
