"""XPath: its matches on a page or in a record, by lxml, as nodes of the fast parser and as texts."""

from __future__ import annotations

from lxml import etree, html
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl_tasks.parse.document import Document, must
from crawl_tasks.parse.json_ld import Json


def found_by_xpath(find: etree.XPath, where: LexborNode | Json, document: Document) -> list[str | LexborNode]:
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
    return [_as_node(match) if isinstance(match, etree._Element) else str(match) for match in result]


def _plain_xpath(result: object) -> str:
    if isinstance(result, bool):
        return "true" if result else ""
    return f"{result:g}" if isinstance(result, float) else str(result)


def _as_node(element: etree._Element) -> LexborNode:
    raw = html.tostring(element, encoding="unicode", with_tail=False)
    return must(LexborHTMLParser(str(raw), is_fragment=True).root)
