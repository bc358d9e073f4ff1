"""Column: one value of all records of a page at once, with fewer calls for each than `take_of` and `shape_of` need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from selectolax.lexbor import LexborNode

from crawl_tasks.errors import ParseError
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.rules.convert import Take, Want, keeps_blank, shape_of, take_of
from crawl_tasks.parse.values import text as texts
from crawl_tasks.parse.values.counts import read_count, read_int
from crawl_tasks.sites.field_rules import As, Plain, Rule, TextMode

Nodes: TypeAlias = Sequence[LexborNode | None]
Columnize: TypeAlias = Callable[[Nodes, Document], list[Plain]]
Raws: TypeAlias = Callable[[Nodes, Document], list[str | None]]

_NUMBERS: dict[As, Callable[[str], int | None]] = {As.INT: read_int, As.COUNT: read_count}


def column_of(rule: Rule, want: Want) -> Columnize:
    """Return a reader of a whole column."""
    kind, is_plain = rule.as_ or want.kind, not (rule.regex or rule.map or rule.plus)
    if is_plain and kind is As.TEXT:
        return _text_column(rule, want)
    if is_plain and kind in _NUMBERS and rule.default is None:
        return _number_column(_NUMBERS[kind], _raws_of(rule, want))
    raws_of, shape, default = _raws_of(rule, want), shape_of(rule, want), rule.default

    def column(nodes: Nodes, document: Document) -> list[Plain]:
        shaped = [None if raw is None else shape(raw, document) for raw in raws_of(nodes, document)]
        if default is None:
            return shaped
        return [default if value is None else value for value in shaped]

    return column


def _number_column(read: Callable[[str], int | None], raws_of: Raws) -> Columnize:
    return lambda nodes, document: [None if raw is None else read(raw) for raw in raws_of(nodes, document)]


def _text_column(rule: Rule, want: Want) -> Columnize:
    name, default, is_blank_kept = rule.attr, rule.default, keeps_blank(rule, want)
    if name is not None:
        return lambda nodes, _: [
            default if node is None else (node.attrs.get(name) or "").strip() or default for node in nodes
        ]
    raws_of = _raws_of(rule, want)

    def column(nodes: Nodes, document: Document) -> list[Plain]:
        raws = raws_of(nodes, document)
        values = [(raw.strip() or default) if raw else default for raw in raws]
        return [*raws] if is_blank_kept and None in values and "" in raws else values

    return column


def _raws_of(rule: Rule, want: Want) -> Raws:
    """Return a function that takes the raw texts of a column."""
    if rule.attr is not None:
        name = rule.attr
        return lambda nodes, _: [None if node is None else node.attrs.get(name) for node in nodes]
    take = take_of(rule, want)
    if TextMode.LINES in (rule.text, want.mode):
        return partial(_bounded, take)
    return lambda nodes, _: [None if node is None else take(node) for node in nodes]


def _bounded(take: Take, nodes: Nodes, document: Document) -> list[str | None]:
    """Return the long texts of a column.

    Raises:
        ParseError: The records contain each other, so that a hostile page costs time without end.
    """
    # A nested record repeats its text at each level above. Four times the page leaves room for that.
    budget = 4 * len(document.source) + texts.LONGEST
    raws: list[str | None] = []
    for node in nodes:
        raw = None if node is None else take(node)
        raws.append(raw)
        if raw is not None:
            document.cut += raw.__class__ is texts.CutText
            budget -= len(raw)
            if budget < 0:
                raise ParseError(f"{document.page.url}: the records contain each other many times over; mend the rules")
    return raws
