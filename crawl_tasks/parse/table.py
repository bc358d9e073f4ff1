"""All records of a page, read column by column.

A query over all records costs little more than one over a single record, so each plain CSS rule is run once
over the element around them, and its matches are dealt to the records that enclose them. That also keeps a
nested comment's author from being taken for its parent's: a match belongs to the nearest record above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import jmespath
from lxml import etree
from selectolax.lexbor import LexborNode

from crawl_tasks.errors import ParseError
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.joined import joined
from crawl_tasks.parse.reading import Compiled, Where, found_by_xpath
from crawl_tasks.sites.rules import Plain, Rule

Column = list[Plain]
# More matches than this for each record, and asking every record by itself is cheaper than dealing.
_CROWD = 4
MAX_RECORDS = 5_000
_NOWHERE = -1
# No forum nests deeper; a page that does is out to cost time.
_WAY_UP = range(1_100)


@dataclass(frozen=True, slots=True)
class Table:
    """The records of one page. `parents` holds for each the index of the record around it, or None."""

    records: list[Where]
    parents: list[int | None]
    columns: dict[str, Column]


class TableReader:
    """Reads the records of a page with compiled rules."""

    def __init__(self, record: Rule, columns: Mapping[str, Compiled], *, nested: bool, siblings: bool = False) -> None:
        self._find = finder_of(record)
        self._columns = dict(columns)
        self._nested = nested
        self._siblings = siblings
        self._dealt = record.css is not None and not siblings

    def read(self, where: Where, document: Document) -> Table:
        """Return the records below `where`, in document order.

        Raises:
            ParseError: There are more than any forum shows on a page.
        """
        records = self._find(where, document)
        if len(records) > MAX_RECORDS:
            raise ParseError(
                f"{document.page.url}: {len(records)} records on one page, more than {MAX_RECORDS}; "
                "the record rule matches too much"
            )
        if self._siblings:
            records = [*joined([record for record in records if isinstance(record, LexborNode)])]
        dealer = None
        if self._dealt and isinstance(where, LexborNode):
            dealer = _Dealer(where, cast("list[LexborNode]", records))  # CSS finds nothing else
        parents: list[int | None] = [None] * len(records)
        if self._nested and dealer is not None:
            parents = dealer.parents()
        columns = {name: self._column(one, records, document, dealer) for name, one in self._columns.items()}
        return Table(records, parents, columns)

    def _column(self, one: Compiled, records: list[Where], document: Document, dealer: _Dealer | None) -> Column:
        if one.alternatives:
            return self._first_of(one, records, document, dealer)
        if one.column is None or dealer is None:
            return [one.read(record, document) for record in records]
        nodes = dealer.records if one.css is None else dealer.deal(one.css, nested=self._nested)
        return one.column(nodes, document)

    def _first_of(self, one: Compiled, records: list[Where], document: Document, dealer: _Dealer | None) -> Column:
        column: Column = [None] * len(records)
        for other in one.alternatives:
            found = self._column(other, records, document, dealer)
            column = [new if old is None else old for old, new in zip(column, found, strict=True)]
            if None not in column:
                break
        return [one.default if value is None else value for value in column]


class _Dealer:
    """Gives the matches of a selector to the records they stand in."""

    def __init__(self, where: LexborNode, records: list[LexborNode]) -> None:
        self.records = records
        self._scope = (_around(records[0], records[-1]) if records else None) or where
        self._index = {record.mem_id: place for place, record in enumerate(records)}
        # The element around all records ends every way up.
        self._index.setdefault(self._scope.mem_id, _NOWHERE)

    def deal(self, css: str, *, nested: bool) -> list[LexborNode | None]:
        """Return the first match of each record, None where it has none."""
        scope, index = self._scope, self._index
        matches = scope.css(css)
        if len(matches) > _CROWD * len(self.records):
            if not nested:
                return [record.css_first(css) for record in self.records]
            matches = [match for record in self.records for match in record.css(css)]
        dealt: list[LexborNode | None] = [None] * (len(self.records) + 1)  # the last for those that are nowhere
        for match in matches:
            node = match
            for _ in _WAY_UP:
                if (place := index.get(node.mem_id)) is not None:
                    if dealt[place] is None:
                        dealt[place] = match
                    break
                node = node.parent or scope
        return dealt[:_NOWHERE]

    def parents(self) -> list[int | None]:
        """Return for each record the place of the record around it."""
        scope, index = self._scope, self._index
        parents: list[int | None] = []
        for record in self.records:
            node, place = record.parent or scope, None
            for _ in _WAY_UP:
                if (place := index.get(node.mem_id)) is not None:
                    break
                node = node.parent or scope
            parents.append(None if place == _NOWHERE else place)
        return parents


def _around(first: LexborNode, last: LexborNode) -> LexborNode | None:
    """Return the nearest node around both, which holds all that stands between them."""
    above, node = set(), first.parent
    while node is not None:
        above.add(node.mem_id)
        node = node.parent
    node = last.parent
    while node is not None and node.mem_id not in above:
        node = node.parent
    return node


def finder_of(rule: Rule) -> Callable[[Where, Document], list[Where]]:
    """Compile a rule that finds records."""
    if rule.css is not None:
        css = rule.css
        each = _distinct if "," in css else list
        return lambda where, _: each(where.css(css)) if isinstance(where, LexborNode) else []
    if rule.xpath is not None:
        find = etree.XPath(rule.xpath)
        return lambda where, document: [
            one for one in found_by_xpath(find, where, document) if isinstance(one, LexborNode)
        ]
    path = jmespath.compile(rule.json_path or "@")

    def records(where: Where, document: Document) -> list[Where]:
        found = path.search(where)
        return [one for one in found if one is not None] if isinstance(found, list) else []

    return records


def first_of(rule: Rule) -> Callable[[Where, Document], Where]:
    """Compile a rule that finds the only record of a page; it gives None where there is none."""
    if rule.css is not None:
        css = rule.css
        return lambda where, _: where.css_first(css) if isinstance(where, LexborNode) else None
    find = finder_of(rule)
    return lambda where, document: next(iter(find(where, document)), None)


def _distinct(nodes: list[LexborNode]) -> list[Where]:
    """Drop repeats: an element that two selectors of a list match is reported twice."""
    return list({node.mem_id: node for node in nodes}.values())
