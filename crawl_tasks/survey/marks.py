"""Before step 1, survey: what tells the posts of a thread page apart: ids, anchors, links to themselves, moments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document
from crawl_tasks.survey.moments import times_in
from crawl_tasks.survey.records import highest, upwards

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(rf"[A-Za-z_-]*?({_UUID}|\d+)")
_NOT_AN_ID = re.compile(r"parent|user|author|time|date|depth|index|count|votes?|level|page|score", re.IGNORECASE)
_FEW = 20


@dataclass(frozen=True, slots=True)
class Marked:
    """Elements of one kind with a number each: the record around each, the element that has it, and where it has it.

    `prefix` is what stands before the number. Where the records have none, `attr` is empty.
    """

    records: list[LexborNode]
    nodes: list[LexborNode]
    keys: list[str]
    attr: str = ""
    prefix: str = ""


def marked_in(document: Document) -> Iterator[Marked]:
    """Yield what may be the posts of a page, each kind once; at last what only has a moment each."""
    groups: dict[tuple[str, ...], dict[str, LexborNode]] = {}
    for node in document.root.css("body *"):
        for attr, prefix, key in _numbers_of(node, document):
            above = node.parent
            beside = (str(above.tag), above.attributes.get("class") or "") if attr in ("href", "name") and above else ()
            groups.setdefault((str(node.tag), attr, prefix, *beside), {}).setdefault(key, node)
    for (_, attr, prefix, *_), found in groups.items():
        if len(found) > 1:
            nodes = list(found.values())
            yield Marked(_records(nodes), nodes, list(found), attr, prefix)
    moments = [node for node in times_in(document.root) if len(node.text()) < _FEW * 4]
    if len(moments) > 1:
        yield Marked(_apart(moments), moments, [])


def _numbers_of(node: LexborNode, document: Document) -> Iterator[tuple[str, str, str]]:
    """Yield attribute, prefix and number of each attribute that may tell a post."""
    for attr, value in node.attributes.items():
        text = value or ""
        if attr == "href" and node.tag == "a":
            before, mark, text = text.rpartition("#")
            url = document.absolute(before) if before else document.page.url
            if not mark or url is None or urlsplit(url).path != urlsplit(document.page.url).path:
                continue
        elif attr != "id" and not attr.startswith("data-") and not (attr == "name" and node.tag == "a"):
            continue
        found = _ID.fullmatch(text)
        if found and not _NOT_AN_ID.search(attr) and not _NOT_AN_ID.search(text[: found.start(1)]):
            yield attr, text[: found.start(1)], found[1]


def _records(nodes: list[LexborNode]) -> list[LexborNode]:
    """Return the elements themselves where they hold words and moments, else what is around each and no other."""
    whole = [node for node in nodes if len(node.text().strip()) >= _FEW and times_in(node)]
    return nodes if len(whole) * 2 > len(nodes) else _apart(nodes)


def _apart(nodes: list[LexborNode]) -> list[LexborNode]:
    held: dict[int, int] = {}
    for node in nodes:
        for above in upwards(node):
            held[above.mem_id] = held.get(above.mem_id, 0) + 1
    return [highest(node, lambda above: held[above.mem_id] == 1) for node in nodes]
