"""JSON text: what the JMESPath of a rule finds, as a text, and its value elsewhere on the page by an id (lookup)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import jmespath
from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.sites.field_rules import Lookup, Rule

JsonTake: TypeAlias = Callable[[LexborNode | Json, Document], str | None]

# orjson reads an integer above 64 bits as the nearest float.
_ROUNDED = 2**63


def json_take(rule: Rule) -> JsonTake:
    """Return a function that takes the text of a JSON value, None for a missing value, a list or an object."""
    path = jmespath.compile(rule.json_path or "")
    look_up = _lookup(rule.lookup) if rule.lookup else None

    def take(where: LexborNode | Json, document: Document) -> str | None:
        # HTML that stood in an answer of JSON has that answer beside.
        value = path.search(document.json if isinstance(where, LexborNode) else where)
        if isinstance(value, list):
            value = _item_of(value, rule)
        if look_up is not None and isinstance(value, str | int):
            value = look_up(str(value), document)
        return None if value is None or isinstance(value, dict | list) else _text_of(value, document)

    return take


def _text_of(value: str | float, document: Document) -> str:
    if isinstance(value, float) and abs(value) >= _ROUNDED:
        document.is_rounded = True
    return str(value).lower() if isinstance(value, bool) else str(value)


def _item_of(values: list[Json], rule: Rule) -> Json:
    """Return all values of a list as one text, or the first value."""
    if rule.all:
        return rule.join.join(str(value) for value in values if value is not None)
    return values[0] if values else None


def _lookup(lookup: Lookup) -> Callable[[str, Document], Json]:
    """Return a function that finds the value of an entry elsewhere on the page by its id, None for an unknown id."""
    signs = (lookup.entries, lookup.by, lookup.give)
    entries, by, give = map(jmespath.compile, signs)

    def table(document: Document) -> dict[str, Json]:
        rows = entries.search(document.json)
        return {str(by.search(row)): give.search(row) for row in rows} if isinstance(rows, list) else {}

    def find(key: str, document: Document) -> Json:
        # The table is made once for a page, not once for each record.
        if signs not in document.tables:
            document.tables[signs] = table(document)
        return document.tables[signs].get(key)

    return find
