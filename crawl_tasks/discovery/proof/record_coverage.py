"""Record coverage: elements of a page that look like records of the rules, and are none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.links import place_in
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.site_check import FEW
from crawl_tasks.discovery.records.boilerplate import is_dropped, quotes_in
from crawl_tasks.discovery.records.record_queries import element_beside
from crawl_tasks.discovery.records.repeated_records import upwards
from crawl_tasks.discovery.records.slot_texts import is_name
from crawl_tasks.discovery.records.slots import step_of
from crawl_tasks.discovery.records.thread_page import ThreadRecords
from crawl_tasks.discovery.text.timestamps import attribute_of, times_in
from crawl_tasks.discovery.text.vocabulary import REPLIES
from crawl_tasks.parse.document import Document, find_all, matches
from crawl_tasks.parse.pagination_links import is_in
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.schema import Site

_FOLDED = re.compile(r"(?:\D{0,16} )?\d{1,4}\D{1,24}")
_LINKED = re.compile(r"\ba\[[^ ]*$")
_NEAR = 2
"""Levels by which places within a record are compared."""


def first_node(document: Document, rule: Rule | None) -> LexborNode | None:
    """Return the first element that a rule finds on a page."""
    return document.root.css_first(rule.css) if rule is not None and rule.css else None


def is_torn(document: Document, site: Site) -> bool:
    """Return whether author or time of a post are in another record than the text: the copy of a best answer."""
    record = site.comment.record if site.comment is not None else None
    if site.comment is None or record is None or not record.css or site.comment.siblings:
        return False
    records = _ids(find_all(document.root, record.css))
    around = set()
    for name in ("author", "created_at", "body"):
        node = first_node(document, site.post.fields.get(name))
        around.add(next((above.mem_id for above in upwards(node) if above.mem_id in records), None) if node else None)
    return len(around - {None}) > 1


def _ids(nodes: Iterable[LexborNode]) -> set[int]:
    return {node.mem_id for node in nodes}


def replies_within(records: Sequence[LexborNode], rules: Mapping[str, Rule], mark: str) -> int:
    """Return the number of elements in the first record with any that hold author and moment as it does."""
    author, body = rules.get("author"), rules.get("body")
    if author is None or not author.css:
        return 0
    ids = _ids(records)
    for record in records:
        boxes = [box for box in _boxes_in(record, mark) if box.mem_id not in ids and box.tag == record.tag]
        count = sum(box.css_first(author.css) is not None and not _is_left_out(box, body) for box in boxes)
        if count:
            return count
    return 0


def _boxes_in(record: LexborNode, mark: str) -> list[LexborNode]:
    """Return the elements that are around a further mark of a record as the record is around its first one."""
    ways = [list(upwards(node)) for node in find_all(record, mark)]
    depth = next((level for level, node in enumerate(ways[0]) if node.mem_id == record.mem_id), 0) if ways else 0
    return list({way[depth].mem_id: way[depth] for way in ways[1:] if depth and len(way) > depth}.values())


def _is_left_out(node: LexborNode, body: Rule | None) -> bool:
    """Return whether a rule for texts drops an element, or one around it."""
    drop = (body.drop if body is not None else None) or ""
    return drop != "" and any(matches(above, drop) for above in upwards(node))


def folded_link(document: Document, records: Sequence[LexborNode]) -> str:
    """Return the text of a link to replies that stands where a record would: `3 more replies`."""
    # The item of a list may hold a record and, beside, its replies.
    items = [record.parent for record in records if record.parent is not None and record.parent.tag == "li"]
    tags = {node.tag for node in (*records, *items)}
    ids = _ids((*records, *items))
    for link in document.root.css("a, button"):
        text = " ".join(link.text().split())
        if not (_FOLDED.fullmatch(text) and REPLIES.search(text)):
            continue
        around = list(upwards(link))
        alone = [node for node in around if " ".join(node.text().split()) == text]
        if ids & _ids(around) and any(node.tag in tags for node in alone):
            return text
    return ""


def more_than(document: Document, records: ThreadRecords, mark: str, moment: LexborNode | None) -> int:
    """Return the number of elements, outside of all records, with a mark where records have theirs.

    The element around the `moment` of the post is not counted.
    """
    depths = _mark_depths(document, records, mark)
    inside = _ids(records.parts(document))
    boxes: dict[int, LexborNode] = {}
    for node in find_all(document.root, mark):
        depth, around = depths.get(place_in(node)), list(upwards(node))
        if depth is None or depth >= len(around) or any(above.mem_id in inside for above in around):
            continue
        if times_in(around[depth]) or attribute_of(node) is not None:
            boxes[around[depth].mem_id] = around[depth]
    of_post = set() if moment is None else _ids(upwards(moment))
    # Of a record of several elements only the first counts.
    others = [box for key, box in boxes.items() if key not in of_post]
    before = [element_beside(box, -1) if records.siblings else None for box in others]
    return sum(node is None or node.mem_id not in boxes for node in before)


def _mark_depths(document: Document, records: ThreadRecords, mark: str) -> dict[tuple[str, ...], int]:
    """Return how many levels the marks of records are below these, by the places of the marks."""
    depths = {}
    for record in find_all(document.root, records.css):
        if (node := record.css_first(mark)) is not None:
            above = [parent.mem_id for parent in upwards(node)]
            depths[place_in(node)] = above.index(record.mem_id) if record.mem_id in above else 0
    return depths


def is_uneven(records: Sequence[LexborNode], body: Rule | None, time: Rule) -> bool:
    """Return whether the texts of some records hold the record's time, and those of others do not."""
    if body is None or not body.css or not time.css:
        return False
    holds = set()
    for record in records:
        text, moment = record.css_first(body.css), record.css_first(time.css)
        if text is not None and moment is not None:
            holds.add(text.mem_id in _ids(upwards(moment)))
    return len(holds) > 1


def guest_in(records: Sequence[LexborNode], author: Rule | None, of_post: Rule | None) -> str:
    """Return the name of a comment's author without a link, where the rule for the post's author asks for one."""
    if author is None or not author.css or of_post is None or not _LINKED.search(of_post.css or ""):
        return ""
    for record in records:
        node = record.css_first(author.css)
        if node is None or any(above.tag == "a" for above in upwards(node)):
            continue
        name = node.text().strip()
        if name and node.css_first("a") is None:
            return name
    return ""


def repeated_quote(records: Sequence[LexborNode], body: Rule | None, author: Rule | None) -> str:
    """Return the text of an element within a record's text that repeats another record, with its author's name."""
    if body is None or not body.css or author is None or not author.css:
        return ""
    nodes = [(place, record.css_first(author.css)) for place, record in enumerate(records)]
    authors = {place: node.text().strip() for place, node in nodes if node is not None}
    for record, box in quotes_in(records, authors):
        text = record.css_first(body.css)
        is_inside = text is not None and text.mem_id in _ids(list(upwards(box))[1:])
        if is_inside and not (body.drop and is_dropped(box, body.drop)):
            return " ".join(box.text().split())
    return ""


def labels_in(trial: DryRun, records: Sequence[LexborNode], body: Rule | None) -> list[str]:
    """Return the name of a thread's author if all records hold it before their text, though others wrote them."""
    items = trial.parsed.items if trial.parsed is not None else None
    if items is None or len(records) < FEW:
        return []
    labels = []
    for author in (post.author for post in items.posts if post.author):
        others = sum(comment.author != author for comment in items.comments)
        if 2 * others >= len(records) and all(author in _texts_above(record, body) for record in records):
            labels.append(author)
    return labels


def _texts_above(record: LexborNode, body: Rule | None) -> Iterator[str]:
    """Yield the texts of the elements of a record that come before its text."""
    for node in record.css("*"):
        if body and body.css and matches(node, body.css):
            return
        yield node.text().strip()


def nameless_in(records: Sequence[LexborNode], author: Rule | None) -> str | None:
    """Return the name that is in a record where others have their author, and that is not the author read."""
    if author is None or not author.css:
        return None
    nodes = [record.css_first(author.css) for record in records]
    places = [None if node is None else (step_of(node), *place_in(node)[1:_NEAR]) for node in nodes]
    counts = Counter(place for place in places if place is not None)
    if not counts:
        return None
    usual = counts.most_common(1)[0][0]
    around = {
        place_in(node.parent)[:_NEAR]
        for node, place in zip(nodes, places, strict=True)
        if node is not None and node.parent is not None and place == usual
    }
    for record, node, place in zip(records, nodes, places, strict=True):
        if place != usual:
            names = (text for text in _texts_at(record, records, around, node) if is_name(text))
            name = next(names, None)
            if name is not None:
                return name
    return None


def _texts_at(
    record: LexborNode, records: Sequence[LexborNode], around: set[tuple[str, ...]], author: LexborNode | None
) -> Iterator[str]:
    """Yield the texts of a record's elements in places `around`, but for its author and for records within it."""
    inner = [other for other in records if is_in(other.parent, {record.mem_id})]
    within = {node.mem_id for other in inner for node in other.css("*")}
    for node in record.css("*"):
        if not node.parent or node.mem_id in within or place_in(node.parent)[:_NEAR] not in around:
            continue
        if author is None or node.mem_id != author.mem_id:
            yield " ".join(node.text().split())
