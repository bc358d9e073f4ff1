"""Columnar reading: each field of all records of a page in one query.

A query over all records costs little more than a query over a single record. Each plain CSS rule therefore runs once
over the element around all records, and each match goes to the nearest record above. This also keeps the author of a
nested comment from becoming the author of the parent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import jmespath
from lxml import etree
from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.rules.compile import CompiledRule, Where
from crawl_tasks.parse.rules.siblings import joined
from crawl_tasks.parse.rules.xpath import found_by_xpath
from crawl_tasks.sites.field_rules import Plain, Rule

Column = list[Plain]
# With more matches than this for each record, a query for each record is cheaper than the way up from each match.
_MAX_MATCHES = 4
MAX_RECORDS = 5_000
_NOWHERE = -1
_LATER = " ~ "
# No forum nests deeper. A page that does would cost time for each match.
_ANCESTOR_STEPS = range(1_100)


@dataclass(frozen=True, slots=True)
class Table:
    """The records of one page. `parents` holds for each record the index of the enclosing record, or None.

    `notes` tell of records that were left out, because the page has more than a table takes.
    """

    records: list[Where]
    parents: list[int | None]
    columns: dict[str, Column]
    notes: tuple[str, ...] = ()


class TableReader:
    """Reader of the records of a page, by compiled rules."""

    def __init__(
        self, record: Rule, columns: Mapping[str, CompiledRule], *, nested: bool, siblings: bool = False
    ) -> None:
        self._find = finder_of(record)
        self._columns = dict(columns)
        self._nested = nested
        self._siblings = siblings
        self._can_split = record.css is not None and not siblings

    def read(self, where: Where, document: Document) -> Table:
        """Return the records below `where`, in document order, and of a page with too many the first ones."""
        matches = self._find(where, document)
        records = matches[:MAX_RECORDS]
        notes: tuple[str, ...] = ()
        if len(matches) > MAX_RECORDS:
            notes = (f"{len(matches)} records on one page: only the first {MAX_RECORDS} are taken; is record right?",)
        if self._siblings:
            records = [*joined([record for record in records if isinstance(record, LexborNode)])]
        split = None
        if self._can_split and isinstance(where, LexborNode):
            # A CSS rule finds nothing but nodes.
            split = _ColumnSplit(where, cast("list[LexborNode]", records))
        parents: list[int | None] = [None] * len(records)
        if self._nested and split is not None:
            parents = split.parents()
        columns = {name: self._column(rule, records, document, split) for name, rule in self._columns.items()}
        return Table(records, parents, columns, notes)

    def _column(
        self, rule: CompiledRule, records: list[Where], document: Document, split: _ColumnSplit | None
    ) -> Column:
        if rule.alternatives:
            return self._first_of(rule, records, document, split)
        if rule.column is None or split is None:
            return [rule.read(record, document) for record in records]
        nodes = split.records if rule.css is None else split.first_matches(rule.css, nested=self._nested)
        return rule.column(nodes, document)

    def _first_of(
        self, rule: CompiledRule, records: list[Where], document: Document, split: _ColumnSplit | None
    ) -> Column:
        column: Column = [None] * len(records)
        for alternative in rule.alternatives:
            values = self._column(alternative, records, document, split)
            column = [new if old is None or (old == "" and new is not None) else old
                      for old, new in zip(column, values, strict=True)]  # fmt: skip
            if None not in column and "" not in column:
                break
        return [rule.default if value is None else value for value in column]


class _ColumnSplit:
    """The assignment of a selector's matches to the records around them."""

    def __init__(self, where: LexborNode, records: list[LexborNode]) -> None:
        self.records = records
        self._scope = (_around(records[0], records[-1]) if records else None) or where
        self._index = {record.mem_id: place for place, record in enumerate(records)}
        # The element around all records is where each way up ends.
        self._index.setdefault(self._scope.mem_id, _NOWHERE)
        self._matches: dict[str, list[LexborNode | None]] = {}

    def first_matches(self, css: str, *, nested: bool) -> list[LexborNode | None]:
        """Return the first match in each record, None for a record without a match."""
        # An author's name and id, say, are often read from one element.
        if css not in self._matches:
            self._matches[css] = self._assigned(css, nested=nested)
        return self._matches[css]

    def _assigned(self, css: str, *, nested: bool) -> list[LexborNode | None]:
        scope, index = self._scope, self._index
        matches = scope.css(css)
        if len(matches) > _MAX_MATCHES * len(self.records):
            if not nested:
                return [record.css_first(css) for record in self.records]
            matches = [match for record in self.records for match in record.css(css)]
        # The last place takes the matches outside of all records (_NOWHERE is -1).
        matched: list[LexborNode | None] = [None] * (len(self.records) + 1)
        for match in matches:
            node = match
            for _ in _ANCESTOR_STEPS:
                if (place := index.get(node.mem_id)) is not None:
                    if matched[place] is None:
                        matched[place] = match
                    break
                node = node.parent or scope
        return matched[:_NOWHERE]

    def parents(self) -> list[int | None]:
        """Return for each record the index of the record around it, None for an outermost one."""
        scope, index = self._scope, self._index
        parents: list[int | None] = []
        for record in self.records:
            node, place = record.parent or scope, None
            for _ in _ANCESTOR_STEPS:
                if (place := index.get(node.mem_id)) is not None:
                    break
                node = node.parent or scope
            parents.append(None if place == _NOWHERE else place)
        return parents


def _around(first: LexborNode, last: LexborNode) -> LexborNode | None:
    """Return the nearest common ancestor of two nodes, which holds everything between them."""
    above, node = set(), first.parent
    while node is not None:
        above.add(node.mem_id)
        node = node.parent
    node = last.parent
    while node is not None and node.mem_id not in above:
        node = node.parent
    return node


def _all_but_first(where: LexborNode, css: str, base: str) -> list[Where]:
    """Return the matches of `base` but the first. `css` is `base ~ base`: it means them, and lacks some on a bad page.

    A post with an unclosed <em> puts an element around all posts behind it: these are no siblings of those before.
    """
    later, every = find_all(where, css), find_all(where, base)
    if len(later) >= len(every) - 1:
        return list(later)
    known, rest = {every[0].mem_id}, list[Where]()
    for node in every[1:]:
        above = node.parent
        while above is not None and above.mem_id not in known:
            above = above.parent
        known.add(node.mem_id)
        if above is None:
            rest.append(node)
    return rest


def first_left_out(rule: Rule) -> str | None:
    """Return the selector of which a rule leaves out the first match: X of `X ~ X`, None for any other rule."""
    base = rule.css[: (len(rule.css) - len(_LATER)) // 2] if rule.css is not None else ""
    return base if base and rule.css == f"{base}{_LATER}{base}" else None


def finder_of(rule: Rule) -> Callable[[Where, Document], list[Where]]:
    """Return a compiled rule that finds records."""
    if rule.css is not None:
        css = rule.css
        base = first_left_out(rule)
        if base is not None:
            return lambda where, _: _all_but_first(where, css, base) if isinstance(where, LexborNode) else []
        return lambda where, _: list(find_all(where, css)) if isinstance(where, LexborNode) else []
    if rule.xpath is not None:
        find = etree.XPath(rule.xpath)
        return lambda where, document: [
            match for match in found_by_xpath(find, where, document) if isinstance(match, LexborNode)
        ]
    path = jmespath.compile(rule.json_path or "@")

    def records(where: Where, document: Document) -> list[Where]:
        values = path.search(where)
        return [value for value in values if value is not None] if isinstance(values, list) else []

    return records


def first_of(rule: Rule) -> Callable[[Where, Document], Where]:
    """Return a compiled rule that finds the only record of a page, None where there is none."""
    if rule.css is not None:
        css = rule.css
        return lambda where, _: where.css_first(css) if isinstance(where, LexborNode) else None
    find = finder_of(rule)
    return lambda where, document: next(iter(find(where, document)), None)
