"""Rule compilation: one rule becomes a closure that reads one value from a node, a record or a page.

A closure takes (where, document). `where` is the root of the page, a record, or for JSON a value. A closure holds
nothing of a page, so that all threads may share one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import jmespath
from lxml import etree
from selectolax.lexbor import LexborNode

from crawl_tasks.errors import ParseError
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.parse.rules.column import Columnize, column_of
from crawl_tasks.parse.rules.convert import (
    FALSE,
    Convert,
    Take,
    Want,
    html_in,
    keeps_blank,
    reserialised,
    shape_of,
    take_of,
)
from crawl_tasks.parse.rules.json_text import json_take
from crawl_tasks.parse.rules.xpath import found_by_xpath
from crawl_tasks.parse.values import text as texts
from crawl_tasks.sites.field_rules import As, Beside, Plain, Rule, TextMode

Where: TypeAlias = LexborNode | Json
Reader: TypeAlias = Callable[[Where, Document], Plain]
TakeAll: TypeAlias = Callable[[Where, Document], list[str | None]]


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule as closures.

    `column` is set where the rule reads one element, and reads that element of many records at once. `css` finds the
    element in a record. Without `css` the record itself is the element. `alternatives` are the rules of a `first_of`.
    """

    read: Reader
    css: str | None = None
    column: Columnize | None = None
    default: Plain = None
    alternatives: tuple[CompiledRule, ...] = ()


def compile_rule(rule: Rule, want: Want, *, at_page: bool) -> CompiledRule:
    """Compile a rule. `at_page` is true for a rule on the whole page, where a bare regex searches the source."""
    if rule.first_of:
        return _first_of(rule, want, at_page=at_page)
    if rule.beside is not None:
        return _beside(rule, want, rule.beside)
    shape = shape_of(rule, want)
    if rule.json_path is not None:
        is_blank_kept = keeps_blank(rule, want) and rule.css is None
        return CompiledRule(_by_json(rule, shape, _in_html(rule, want), "" if is_blank_kept else rule.default))
    if rule.header is not None:
        return CompiledRule(partial(_by_header, rule.header.lower(), shape, rule.default))
    if rule.xpath is not None or (rule.css is not None and rule.all):
        read = _by_matches(rule, want, shape)
        return CompiledRule(_on_page(read) if at_page else read)
    return _by_element(rule, want, shape, at_page=at_page)


def _by_matches(rule: Rule, want: Want, shape: Convert) -> Reader:
    """Return a reader of all matches as one text, or of the first match of an XPath that asks for no more."""
    take, blank, default = _take_all(rule, want), "" if keeps_blank(rule, want) else None, rule.default
    if rule.xpath is None and (rule.as_ or want.kind) is As.URL:
        return _by_addresses(rule, take, shape)
    most = None if rule.all else 1

    def read(where: Where, document: Document) -> Plain:
        taken = take(where, document)
        raws = _shown(taken, document)[:most]
        missing = blank if "" in taken else None
        value = shape(rule.join.join(raws), document) if raws else missing
        return default if value is None else value

    return read


def _by_addresses(rule: Rule, take: TakeAll, shape: Convert) -> Reader:
    """Return a reader of all matches as one text, with each address made absolute on its own."""

    def read(where: Where, document: Document) -> Plain:
        values = [shape(raw, document) for raw in _shown(take(where, document), document)]
        return rule.join.join(str(value) for value in values if value is not None) or rule.default

    return read


def _take_all(rule: Rule, want: Want) -> TakeAll:
    take, css = take_of(rule, want), rule.css or ""
    if rule.xpath is None:
        return lambda where, _: [*map(take, find_all(where, css))] if isinstance(where, LexborNode) else []
    find = etree.XPath(rule.xpath)
    return lambda where, document: [
        take(match) if isinstance(match, LexborNode) else match for match in found_by_xpath(find, where, document)
    ]


def _shown(taken: list[str | None], document: Document) -> list[str]:
    raws = [text for text in taken if text]
    document.cut += sum(text.__class__ is texts.CutText for text in raws)
    return raws


def _by_element(rule: Rule, want: Want, shape: Convert, *, at_page: bool) -> CompiledRule:
    css, default = rule.css, rule.default
    if css is None and at_page and rule.regex and not (rule.attr or rule.text):
        return CompiledRule(_by_source(shape, default))
    read = _by_css(css, take_of(rule, want), shape, default)
    if css is not None and at_page:
        return CompiledRule(_on_page(read))
    return CompiledRule(read, css, column_of(rule, want), default)


def compile_test(rule: Rule, want: Want, *, at_page: bool = True) -> Callable[[Where, Document], bool]:
    """Return a test whether a rule finds anything that does not mean no."""
    if rule.css is not None and not (rule.attr or rule.regex or rule.map or rule.as_ or rule.text):
        # Whether an element exists can be told without the cost of its text.
        css = rule.css
        if at_page:
            return lambda where, document: _node(where, document).css_first(css) is not None
        return lambda where, _: isinstance(where, LexborNode) and where.css_first(css) is not None
    read = compile_rule(rule, want, at_page=at_page).read
    return lambda where, document: str(read(where, document) or "").strip().lower() not in FALSE


def compile_embedded(rule: Rule, want: Want) -> Callable[[Document], None]:
    """Return a function that lets a document be read by its embedded part: HTML in JSON, or JSON in HTML."""
    if rule.json_path is not None:
        path = jmespath.compile(rule.json_path)
        return lambda document: document.embed_html(_embedded(path.search(document.json), document))
    shape = shape_of(rule, want)

    def embed(document: Document) -> None:
        raw = _raw_json(rule, document)
        document.embed_json(_embedded(shape(raw, document) if raw else None, document))

    return embed


def _raw_json(rule: Rule, document: Document) -> str | None:
    """Return the text of an element unchanged: the blanks in JSON count, which other rules read as one."""
    if rule.css is None:
        return document.source
    node = document.root.css_first(rule.css)
    if node is None:
        return None
    return node.attrs.get(rule.attr) if rule.attr else node.text()


def _embedded(value: object, document: Document) -> str:
    if not isinstance(value, str):
        raise ParseError(f"{document.page.url}: embedded found nothing; mend the rule")
    return value


def _beside(rule: Rule, want: Want, beside: Beside) -> CompiledRule:
    """Return a rule that reads the element before or after a record."""
    inner = compile_rule(rule.model_copy(update={"beside": None}), want, at_page=False)

    def read(where: Where, document: Document) -> Plain:
        node = where if isinstance(where, LexborNode) else None
        while node is not None:
            node = node.prev if beside is Beside.PREVIOUS else node.next
            if node is not None and node.is_element_node:
                return inner.read(node, document)
        return rule.default

    return CompiledRule(read, default=rule.default)


def _node(where: Where, document: Document) -> LexborNode:
    """Return the node, or the HTML root of a page that is read as JSON-LD."""
    return where if isinstance(where, LexborNode) else document.root


def _on_page(read: Reader) -> Reader:
    return lambda where, document: read(_node(where, document), document)


def _by_css(css: str | None, take: Take, shape: Convert, default: Plain) -> Reader:
    """Return a reader of the first match, or without a selector of the record itself."""

    def read(where: Where, document: Document) -> Plain:
        if not isinstance(where, LexborNode):
            return None if css is None else default
        node = where if css is None else where.css_first(css)
        raw = None if node is None else take(node)
        document.cut += raw.__class__ is texts.CutText
        value = None if raw is None else shape(raw, document)
        return default if value is None else value

    return read


def _by_source(shape: Convert, default: Plain) -> Reader:
    def read(where: Where, document: Document) -> Plain:
        value = shape(document.source, document)
        return default if value is None else value

    return read


def _by_header(name: str, shape: Convert, default: Plain, where: Where, document: Document) -> Plain:
    raw = document.page.headers.get(name)
    value = shape(raw, document) if raw else None
    return default if value is None else value


def _in_html(rule: Rule, want: Want) -> Reader | None:
    """Return a reader of the HTML inside a JSON text, None for a rule that takes the text unchanged."""
    if not (rule.css or rule.attr or rule.drop):
        return None
    rest = rule.model_copy(update={"json_path": None, "lookup": None, "default": None})
    return compile_rule(rest, want, at_page=False).read


def _by_json(rule: Rule, shape: Convert, in_html: Reader | None, blank: Plain) -> Reader:
    """Return a reader of a JSON value. `blank` stands for HTML without words, which is there all the same."""
    take, convert, default = json_take(rule), _of_json_text(rule, shape, in_html), rule.default
    missing = default if in_html is None else blank

    def read(where: Where, document: Document) -> Plain:
        raw = take(where, document)
        if raw is None:
            return default
        value = convert(raw, document)
        return missing if value is None else value

    return read


def _of_json_text(rule: Rule, shape: Convert, in_html: Reader | None) -> Convert:
    """Return the conversion of a JSON text: by the rule inside its HTML, as lines of that HTML, or as it is."""
    if in_html is not None:
        return lambda raw, document: in_html(html_in(raw), document)
    if rule.text is not TextMode.LINES:
        return shape

    def lines(raw: str, document: Document) -> Plain:
        text = texts.lines(reserialised(raw))
        document.cut += text.__class__ is texts.CutText
        return shape(text, document)

    return lines


def _first_of(rule: Rule, want: Want, *, at_page: bool) -> CompiledRule:
    blank = want.keeps_blank and rule.default is None
    inner = replace(want, kind=rule.as_ or want.kind, mode=rule.text or want.mode, keeps_blank=blank)
    alternatives = tuple(compile_rule(alternative, inner, at_page=at_page) for alternative in rule.first_of)
    default = rule.default

    def read(where: Where, document: Document) -> Plain:
        best: Plain = None
        for alternative in alternatives:
            value = alternative.read(where, document)
            # A blank text is worth less than the next rule's.
            if value is not None and (best := value) != "":
                break
        return default if best is None else best

    return CompiledRule(read, default=default, alternatives=alternatives)
