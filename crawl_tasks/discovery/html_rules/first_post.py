"""The first post of a thread: its fields where it is apart from the comments, or is the first of them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import dropwhile

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawl_tasks.discovery.probe.front_page import heading_of
from crawl_tasks.discovery.records.boilerplate import is_subject
from crawl_tasks.discovery.records.record_fields import FoundFields, Select, fields_of, in_records, rules_of
from crawl_tasks.discovery.records.record_queries import selector_in
from crawl_tasks.discovery.records.slots import Path, Slot, Slots, node_at
from crawl_tasks.discovery.records.thread_page import FetchedThread, ThreadRecords
from crawl_tasks.parse.document import find_all, matches
from crawl_tasks.parse.pagination_links import is_in
from crawl_tasks.parse.rules.siblings import followers

_MOST_CUT = 5
_SHORTEST = 3
_CELLS = "table, tbody, tr, td, dl, dt, dd"
# Links of a breadcrumb and headings are of a page, and no part of a text.
_NO_TEXTS = frozenset(("nav", "footer", "aside", "a", "h1", "h2"))


def on_pages(samples: Sequence[FetchedThread], records: ThreadRecords, nodes: Sequence[Sequence[LexborNode]]) -> Select:
    """Return a function that finds elements of the first record on each page from the top of the page.

    A record of several elements is read in a copy, from which the way leads back to the page.
    """
    places = [place for place in range(len(samples)) if nodes[place]]
    roots = [samples[place].document.root for place in places]
    firsts = [_FirstRecord(root, records, nodes, place) for root, place in zip(roots, places, strict=True)]
    return partial(_select_first, roots, firsts, records)


def _select_first(
    roots: Sequence[LexborNode], firsts: Sequence[_FirstRecord], records: ThreadRecords, slots: Slots, slot: Slot
) -> str | None:
    """Return the selector that finds a slot of the first record on each page."""
    located = [first.locate(slot) for first in firsts]
    targets = [target for _, target in located]
    pairs = [(part, target) for part, target in located if part is not None]
    scope = _scope(records, next((part for part, _ in pairs), None))
    # A selector for all records is the better one: among a few first posts may be no guest's.
    own = selector_in([part for part, _ in pairs], [target for _, target in pairs]) if pairs else None
    for css in filter(None, (in_records(slots, slot), own)):
        if css == own and _fits_by_chance(slots, slot, css):
            return None
        whole = _first_within(scope, css, roots, targets)
        if whole is not None:
            return whole
    return selector_in(roots, targets, misses=0)


class _FirstRecord:
    """The first record of a page, which is a box with copies where it has several elements."""

    def __init__(
        self, root: LexborNode, records: ThreadRecords, nodes: Sequence[Sequence[LexborNode]], place: int
    ) -> None:
        """Find the record's elements. `nodes` are the records of all pages, and `place` is the number of the page."""
        elements = find_all(root, records.css)
        self._first = elements[0]
        self._parts = [elements[0], *followers(elements[0], {node.mem_id for node in elements})]
        self._box = nodes[place][0] if records.siblings else None
        self._number = sum(map(len, nodes[:place]))

    def locate(self, slot: Slot) -> tuple[LexborNode | None, LexborNode | None]:
        """Return the element of the record, and the slot's element in there, None without one."""
        target = slot.nodes.get(self._number)
        if target is None:
            return None, None
        return _original(self._box, target, self._parts) if self._box is not None else (self._first, target)


def _scope(records: ThreadRecords, part: LexborNode | None) -> str:
    """Return the selector of the element behind a record, or of the record itself.

    Elsewhere on the page nothing is looked for.
    """
    return f"{records.css} + {part.tag}" if part is not None and not matches(part, records.css) else records.css


def _first_within(
    scope: str, css: str, pages: Sequence[LexborNode], targets: Sequence[LexborNode | None]
) -> str | None:
    """Return the selector that begins with a scope and finds the target first on each page."""
    for whole in _within(scope, css):
        if all(_is_first(page, whole, target) for page, target in zip(pages, targets, strict=True)):
            return whole
    return None


def _fits_by_chance(slots: Slots, slot: Slot, css: str) -> bool:
    """Return whether a selector of first posts finds the slot in most records, and another element in some."""
    strays = 0
    for place, record in enumerate(slots.records):
        # On a page the selector looks only within a record.
        node = next((inner for inner in record.css(css) if inner.mem_id != record.mem_id), None)
        target = slot.nodes.get(place)
        strays += node is not None and target is not None and node.mem_id != target.mem_id
    return 0 < 2 * strays < len(slots.records)


def _within(scope: str, css: str) -> tuple[str, ...]:
    """Return selectors for elements that `css` finds in the elements of `scope`, of which its first part may be one."""
    around, child, inner = css.partition(" > ")
    return (f"{scope} {css}", f"{scope} > {inner}") if child and around.isalpha() else (f"{scope} {css}",)


def _is_first(root: LexborNode, css: str, target: LexborNode | None) -> bool:
    node = root.css_first(css)
    return (node.mem_id if node is not None else None) == (target.mem_id if target is not None else None)


def _original(
    box: LexborNode, target: LexborNode, parts: Sequence[LexborNode]
) -> tuple[LexborNode | None, LexborNode | None]:
    """Return the part of the page, and the element in the part, whose copy in a box is the target."""
    way: list[int] = []
    node: LexborNode | None = target
    while node is not None and node.mem_id != box.mem_id:
        beside = [] if node.parent is None else [child.mem_id for child in node.parent.iter(include_text=False)]
        way.append(beside.index(node.mem_id))
        node = node.parent
    if box.tag == "table":
        # The parser puts rows into a body of their own.
        way = way[:-1]
    part = parts[way[-1]] if way and way[-1] < len(parts) else None
    original = part
    for place in way[-2::-1] if len(way) > 1 else ():
        inner = [] if original is None else list(original.iter(include_text=False))
        original = inner[place] if place < len(inner) else None
    return part, original


def fields_apart(samples: Sequence[FetchedThread], inside: Set[int], like: FoundFields) -> FoundFields:
    """Find the fields of posts that are apart from the comments, one on each page."""
    pages = [root for sample in samples if (root := sample.document.root.css_first("body")) is not None]
    inside = _behind_comments(pages, inside)
    fields = _like_comments(samples, pages, inside, like)
    if fields is not None:
        return fields
    slots = Slots(pages, inside)
    titles = _titles(samples)
    people = set(like.authors.values())
    names = sorted(slots.names(), key=lambda slot: -sum(text in people for text in slot.texts().values()))
    author = next((slot for slot in names if not titles & set(slot.texts().values())), None)
    authors = author.texts() if author else {}
    moments = slots.moments(known=like.order)
    moment = moments[0] if moments else None
    apart = [*filter(None, [author]), *(moment.slot for moment in moments)]
    trails = [slot for slot in slots.all if any(node.tag in _NO_TEXTS for node in slot.nodes.values())]
    path = slots.body(
        authors,
        [*apart, *trails],
        lambda text: any(title in text for title in titles) or text in authors.values(),
    )
    again = partial(rules_of, slots, author, moment, path, authors, foreign=like.foreign, note=like.note)
    rules = again(lambda _, slot: selector_in(pages, slot.targets(len(pages)), misses=0))
    return FoundFields(rules, authors, moment.at if moment else {}, again, slots)


def _behind_comments(pages: Sequence[LexborNode], inside: Set[int]) -> set[int]:
    """Return the ids of the elements from the first comment on: there are the newest posts, and threads like this."""
    ends = [[*dropwhile(lambda node: node.mem_id not in inside, root.css("*"))] for root in pages]
    # The end of a page without comments is what other pages have behind theirs.
    longest = max(ends, key=len, default=[])
    ends += [_common_end(root, longest) for root, end in zip(pages, ends, strict=True) if not end]
    return {node.mem_id for end in ends for node in end}


def _like_comments(
    samples: Sequence[FetchedThread], pages: Sequence[LexborNode], inside: Set[int], like: FoundFields
) -> FoundFields | None:
    """Return the fields of posts that look like their comments, but for the cells or terms of a comment's parts."""
    alike = [(like, cut) for cut in range(_MOST_CUT)] + [(flat, 0) for flat in filter(None, [_without_cells(like)])]
    for fields, cut in alike:
        paths = tuple(path[cut:] if path else None for path in fields.paths)
        posts = [_alike(root, inside, paths) for root in pages]
        pairs = [(root, post) for root, post in zip(pages, posts, strict=True) if post is not None]
        if len(pairs) * 5 < 4 * len(pages) or _held(paths) != _held(fields.paths):
            continue
        subjects: set[int] = set()
        for sample, post in zip(samples, posts, strict=True):
            inner = post.css("*") if post is not None else ()
            subjects |= {node.mem_id for node in inner if is_subject(node, sample.link.text)}
        slots = Slots([post for _, post in pairs], inside | subjects)
        return _of_slots(slots, paths, [root for root, _ in pairs], fields)
    return None


def _titles(samples: Sequence[FetchedThread]) -> set[str]:
    """Return the titles of threads by their links and by their headings: the link of a card has more than the title."""
    titles = {sample.link.text for sample in samples} | {heading_of(sample.document) for sample in samples}
    return {title for title in titles if len(title) > _SHORTEST}


def _common_end(root: LexborNode, other: Sequence[LexborNode]) -> list[LexborNode]:
    """Return the last elements with words of a page that have the words of another page's last ones."""
    own = [node for node in root.css("*") if node.text(deep=False).strip()]
    theirs = [node for node in other if node.text(deep=False).strip()]
    common: list[LexborNode] = []
    for node, like in zip(reversed(own), reversed(theirs), strict=False):
        if node.text(deep=False) != like.text(deep=False):
            break
        common.append(node)
    return common


def _without_cells(like: FoundFields) -> FoundFields | None:
    """Return the fields of comments out of their cells and terms, None without such."""
    records = like.slots.records
    if not any(node.css_first(_CELLS) for node in records):
        return None
    boxes = (LexborHTMLParser(f"<div>{_inner(node)}</div>").css_first("div") for node in records)
    return fields_of([(like.slots.page_of(at), box) for at, box in enumerate(boxes) if box is not None])


def _inner(node: LexborNode) -> str:
    """Return the HTML within an element, without the cells that hold elements only."""
    return "".join(
        (child.html or "") if child.tag not in _CELLS.split(", ") else
        f"<div>{_inner(child)}</div>" if (child.text(deep=False) or "").strip() else _inner(child)
        for child in node.iter(include_text=True)
    )  # fmt: skip


def _held(paths: Sequence[Path | None]) -> list[bool]:
    """Return whether author and moment are within the body."""
    body = paths[2]
    return [body is not None and path is not None and path[: len(body)] == body for path in paths[:2]]


def _of_slots(
    slots: Slots, paths: tuple[Path | None, ...], pages: Sequence[LexborNode], like: FoundFields
) -> FoundFields:
    """Find the fields of posts at the paths that they have in comments, with selectors from the top of the page."""
    author = slots.at(paths[0]) if paths[0] is not None else None
    author = replace(author, regex=like.regex) if author is not None else None
    moment = next((candidate for candidate in slots.moments(0.5, like.order) if candidate.slot.path == paths[1]), None)
    authors = author.texts() if author else {}
    scope = selector_in(pages, slots.records, misses=0)

    def select(_: Slots, slot: Slot) -> str | None:
        targets = slot.targets(len(pages))
        # A selector for comments too is the better one: among a few posts may be no guest's.
        comments = like.slots.records
        twin = like.slots.at(like.paths[paths.index(slot.path)] or ())
        alike = twin.targets(len(comments)) if twin else [None] * len(comments)
        both = selector_in([*comments, *slots.records], [*alike, *targets])
        for css in filter(None, (both, in_records(slots, slot))):
            whole = _first_within(scope, css, pages, targets) if scope else None
            if whole is not None:
                return whole
        return selector_in(pages, targets, misses=0)

    again = partial(rules_of, slots, author, moment, paths[2], authors, foreign=like.foreign, note=like.note)
    return FoundFields(again(select), authors, moment.at if moment else {}, again, slots)


def _alike(page: LexborNode, inside: Set[int], paths: tuple[Path | None, ...]) -> LexborNode | None:
    """Return the first element outside the comments that has author, moment and body where comments have them."""
    wanted = [path for path in paths if path is not None]
    if len(wanted) < 2 or not all(wanted):
        return None
    for node in page.css("*"):
        targets = [node_at(node, path) for path in wanted]
        outside = {
            target.mem_id
            for target in targets
            if target is not None and target.text().strip() and not is_in(target, inside)
        }
        if len(outside) == len(wanted):
            return node
    return None
