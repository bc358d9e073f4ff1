"""Thread pages of an unknown program: the post, the comments, their bodies and authors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.field_guesses import longest_in, names_in
from crawl_tasks.discovery.links import PEOPLE
from crawl_tasks.discovery.post_ids import PostIds, marked_in
from crawl_tasks.discovery.repeated_records import goes_on, highest, selector_in, selector_of, upwards
from crawl_tasks.discovery.timestamps import times_in
from crawl_tasks.discovery.yaml_rules import scalar
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.rules.siblings import joined

_BODIES = (
    "[itemprop=articleBody], [itemprop=text], [class*=body], [class*=content], [class*=message], [class*=msg],"
    " [class*=entry], [class*=text], [class*=Body], [class*=Content], .post, .comment"
)
_AUTHORS = "[itemprop=author] [itemprop=name], [rel=author], a[href], [class*=author], [class*=user], [class*=poster]"
# Neighbours of a body in one box: the title again, and the author's signature.
_BESIDE = "h1, h2, h3, h4, h5, h6, [class*=sig]"
_FEW = 20


@dataclass(frozen=True, slots=True)
class ThreadRecords:
    """Elements that are one post each, with their selector and the rule of their ids (empty without ids).

    With `siblings` a record continues in the elements behind, and `nodes` are boxes around both.
    """

    nodes: list[LexborNode]
    css: str
    key: str = ""
    siblings: bool = False

    @property
    def is_nested(self) -> bool:
        """Return whether one record stands inside another."""
        mine = {node.mem_id for node in self.nodes}
        return any(above.mem_id in mine for node in self.nodes for above in upwards(node.parent))


def find_comments(document: Document) -> ThreadRecords | None:
    """Return the likeliest comments: most of the page's words, a moment each and, if possible, ids."""
    best: tuple[float, ThreadRecords] | None = None
    for marked in marked_in(document):
        found = _records(document, marked)
        if found is None:
            continue
        alive = sum(bool(times_in(node)) for node in found.nodes) / len(found.nodes)
        # The cap keeps one very long post from deciding. The 0.05 leaves records without moments a small chance.
        words = sum(min(len(node.text()), 2000) for node in found.nodes) * (0.05 + alive)
        # Numbers without a gap are positions in a thread or on a page: real ids are better.
        score = words * (0.9 if _counts_up(marked.keys) else 1) * (1 if marked.attr else 0.8)
        score *= 0.9 if found.siblings else 1
        if best is None or score > best[0]:
            best = (score, found)
    return best[1] if best is not None else None


def _records(document: Document, marked: PostIds) -> ThreadRecords | None:
    """Return the rules that find the records and their ids again."""
    css = selector_of(document.root, marked.records)
    if css is None or len({node.mem_id for node in marked.records}) < len(marked.records):
        return None
    has_own = all(one.mem_id == other.mem_id for one, other in zip(marked.records, marked.nodes, strict=True))
    siblings = goes_on(marked.records)
    nodes = joined(marked.records) if siblings else marked.records
    place = ""
    if marked.attr and (siblings or not has_own):
        within = [
            node.css_first(f"{mark.tag}[{marked.attr}$='{key}']") for node, mark, key in _with_keys(nodes, marked)
        ]
        place = selector_in(nodes, within) or ""
        if not place:
            return None
    if len(document.root.css(css)) > len(nodes):
        # Page chrome, or the post, may look like a record and have no id.
        css += f":has({place})" if place and not siblings else f"[{marked.attr}]" if marked.attr and has_own else ""
    return ThreadRecords(nodes, css, _key_rule(marked, place), siblings)


def _with_keys(nodes: list[LexborNode], marked: PostIds) -> Iterator[tuple[LexborNode, LexborNode, str]]:
    return zip(nodes, marked.nodes, marked.keys, strict=True)


def _key_rule(marked: PostIds, place: str) -> str:
    if not marked.attr:
        return ""
    number = r"\d+" if marked.keys[0].isdigit() else "[0-9a-f-]{36}"
    before = "#" * (marked.attr == "href") + re.escape(marked.prefix).replace(r"\-", "-")
    parts = [f"css: {scalar(place)}"] if place else []
    parts += [f"attr: {marked.attr}", *([f"regex: {scalar(f'{before}({number})')}"] if before else [])]
    return f"{{{', '.join(parts)}}}"


def _counts_up(keys: list[str]) -> bool:
    first = int(keys[0]) if keys and keys[0].isdecimal() else 2
    return first < 2 and keys == [str(number) for number in range(first, first + len(keys))]


def find_post(document: Document, comments: ThreadRecords | None, elsewhere: str = "") -> LexborNode | None:
    """Return the element around a post apart from the comments, None if the post is one of the records.

    `elsewhere` is the text of a page without the post: text that stands there too is page chrome.
    """
    if comments is not None and comments.siblings:
        return None
    inside = {node.mem_id for node in (comments.nodes if comments else ())}
    # The last condition leaves out menus, which are mostly links.
    apart = [
        node
        for node in document.root.css(_BODIES)
        if node.tag not in ("body", "html")
        and not _touches(node, inside)
        and len(node.text().strip()) >= _FEW
        and not node.css_first("nav, form, script")
        and not _is_chrome(node)
        and " ".join(node.text().split()) not in elsewhere
        and sum(len(link.text()) for link in node.css("a")) * 2 < len(node.text())
    ]
    # A post mostly looks like its comments.
    css = body_in(comments.nodes) if comments is not None else None
    alike = {node.mem_id for node in document.root.css(css)} if css else set()
    best = max(apart, key=lambda node: (node.mem_id in alike, len(node.text())), default=None)
    if best is None:
        return None
    around = best
    while around.parent is not None and around.parent.tag not in ("body", "html", "main"):
        if _touches(around.parent, inside) or around.css_first("h1") is not None:
            break
        around = around.parent
    is_one = best.mem_id in alike or around.css_first("h1") is not None or times_in(around)
    return around if is_one else None


def _is_chrome(node: LexborNode) -> bool:
    above: LexborNode | None = node
    while above is not None:
        if above.tag in ("nav", "footer", "aside") or (
            above.tag == "header" and above.parent is not None and above.parent.tag not in ("article", "section", "li")
        ):
            return True
        above = above.parent
    return False


def _touches(node: LexborNode, inside: set[int]) -> bool:
    """Return whether an element is in one of those, or around one."""
    above: LexborNode | None = node
    while above is not None:
        if above.mem_id in inside:
            return True
        above = above.parent
    return any(one.mem_id in inside for one in node.css("*"))


def body_in(records: list[LexborNode]) -> str | None:
    """Return the selector of the bodies: by their names, else by the place of most of the words."""
    mine = {record.mem_id for record in records}
    css = author_in(records)
    authors = [record.css_first(css) if css else None for record in records]
    apart = [
        {node.mem_id for node in (*times_in(record), *([author] if author is not None else []))}
        for record, author in zip(records, authors, strict=True)
    ]
    named = [_body(one, mine - {one.mem_id}, away) for one, away in zip(records, apart, strict=True)]
    longest = [longest_in(one, away) for one, away in zip(records, apart, strict=True)]
    if any(
        node is not None and (len(node.text()) * 2 > len(one.text()) or (far is not None and _is_in(node, far)))
        for node, one, far in zip(named, records, longest, strict=True)
    ):
        return selector_in(records, named)
    return selector_in(records, longest)


def _length(node: LexborNode) -> int:
    return len(" ".join(node.text().split()))


def _is_in(node: LexborNode, other: LexborNode) -> bool:
    return any(above.mem_id == other.mem_id for above in upwards(node))


def _body(record: LexborNode, others: set[int], apart: set[int]) -> LexborNode | None:
    """Return the smallest named element with nearly all of a record's own words, and no author or moment."""
    # A nested record holds the answers to it: their words are not its own.
    foreign = {one.mem_id for node in record.css("*") if node.mem_id in others for one in node.css("*")} | others
    own = [
        node
        for node in record.css(_BODIES)
        if node.mem_id != record.mem_id
        and node.mem_id not in foreign
        and not any(one.mem_id in apart for one in node.css("*"))
        and not any(one.mem_id in others for one in node.css("*"))
    ]
    words = {node.mem_id: _length(node) - sum(map(_length, node.css(_BESIDE))) for node in own}
    most = max(words.values(), default=0)
    near = [node for node in own if words[node.mem_id] >= 0.9 * most]
    return min(near, key=lambda node: len(node.html or ""), default=None)


def author_in(records: list[LexborNode], titles: Sequence[LexborNode] = ()) -> str | None:
    """Return the selector of the authors: by their names, else by a short text that differs and is no title."""
    return selector_in(records, [_author(record) for record in records]) or selector_in(
        records, names_in(records, {node.mem_id for node in titles})
    )


def _author(record: LexborNode) -> LexborNode | None:
    for css in _AUTHORS.split(", "):
        for node in record.css(css):
            is_person = node.tag != "a" or "href" not in css or PEOPLE.search(node.attributes.get("href") or "")
            if is_person and 0 < _length(node) <= 60 and node.mem_id != record.mem_id:
                return _box_of(node, record)
    return None


def _box_of(name: LexborNode, record: LexborNode) -> LexborNode:
    """Return the outermost element that holds a name and nothing else: a guest has no link, but that box."""
    length, text = _length(name), name.text().strip()
    for node in (name, *(one for one in record.css(str(name.tag)) if one.text().strip() == text)):
        box = highest(node, lambda above: above.mem_id != record.mem_id and _length(above) == length)
        if box.mem_id != node.mem_id:
            return box
    return name
