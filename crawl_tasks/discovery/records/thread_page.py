"""Thread pages of an unknown program: which elements are one post each, by the evidence of several threads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.address_shape import UUID
from crawl_tasks.discovery.links.links import PageLink, kind_of
from crawl_tasks.discovery.records.post_ids import PostIds, marked_in
from crawl_tasks.discovery.records.record_queries import selector_in, selector_of
from crawl_tasks.discovery.records.repeated_records import goes_on, upwards
from crawl_tasks.discovery.text.timestamps import times_in
from crawl_tasks.discovery.text.yaml_rules import literal, scalar
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.pagination_links import is_in
from crawl_tasks.parse.rules.siblings import followers, joined

MOST_HYPOTHESES = 8
_NARROWING = re.compile(r"(?::has\(.*\)|\[[\w-]+\])$")


@dataclass(frozen=True, slots=True)
class FetchedThread:
    """A thread that was looked at: the link in the list, the number of its row, and the first page."""

    link: PageLink
    row: int
    document: Document


@dataclass(frozen=True, slots=True)
class ThreadRecords:
    """Elements that are one post each, with their selector and the rule of their ids (empty without ids).

    With `siblings` a record continues in the elements behind.
    """

    css: str
    key: str = ""
    siblings: bool = False
    score: float = 0.0

    def nodes(self, document: Document) -> list[LexborNode]:
        """Return the records of a page, with `siblings` boxes around all parts of each."""
        nodes = find_all(document.root, self.css)
        return joined(nodes) if self.siblings else nodes

    def parts(self, document: Document) -> list[LexborNode]:
        """Return the elements of a page that belong to records."""
        nodes = find_all(document.root, self.css)
        ids = {node.mem_id for node in nodes}
        return [part for first in nodes for part in (first, *(followers(first, ids) if self.siblings else ()))]

    def leaves_out(self, documents: Sequence[Document]) -> bool:
        """Return whether pages have places of removed posts, which the narrowing leaves out."""
        return any(len(document.root.css(self.bare)) > len(document.root.css(self.css)) for document in documents)

    def is_behind_post(self, documents: Sequence[Document]) -> bool:
        """Return whether a moment is before the first record on all pages: that of a post which is apart.

        The head of a thread may have the moment of the first record too, and is no post then.
        """
        above = [self._moment_above(document) for document in documents]
        firsts = [next(iter(self.nodes(document)), None) for document in documents]
        return all(node is not None for node in above) and not all(
            head is not None and first is not None and _said(head) in set(map(_said, times_in(first)))
            for head, first in zip(above, firsts, strict=True)
        )

    def _moment_above(self, document: Document) -> LexborNode | None:
        inside = {node.mem_id for node in self.parts(document)}
        times = {node.mem_id for node in times_in(document.root)}
        for node in document.root.css("body *"):
            if node.mem_id in inside:
                return None
            if node.mem_id in times:
                return node
        return None

    @property
    def bare(self) -> str:
        """The selector that finds the places of removed posts too: `.post` of `.post:has(time)`."""
        return _NARROWING.sub("", self.css)

    def later(self, documents: Sequence[Document]) -> str:
        """Return the selector of the records behind the first one, which may be beside the others or above them."""
        depth, start = 0, 0
        for at, char in enumerate(self.css):
            depth += (char in "([") - (char in ")]")
            start = at + 1 if char == " " and not depth else start
        beside, below = (f"{self.css} ~ {way}{self.css[start:]}" for way in ("", "* "))
        for css in (beside, below, f":is({beside}, {below})"):
            if all(
                len(find_all(document.root, css)) + 1 == len(find_all(document.root, self.css))
                for document in documents
            ):
                return css
        return beside

    def is_nested(self, nodes: Sequence[LexborNode]) -> bool:
        """Return whether one record is inside another."""
        ids = {node.mem_id for node in nodes}
        return any(is_in(node.parent, ids) for node in nodes)


def _said(moment: LexborNode) -> str:
    """Return a moment as the page writes it."""
    return moment.attributes.get("datetime") or " ".join(moment.text().split())


def comment_hypotheses(samples: Sequence[FetchedThread]) -> list[ThreadRecords]:
    """Return possible comments, likeliest first: most of the page's words, a moment each and, if possible, ids."""
    hypotheses: dict[tuple[str, str, bool], ThreadRecords] = {}
    for sample in sorted(samples, key=lambda hypothesis: -len(hypothesis.document.page.body))[:2]:
        for marked in marked_in(sample.document):
            for alike in (marked, _of_one_kind(marked, lambda node: str(node.tag)), _of_one_kind(marked, kind_of)):
                hypothesis = _records(sample.document, alike, [other.document for other in samples])
                if hypothesis is not None:
                    hypotheses.setdefault((hypothesis.css, hypothesis.key, hypothesis.siblings), hypothesis)
    return sorted(hypotheses.values(), key=lambda hypothesis: -hypothesis.score)[:MOST_HYPOTHESES]


def _of_one_kind(marked: PostIds, kind: Callable[[LexborNode], str]) -> PostIds:
    """Return the marks of only the usual kind: the post may be apart, and the newest threads beside."""
    kinds = [kind(record) for record in marked.records]
    usual, count = Counter(kinds).most_common(1)[0]
    if count < 3:
        return marked
    kept = [at for at, name in enumerate(kinds) if name == usual]
    keys = [marked.keys[at] for at in kept] if marked.keys else []
    return replace(
        marked, records=[marked.records[at] for at in kept], nodes=[marked.nodes[at] for at in kept], keys=keys
    )


def _records(document: Document, marked: PostIds, documents: Sequence[Document]) -> ThreadRecords | None:
    """Return the rules that find the records and their ids again, on the other pages too."""
    css = selector_of(document.root, marked.records) or _by_way(document.root, marked)
    if css is None or len({node.mem_id for node in marked.records}) < len(marked.records):
        return None
    if not marked.attr:
        css = _by_moment(document.root, css, marked.records)
    has_own = all(record.mem_id == other.mem_id for record, other in zip(marked.records, marked.nodes, strict=True))
    siblings = goes_on(marked.records)
    nodes = joined(marked.records) if siblings else marked.records
    is_within = bool(marked.attr) and (siblings or not has_own)
    place = _mark_selector(documents, ThreadRecords(css, siblings=siblings), marked) if is_within else ""
    if is_within and not place:
        return None
    narrower = css
    # Page chrome, the post or the place of a removed one may look like a record and have no id.
    if place and not siblings:
        narrower = f"{css}:has({place})"
    elif marked.attr and has_own and f"[{marked.attr}" not in css:
        narrower = f"{css}[{marked.attr}]"
    # A selector by the record's own class finds nothing within.
    css = narrower if find_all(document.root, narrower) else css
    return ThreadRecords(css, _key_rule(marked, place), siblings, _score(marked, nodes, siblings=siblings))


def _mark_selector(documents: Sequence[Document], records: ThreadRecords, marked: PostIds) -> str:
    """Return the selector of the marks within records, empty where none finds them all."""
    every = [node for page in documents for node in records.nodes(page)]
    return selector_in(every, [_mark_in(node, marked) for node in every]) or ""


def _by_way(root: LexborNode, marked: PostIds) -> str | None:
    """Return a selector by the way down to the mark, as for one in three rows of a table without classes."""
    ways = {
        (str(record.tag), *(str(above.tag) for above in reversed([*takewhile(_is_not(record), upwards(node))])))
        for record, node in zip(marked.records, marked.nodes, strict=True)
    }
    if len(ways) != 1 or not marked.attr:
        return None
    tag, *way = ways.pop()
    # Links to people are beside the link of a post to itself.
    own = f"href*='#{marked.prefix}'" if marked.attr == "href" else marked.attr
    css = f"{tag}:has(> {' > '.join(way)}[{own}])" if way else ""
    ids = {node.mem_id for node in root.css(css)} if css else set()
    return css if ids == {record.mem_id for record in marked.records} else None


def _by_moment(root: LexborNode, css: str, records: Sequence[LexborNode]) -> str:
    """Return a selector without the elements that have no moment where records have theirs, as lists in texts."""
    ids = {record.mem_id for record in records}
    if {node.mem_id for node in root.css(css)} == ids:
        return css
    ways = Counter[tuple[str, ...]]()
    for record in records:
        for node in times_in(record)[:1]:
            ways[tuple(str(above.tag) for above in reversed([*takewhile(_is_not(record), upwards(node))]))] += 1
    for way, _ in ways.most_common(1):
        narrower = f"{css}:has(> {' > '.join(way)})"
        if way and {node.mem_id for node in root.css(narrower)} == ids:
            return narrower
    return css


def _is_not(record: LexborNode) -> Callable[[LexborNode], bool]:
    return lambda node: node.mem_id != record.mem_id


def _mark_in(record: LexborNode, marked: PostIds) -> LexborNode | None:
    """Return the element of a record with its id."""
    before = ".*#" * (marked.attr == "href") + re.escape(marked.prefix)
    form = re.compile(f"{before}(?:{'[0-9]+' if marked.keys[0].isdigit() else UUID.pattern})")
    candidates = record.css(f"{marked.nodes[0].tag}[{marked.attr}]")
    return next(
        (candidate for candidate in candidates if form.fullmatch(candidate.attributes.get(marked.attr) or "")), None
    )


def _score(marked: PostIds, nodes: Sequence[LexborNode], *, siblings: bool) -> float:
    alive = sum(bool(times_in(node)) for node in nodes) / len(nodes)
    # The cap keeps one very long post from deciding. The 0.05 leaves records without moments a small chance.
    words = sum(min(len(" ".join(node.text().split())), 2000) for node in nodes) * (0.05 + alive)
    # Numbers without a gap are positions in a thread or on a page: real ids are better.
    return words * (0.9 if _counts_up(marked.keys) else 1) * (1 if marked.attr else 0.8) * (0.9 if siblings else 1)


def _key_rule(marked: PostIds, place: str) -> str:
    if not marked.attr:
        return ""
    number = r"\d+" if marked.keys[0].isdigit() else "[0-9a-f-]{36}"
    before = "#" * (marked.attr == "href") + literal(marked.prefix)
    parts = [f"css: {scalar(place)}"] if place else []
    parts += [f"attr: {marked.attr}", *([f"regex: {scalar(f'{before}({number})')}"] if before else [])]
    return f"{{{', '.join(parts)}}}"


def _counts_up(keys: list[str]) -> bool:
    first = int(keys[0]) if keys and keys[0].isdecimal() else 2
    return first < 2 and keys == [str(number) for number in range(first, first + len(keys))]
