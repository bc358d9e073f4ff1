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
from lxml import etree, html
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl_tasks.errors import ParseError
from crawl_tasks.parse.document import Document, find_all, must
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.parse.rules.convert import (
    FALSE,
    Columnize,
    Convert,
    Take,
    Want,
    column_of,
    html_in,
    keeps_blank,
    reserialised,
    shape_of,
    take_of,
)
from crawl_tasks.parse.values import text as texts
from crawl_tasks.sites.field_rules import As, Beside, Lookup, Plain, Rule, TextMode

# orjson reads an integer above 64 bits as the nearest float.
_ROUNDED = 2**63

Where: TypeAlias = LexborNode | Json
Reader: TypeAlias = Callable[[Where, Document], Plain]


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
    take, default, blank = take_of(rule, want), rule.default, "" if keeps_blank(rule, want) else None
    if rule.xpath is not None:
        read = _by_xpath(rule, shape, take, blank)
        return CompiledRule(_on_page(read) if at_page else read)
    if rule.css is None:
        if at_page and rule.regex and not rule.attr and not rule.text:
            return CompiledRule(_by_source(shape, default))
        return CompiledRule(_by_css(None, take, shape, default), None, column_of(rule, want), default)
    if rule.all:
        read = _by_all(rule, take, shape, blank, each=(rule.as_ or want.kind) is As.URL)
        return CompiledRule(_on_page(read) if at_page else read)
    read = _by_css(rule.css, take, shape, default)
    return CompiledRule(_on_page(read)) if at_page else CompiledRule(read, rule.css, column_of(rule, want), default)


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
    path = None if rule.json_path is None else jmespath.compile(rule.json_path)
    shape, css, attr = shape_of(rule, want), rule.css, rule.attr

    def embed(document: Document) -> None:
        if path is not None:
            text = path.search(document.json)
        else:
            node = document.root.css_first(css) if css else None
            # The blanks in JSON count, which other rules read as one.
            raw = document.source if css is None else node and (node.attrs.get(attr) if attr else node.text())
            text = shape(raw, document) if raw else None
        if not isinstance(text, str):
            raise ParseError(f"{document.page.url}: embedded found nothing; mend the rule")
        (document.embed_json if path is None else document.embed_html)(text)

    return embed


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


def _by_all(rule: Rule, take: Take, shape: Convert, blank: Plain, *, each: bool) -> Reader:
    """Return a reader of all matches as one text. Each address is made absolute on its own."""
    css, join, default = rule.css or "", rule.join, rule.default

    def read(where: Where, document: Document) -> Plain:
        nodes = find_all(where, css) if isinstance(where, LexborNode) else []
        found = [*map(take, nodes)]
        raw = [text for text in found if text]
        document.cut += sum(text.__class__ is texts.CutText for text in raw)
        if each:
            return join.join(str(one) for one in (shape(text, document) for text in raw) if one is not None) or default
        value = shape(join.join(raw), document) if raw else blank if "" in found else None
        return default if value is None else value

    return read


def _by_source(shape: Convert, default: Plain) -> Reader:
    def read(where: Where, document: Document) -> Plain:
        value = shape(document.source, document)
        return default if value is None else value

    return read


def _by_xpath(rule: Rule, shape: Convert, take: Take, blank: Plain) -> Reader:
    find, many, default = etree.XPath(rule.xpath or ""), rule.all, rule.default

    def read(where: Where, document: Document) -> Plain:
        found = [_text_of(one, take) for one in found_by_xpath(find, where, document)]
        raw = [text for text in found if text]
        document.cut += sum(text.__class__ is texts.CutText for text in raw)
        value = shape(rule.join.join(raw) if many else raw[0], document) if raw else blank if "" in found else None
        return default if value is None else value

    return read


def found_by_xpath(find: etree.XPath, where: Where, document: Document) -> list[str | LexborNode]:
    """Return the matches of an XPath on a page or in a record, as nodes of the fast parser and as strings."""
    if not isinstance(where, LexborNode):
        return []
    # lxml cannot search the nodes of the other parser. A record is parsed a second time, as a fragment of its own.
    if where.mem_id == document.root.mem_id:
        scope: etree._Element = document.xml
    else:
        scope = html.fragment_fromstring(where.html or "<div></div>")
    result = find(scope)
    if not isinstance(result, list):
        return [_plain_xpath(result)]
    return [_as_node(one) if isinstance(one, etree._Element) else str(one) for one in result]


def _plain_xpath(result: object) -> str:
    if isinstance(result, bool):
        return "true" if result else ""
    return f"{result:g}" if isinstance(result, float) else str(result)


def _as_node(element: etree._Element) -> LexborNode:
    raw = html.tostring(element, encoding="unicode", with_tail=False)
    return must(LexborHTMLParser(str(raw), is_fragment=True).root)


def _text_of(found: str | LexborNode, take: Take) -> str | None:
    return take(found) if isinstance(found, LexborNode) else found


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
    path, default = jmespath.compile(rule.json_path or ""), rule.default
    mode = rule.text
    look_up = _lookup(rule.lookup) if rule.lookup else None

    def read(where: Where, document: Document) -> Plain:
        # HTML that stood in an answer of JSON has that answer beside.
        raw = path.search(document.json if isinstance(where, LexborNode) else where)
        if isinstance(raw, list):
            raw = rule.join.join(str(one) for one in raw if one is not None) if rule.all else (raw[0] if raw else None)
        if look_up is not None and isinstance(raw, str | int):
            raw = look_up(str(raw), document)
        if raw is None or isinstance(raw, dict | list):
            return default
        if isinstance(raw, float) and abs(raw) >= _ROUNDED:
            document.is_rounded = True
        raw = ("true" if raw else "false") if isinstance(raw, bool) else str(raw)
        if in_html is not None:
            value = in_html(html_in(raw), document)
            return blank if value is None else value
        if mode is TextMode.LINES:
            raw = texts.lines(reserialised(raw))
            document.cut += raw.__class__ is texts.CutText
        value = shape(raw, document)
        return default if value is None else value

    return read


def _lookup(lookup: Lookup) -> Callable[[str, Document], Json]:
    """Return a function that finds the value of an entry elsewhere on the page by its id, None for an unknown id."""
    signs = (lookup.entries, lookup.by, lookup.give)
    entries, by, give = map(jmespath.compile, signs)

    def table(document: Document) -> dict[str, Json]:
        found = entries.search(document.json)
        return {str(by.search(one)): give.search(one) for one in found} if isinstance(found, list) else {}

    def find(key: str, document: Document) -> Json:
        # The table is made once for a page, not once for each record.
        if signs not in document.tables:
            document.tables[signs] = table(document)
        return document.tables[signs].get(key)

    return find


def _first_of(rule: Rule, want: Want, *, at_page: bool) -> CompiledRule:
    blank = want.keeps_blank and rule.default is None
    inner = replace(want, kind=rule.as_ or want.kind, mode=rule.text or want.mode, keeps_blank=blank)
    alternatives = tuple(compile_rule(one, inner, at_page=at_page) for one in rule.first_of)
    default = rule.default

    def read(where: Where, document: Document) -> Plain:
        found: Plain = None
        for one in alternatives:
            value = one.read(where, document)
            # A blank text is worth less than the next rule's.
            if value is not None and (found := value) != "":
                break
        return default if found is None else found

    return CompiledRule(read, default=default, alternatives=alternatives)
