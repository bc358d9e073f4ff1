"""The first post of a thread: its fields where it stands apart from the comments, or is the first of them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import dropwhile, takewhile

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
    pairs = [(one.document.root, place) for place, one in enumerate(samples) if nodes[place]]
    starts = [sum(map(len, nodes[:place])) for _, place in pairs]

    def select(slots: Slots, slot: Slot) -> str | None:
        found: list[LexborNode | None] = []
        around: list[LexborNode | None] = []
        for (root, place), start in zip(pairs, starts, strict=True):
            whole, target = find_all(root, records.css), slot.nodes.get(start)
            parts = [whole[0], *followers(whole[0], {node.mem_id for node in whole})]
            part, inner = whole[0] if target is not None else None, target
            if records.siblings and target is not None:
                part, inner = _original(nodes[place][0], target, parts)
            found.append(inner)
            around.append(part)
        roots = [root for root, _ in pairs]
        first = next((one for one in around if one is not None), None)
        # The element behind the record, or the record itself: what stands elsewhere on the page is not asked.
        scope = f"{records.css} + {first.tag}" if first is not None and not matches(first, records.css) else records.css
        kept = [(one, inner) for one, inner in zip(around, found, strict=True) if one is not None]
        # A selector for all records is the better one: among a few first posts may be no guest's.
        own = selector_in([one for one, _ in kept], [inner for _, inner in kept]) if kept else None
        for css in filter(None, (in_records(slots, slot), own)):
            if css == own and _fits_by_chance(slots, slot, css):
                return None
            for one in _within(scope, css):
                if all(_is_first(root, one, inner) for root, inner in zip(roots, found, strict=True)):
                    return one
        return selector_in(roots, found, misses=0)

    return select


def _fits_by_chance(slots: Slots, slot: Slot, css: str) -> bool:
    """Return whether a selector of first posts finds the slot in most records, and another element in some."""
    # On a page the selector looks within a record alone.
    inner = (next((one for one in node.css(css) if one.mem_id != node.mem_id), None) for node in slots.records)
    found = [(node, slot.nodes.get(at)) for at, node in enumerate(inner)]
    strays = sum(one is not None and other is not None and one.mem_id != other.mem_id for one, other in found)
    return 0 < 2 * strays < len(found)


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
        beside = [] if node.parent is None else [one.mem_id for one in node.parent.iter(include_text=False)]
        way.append(beside.index(node.mem_id))
        node = node.parent
    if box.tag == "table":
        # The parser puts rows into a body of their own.
        way = way[:-1]
    part = parts[way[-1]] if way and way[-1] < len(parts) else None
    found = part
    for place in way[-2::-1] if len(way) > 1 else ():
        inner = [] if found is None else list(found.iter(include_text=False))
        found = inner[place] if place < len(inner) else None
    return part, found


def fields_apart(samples: Sequence[FetchedThread], inside: Set[int], like: FoundFields) -> FoundFields:
    """Find the fields of posts that stand apart from the comments, one on each page."""
    pages = [root for one in samples if (root := one.document.root.css_first("body")) is not None]
    # Behind the comments stand the newest posts, and threads like this one.
    ends = [[*dropwhile(lambda one: one.mem_id not in inside, root.css("*"))] for root in pages]
    # The end of a page without comments is what other pages have behind theirs.
    longest = max(ends, key=len, default=[])
    ends += [_common_end(root, longest) for root, end in zip(pages, ends, strict=True) if not end]
    inside = {node.mem_id for end in ends for node in end}
    # A post mostly looks like its comments, but for the cells or terms in which a comment's parts stand.
    alike = [(like, cut) for cut in range(_MOST_CUT)] + [(flat, 0) for flat in filter(None, [_without_cells(like)])]
    for like, cut in alike:
        paths = tuple(path[cut:] if path else None for path in like.paths)
        posts = [_alike(root, inside, paths) for root in pages]
        there = [(root, post) for root, post in zip(pages, posts, strict=True) if post is not None]
        if len(there) * 5 >= 4 * len(pages) and _held(paths) == _held(like.paths):
            subjects = {
                node.mem_id
                for sample, post in zip(samples, posts, strict=True) if post is not None
                for node in post.css("*") if is_subject(node, sample.link.text)
            }  # fmt: skip
            slots = Slots([post for _, post in there], inside | subjects)
            return _of_slots(slots, paths, [root for root, _ in there], like)
    slots = Slots(pages, inside)
    # The link of a card has more than the title.
    titles = {text for one in samples for text in (one.link.text, heading_of(one.document)) if len(text) > _SHORTEST}
    people = set(like.authors.values())
    names = sorted(slots.names(), key=lambda slot: -sum(text in people for text in slot.texts().values()))
    names = [slot for slot in names if not titles & set(slot.texts().values())]
    author = names[0] if names else None
    authors = author.texts() if author else {}
    moments = slots.moments(known=like.order)
    moment = moments[0] if moments else None
    apart = [*([author] if author else []), *(one.slot for one in moments)]
    trails = [slot for slot in slots.all if any(node.tag in _NO_TEXTS for node in slot.nodes.values())]
    path = slots.body(
        authors, [*apart, *trails], lambda text: any(one and one in text for one in titles) or text in authors.values()
    )
    again = partial(rules_of, slots, author, moment, path, authors, foreign=like.foreign, note=like.note)
    rules = again(lambda _, slot: selector_in(pages, slot.targets(len(pages)), misses=0))
    return FoundFields(rules, authors, moment.at if moment else {}, again, slots)


def _common_end(root: LexborNode, other: Sequence[LexborNode]) -> list[LexborNode]:
    """Return the last elements with words of a page that have the words of another page's last ones."""
    mine, theirs = ([one for one in nodes if one.text(deep=False).strip()] for nodes in (root.css("*"), other))
    pairs = zip(reversed(mine), reversed(theirs), strict=False)
    return [one for one, _ in takewhile(lambda pair: pair[0].text(deep=False) == pair[1].text(deep=False), pairs)]


def _without_cells(like: FoundFields) -> FoundFields | None:
    """Return the fields of comments out of their cells and terms, None without such."""
    records = like.slots.records
    if not any(node.css_first(_CELLS) for node in records):
        return None
    boxes = (LexborHTMLParser(f"<div>{_inner(node)}</div>").css_first("div") for node in records)
    return fields_of([(like.slots.page_of(at), box) for at, box in enumerate(boxes) if box is not None])


def _inner(node: LexborNode) -> str:
    """Return the HTML within an element, without the cells that hold elements alone."""
    return "".join(
        (child.html or "") if child.tag not in _CELLS.split(", ") else
        f"<div>{_inner(child)}</div>" if (child.text(deep=False) or "").strip() else _inner(child)
        for child in node.iter(include_text=True)
    )  # fmt: skip


def _held(paths: Sequence[Path | None]) -> list[bool]:
    """Return whether author and moment stand within the body."""
    body = paths[2]
    return [body is not None and path is not None and path[: len(body)] == body for path in paths[:2]]


def _of_slots(
    slots: Slots, paths: tuple[Path | None, ...], pages: Sequence[LexborNode], like: FoundFields
) -> FoundFields:
    """Find the fields of posts at the paths that they have in comments, with selectors from the top of the page."""
    author = slots.at(paths[0]) if paths[0] is not None else None
    author = replace(author, regex=like.regex) if author is not None else None
    moment = next((one for one in slots.moments(0.5, like.order) if one.slot.path == paths[1]), None)
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
            for whole in _within(scope, css) if scope else ():
                if all(_is_first(page, whole, one) for page, one in zip(pages, targets, strict=True)):
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
        found = [node_at(node, path) for path in wanted]
        there = {one.mem_id for one in found if one is not None and one.text().strip() and not is_in(one, inside)}
        if len(there) == len(wanted):
            return node
    return None
