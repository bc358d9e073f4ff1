"""Post ids: attributes, anchors, links to themselves or moments that tell the posts of a thread page apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.records.repeated_records import highest, upwards
from crawl_tasks.discovery.text.timestamps import is_epoch, times_in
from crawl_tasks.parse.document import Document

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(rf"[A-Za-z_-]*?({_UUID}|\d+)")
# Attributes with numbers of other things, such as data-user-id or data-votes.
_NOT_AN_ID = re.compile(r"parent|user|author|time|date|depth|index|count|votes?|level|page|score", re.IGNORECASE)
_FEW = 20


@dataclass(frozen=True, slots=True)
class PostIds:
    """Elements of one kind with a number each: the surrounding records, the elements, and the numbers.

    `attr` is the attribute with the number, `prefix` the text before the number. `attr` is empty for moments.
    """

    records: list[LexborNode]
    nodes: list[LexborNode]
    keys: list[str]
    attr: str = ""
    prefix: str = ""


def marked_in(document: Document) -> Iterator[PostIds]:
    """Yield possible posts of a page, each kind once. The last kind has only a moment each."""
    groups: dict[tuple[str, ...], dict[str, LexborNode]] = {}
    for node in document.root.css("body *"):
        for attr, prefix, key in _numbers_of(node, document):
            above = node.parent
            beside = (str(above.tag), above.attributes.get("class") or "") if attr in ("href", "name") and above else ()
            groups.setdefault((str(node.tag), attr, prefix, *beside), {}).setdefault(key, node)
    marks = []
    for (_, attr, prefix, *_), attributes in groups.items():
        if len(attributes) > 1:
            nodes = list(attributes.values())
            marks.append(PostIds(_records(nodes), nodes, list(attributes), attr, prefix))
    anchors = [mark for mark in marks if mark.attr in ("id", "name")]
    marks = [mark for mark in marks if mark.attr != "href" or not any(_leads_away(mark, record) for record in anchors)]
    yield from marks
    for alike in _alike(document):
        yield from (record for mark in marks if (record := _marked(alike, mark)))
        yield alike
    moments = [node for node in times_in(document.root) if len(node.text()) < _FEW * 4]
    if len(moments) > 1:
        yield PostIds(_apart(moments), moments, [])


def _leads_away(links: PostIds, anchors: PostIds) -> bool:
    """Return whether links of records lead to the anchors of other records: to what a reply answers."""
    own = {record.mem_id: key for record, key in zip(anchors.records, anchors.keys, strict=True)}
    known, away = set(anchors.keys), 0
    for node, key in zip(links.nodes, links.keys, strict=True):
        around = next((own[above.mem_id] for above in (node, *upwards(node)) if above.mem_id in own), None)
        away += key in known and around is not None and key != around
    return 2 * away > len(links.nodes)


def _alike(document: Document) -> Iterator[PostIds]:
    """Yield elements of one tag and class, or of one parent, with words and a moment each."""
    groups: dict[tuple[str, str], list[LexborNode]] = {}
    for node in document.root.css("div, li, article, section, tr, dt, table"):
        text = node.text().strip()
        if len(text) >= _FEW and times_in(node):
            above = node.parent
            names = node.attributes.get("class") or f"in {above.tag} {above.attributes.get('class')}" if above else ""
            groups.setdefault((str(node.tag), names), []).append(node)
    for nodes in groups.values():
        if len(nodes) > 1:
            yield PostIds(nodes, nodes, [])


def _marked(alike: PostIds, mark: PostIds) -> PostIds | None:
    """Return elements with the marks within them, None unless each has one of its own: replies may be in boxes."""
    records = {node.mem_id for node in alike.records}
    keys = {node.mem_id: key for node, key in zip(mark.nodes, mark.keys, strict=True)}
    marked: dict[int, LexborNode] = {}
    for node in mark.nodes:
        above = next((parent for parent in upwards(node) if parent.mem_id in records), None)
        if above is not None:
            marked.setdefault(above.mem_id, node)
    if marked.keys() != records or all(record.mem_id in records for record in mark.records):
        return None
    nodes = [marked[record.mem_id] for record in alike.records]
    return PostIds(alike.records, nodes, [keys[node.mem_id] for node in nodes], mark.attr, mark.prefix)


def _numbers_of(node: LexborNode, document: Document) -> Iterator[tuple[str, str, str]]:
    """Yield attribute, prefix and number of each attribute that may identify a post."""
    for attr, value in node.attributes.items():
        text = _fragment_here(value or "", document) if attr == "href" and node.tag == "a" else value or ""
        match = _ID.fullmatch(text) if _may_identify(attr, text, node) else None
        if match and not _NOT_AN_ID.search(attr) and not _NOT_AN_ID.search(text[: match.start(1)]):
            yield attr, text[: match.start(1)], match[1]


def _may_identify(attr: str, text: str, node: LexborNode) -> bool:
    if attr.startswith("data-"):
        # Two posts of one second are two.
        return not is_epoch(text)
    return attr == "id" or (attr in {"name", "href"} and node.tag == "a")


def _fragment_here(href: str, document: Document) -> str:
    """Return the fragment of a link to this page, or to the page with the post of that number. Empty for others."""
    before, mark, fragment = href.rpartition("#")
    url = document.absolute(before) if before else document.page.url
    if not mark or url is None:
        return ""
    # `/comment/17#comment-17` leads to the page with that comment.
    is_named = fragment.rpartition("-")[2] in re.findall(r"\d+", before)
    is_here = urlsplit(url).path == urlsplit(document.page.url).path
    return fragment if is_here or is_named else ""


def _records(nodes: list[LexborNode]) -> list[LexborNode]:
    """Return the elements themselves if they hold words and moments, else the largest box around each alone."""
    whole = [node for node in nodes if len(node.text().strip()) >= _FEW and times_in(node)]
    return nodes if len(whole) * 2 > len(nodes) else _apart(nodes)


def _apart(nodes: list[LexborNode]) -> list[LexborNode]:
    held: dict[int, int] = {}
    for node in nodes:
        for above in upwards(node):
            held[above.mem_id] = held.get(above.mem_id, 0) + 1
    return [highest(node, lambda above: held[above.mem_id] == 1) for node in nodes]
