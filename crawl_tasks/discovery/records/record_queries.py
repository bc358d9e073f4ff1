"""Record queries: CSS selectors that find given elements of an unknown page again (wrapper induction)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.address_shape import PEOPLE, UUID, shared_start
from crawl_tasks.discovery.records.repeated_records import DEEPEST, upwards

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
# Classes about the meaning of an element come before those about its looks.
_TELLING = re.compile(
    r"post|comment|topic|thread|message|reply|repl|body|content|text|author|user|name|date|time|title|edit"
)


def selector_of(root: LexborNode, records: Sequence[LexborNode], without: str = "") -> str | None:
    """Return a selector that finds these elements on the page, and as few others as possible.

    A selector with the text `without`, such as the id of this page's thread, is none.
    """
    wanted = {record.mem_id for record in records}
    best: tuple[int, str] | None = None
    for css in (*_candidates(records), *_below(records)):
        if without and without in css:
            continue
        ids = {node.mem_id for node in root.css(css)}
        apart = len(ids ^ wanted)
        if best is None or apart < best[0]:
            best = (apart, css)
        if not apart:
            break
    return best[1] if best is not None and best[0] <= max(2, len(wanted) // 2) else None


def _below(records: Sequence[LexborNode]) -> Iterator[str]:
    """Yield selectors by the elements around the records' common parent, for a page with like elements elsewhere."""
    parents = {record.parent.mem_id: record.parent for record in records if record.parent is not None}
    tags = {str(record.tag) for record in records}
    if len(parents) != 1 or len(tags) != 1:
        return
    parent, [tag] = next(iter(parents.values())), tags
    above = [str(around.tag) for around in upwards(parent)]
    for depth in range(1, min(len(above), 4) + 1):
        yield " > ".join((*above[:depth][::-1], tag))
    place = place_of(parent)
    for depth in range(1, min(len(above), 4) + 1):
        yield " > ".join((*above[1:depth][::-1], f"{parent.tag}:nth-child({place})", tag))


def selector_in(
    records: Sequence[LexborNode], targets: Sequence[LexborNode | None], *, misses: float = 0.2,
    among: Set[int] | None = None,
) -> str | None:  # fmt: skip
    """Return the selector whose first match in each record is its target, and which finds least in the others.

    A selector that misses more than the share `misses` of its targets is none. With `among` all matches count, and
    those that are none of these elements are misses too.
    """
    pairs = [(record, target) for record, target in zip(records, targets, strict=True) if target is not None]
    if not pairs:
        return None
    best: tuple[int, str] | None = None
    for css in dict.fromkeys((*_candidates([target for _, target in pairs], is_inner=True), *_structural(pairs))):
        nodes = [record.css_first(css) for record in records]
        wrong = sum(
            (match is None) != (target is None)
            or (match is not None and target is not None and match.mem_id != target.mem_id)
            for match, target in zip(nodes, targets, strict=True)
        )
        if among is not None and (best is None or wrong < best[0]):
            wrong += sum(node.mem_id not in among for record in records for node in record.css(css))
        if best is None or wrong < best[0]:
            best = (wrong, css)
        if not wrong:
            break
    return best[1] if best is not None and best[0] <= misses * len(pairs) else None


def is_telling(css: str) -> bool:
    """Return whether a selector ends with a class or an attribute: a tag alone may match what other pages show."""
    return any(mark in css.rpartition(" ")[2] for mark in ".[")


def _structural(pairs: Sequence[tuple[LexborNode, LexborNode]]) -> Iterator[str]:
    """Yield selectors by positions of elements, as the way from the record to its target in a few records."""
    tags = dict.fromkeys(str(target.tag) for _, target in pairs)
    tag = f":is({', '.join(tags)})" if len(tags) > 1 else next(iter(tags))
    ways = dict.fromkeys(tuple(_way(record, target, tag)) for record, target in pairs[:12])
    # A poll moves some texts, and has no paragraphs.
    if any(node.tag == "p" for _, target in pairs for node in target.iter(include_text=False)):
        yield from (f"{tag}:is(:has(> p), :nth-child({way[-1][1]}):not(:has(~ {tag} > p)))" for way in ways if way)
    yield from _past_others([target for _, target in pairs], tag)
    for way in list(ways)[:4]:
        for depth in range(1, len(way) + 1):
            part = way[-depth:]
            yield " > ".join(f"{tag}:nth-child({place})" for tag, place, _, _ in part)
            yield " > ".join((*(tag for tag, _, _, _ in part[:-1]), f"{part[-1][0]}:nth-child({part[-1][1]})"))
            yield " > ".join((*(f"{tag}:nth-child({place})" for tag, place, _, _ in part[:-1]), part[-1][0]))
            yield " > ".join((*(tag for tag, _, _, _ in part[:-1]), f"{part[-1][0]}:nth-last-child({part[-1][3]})"))
            yield " > ".join(f"{tag}:nth-of-type({same})" for tag, _, same, _ in part)
        # The record itself is asked too: with the element around, a selector finds no record that is a third child.
        record = pairs[0][0]
        around = [str(record.parent.tag), str(record.tag)] if record.parent is not None else [str(record.tag)]
        for above in (around[-1:], around):
            yield " > ".join((*above, *(f"{tag}:nth-child({place})" for tag, place, _, _ in way)))
            yield " > ".join((*above, *(f"{tag}:nth-last-child({place})" for tag, _, _, place in way)))


def _past_others(targets: Sequence[LexborNode], tag: str) -> Iterator[str]:
    """Yield selectors by position that pass over the elements before some targets: polls, by their parts."""
    place = min(map(place_of, targets))
    own = {node.tag for target in targets for node in target.iter(include_text=False)}
    parts: set[str] = set()
    for target in targets:
        for other in _up_to(target)[place - 1 : -1]:
            # A part that texts have too tells nothing.
            parts.add(next((str(node.tag) for node in other.iter(include_text=False) if node.tag not in own), ""))
    if parts and "" not in parts:
        has_part = f":has(> :is({', '.join(sorted(parts))}))"
        same = min(sum(above.tag == target.tag for above in _up_to(target)) for target in targets)
        for position in (f":nth-child({place})", f":nth-of-type({same})"):
            yield f"{tag}:is({position}, {has_part} + {tag}):not({has_part})"


def _up_to(node: LexborNode) -> list[LexborNode]:
    """Return the elements of the parent up to a node."""
    beside = [] if node.parent is None else list(node.parent.iter(include_text=False))
    return beside[: place_of(node)]


def _way(record: LexborNode, target: LexborNode, last: str) -> list[tuple[str, int, int, int]]:
    """Return tag, position, position among its kind, and position from the end of each element down to the target.

    `last` stands for the target's own tag.
    """
    steps: list[tuple[str, int, int, int]] = []
    node: LexborNode | None = target
    while node is not None and node.mem_id != record.mem_id and len(steps) < DEEPEST:
        beside = [] if node.parent is None else list(node.parent.iter(include_text=False))
        at = next((place for place, other in enumerate(beside) if other.mem_id == node.mem_id), 0)
        same = sum(other.tag == node.tag for other in beside[: at + 1])
        steps.append((str(node.tag) if steps else last, at + 1, same, len(beside) - at))
        node = node.parent
    return steps[::-1]


def _candidates(nodes: Sequence[LexborNode], *, is_inner: bool = False) -> Iterator[str]:
    """Yield selectors that could name these elements, the plainest first."""
    tags = [str(tag) for tag, _ in Counter(node.tag for node in nodes).most_common()]
    yield from _of_tag(tags[0], [node for node in nodes if node.tag == tags[0]], is_inner=is_inner)
    if len(tags) > 1:
        yield from _of_tag(f":is({', '.join(tags)})", nodes, is_inner=is_inner)


def _of_tag(tag: str, alike: Sequence[LexborNode], *, is_inner: bool) -> Iterator[str]:
    own = [f"{tag}{mark}" for mark in _marks(alike)]
    if is_inner and tag == "a" and all(PEOPLE.search(node.attributes.get("href") or "") for node in alike):
        # A guest, or a person who is gone, has no link, and mostly the same class.
        of_guests = [mark for mark in _marks(alike) if mark[0] == "."]
        yield from of_guests
        yield from _below_parents(alike, of_guests, is_inner=is_inner)
    yield from own
    yield from _below_parents(alike, own, tag, is_inner=is_inner)
    places = {place_of(node) for node in alike}
    if len(places) == 1 and tag in ("td", "li", "dd"):
        yield f"{tag}:nth-child({places.pop()})"
    # No query and no number, which may be those of one board.
    links = [node.attributes.get("href") or "" for node in alike]
    start = re.match(r"/(?:[^/?\d']+/$|[^?\d']+[-?])", shared_start(links).rstrip("0123456789"))
    # `/forums/old-` is half the name of one board.
    is_whole = start and (
        start[0].count("/") < 2 or all(re.match(r"\?|[-/]\d", link[start.end() - 1 :]) for link in links)
    )
    if is_inner and start and is_whole:
        yield f"{tag}[href*='{start[0]}']"
    yield tag
    outer = Counter(node.parent.tag for node in alike if node.parent is not None).most_common(1)
    yield from (f"{parent} > {tag}" for parent, _ in outer)
    if not is_inner:
        return
    yield from (f"{before} + {tag}" for before in _shared_tags([element_beside(node, -1) for node in alike]))
    yield from (f"{tag}:has(+ {after})" for after in _shared_tags([element_beside(node, 1) for node in alike]))


def _shared_tags(nodes: Sequence[LexborNode | None]) -> set[str]:
    """Return the tag of elements that all have one, and the same."""
    tags = {str(node.tag) if node is not None else "" for node in nodes}
    return tags if len(tags) == 1 and "" not in tags else set()


def element_beside(node: LexborNode, step: int) -> LexborNode | None:
    """Return the element before (-1) or after (1) another one."""
    beside = node.prev if step < 0 else node.next
    while beside is not None and not beside.is_element_node:
        beside = beside.prev if step < 0 else beside.next
    return beside


def _by_meaning(name: str) -> tuple[bool, bool, int, str]:
    """Return a sort key: classes for scripts last, classes about the meaning first."""
    return name.startswith("js-"), not _TELLING.search(name), len(name), name


def place_of(node: LexborNode) -> int:
    """Return the position of an element within its parent, from 1."""
    before, place = node.prev, 1
    while before is not None:
        place += before.is_element_node
        before = before.prev
    return place


def names_of(node: LexborNode) -> Iterator[str]:
    """Yield selectors of an element by its class, its id and its data attributes."""
    return (f"{node.tag}{mark}" for mark in _marks([node]))


def _marks(nodes: Sequence[LexborNode]) -> Iterator[str]:
    """Yield the common marks of these elements: classes of most, itemprop, data attributes."""
    classes = Counter[str]()
    for node in nodes:
        classes.update(set((node.attributes.get("class") or "").split()))
    for name in sorted((name for name, times in classes.items() if times >= 0.8 * len(nodes)), key=_by_meaning):
        if _PLAIN.fullmatch(name):
            yield f".{name}"
    yield from _attribute_marks(nodes)


def _attribute_marks(nodes: Sequence[LexborNode]) -> Iterator[str]:
    """Yield what these elements have in common but classes: itemprop, data attributes, the begin of links and ids."""
    names = set.intersection(*(set(node.attributes) for node in nodes)) if nodes else set()
    for name in sorted(names):
        if name == "itemprop":
            yield f"[itemprop='{nodes[0].attributes[name]}']"
        elif (name.startswith("data-") or name == "name") and _PLAIN.fullmatch(name):
            yield f"[{name}]"
    above = {(node.attributes.get("href") or "").rstrip("/").rpartition("/")[0] for node in nodes}
    if len(above) == 1 and urlsplit(where := above.pop()).path and len(where) > 2 and "'" not in where:
        yield f"[href*='{where}/']"
    prefixes = {re.sub(rf"(?:{UUID.pattern}|\d+)$", "", node.attributes.get("id") or "") for node in nodes}
    if len(prefixes) == 1 and _PLAIN.fullmatch(prefix := prefixes.pop()):
        yield f"[id^={prefix}]"


def _below_parents(alike: Sequence[LexborNode], own: Sequence[str], *tag: str, is_inner: bool) -> Iterator[str]:
    """Yield selectors of elements, with or without their tag, below a parent or grandparent."""
    for above in (1, 2):
        parents = [node.parent and (node.parent if above == 1 else node.parent.parent) for node in alike]
        known = [node for node in parents if node is not None]
        if len(known) < len(alike):
            break
        parent_tag = Counter(node.tag for node in known).most_common(1)[0][0]
        joint = " > " if above == 1 else " "
        for mark in _marks([node for node in known if node.tag == parent_tag]):
            yield from (f"{parent_tag}{mark}{joint}{name}" for name in (*own, *tag))
        places = {place_of(node) for node in known}
        if is_inner and above == 1 and len(places) == 1:
            yield from (f"{parent_tag}:nth-child({min(places)}) > {name}" for name in own)
        if above == 1 and parent_tag in _HEADINGS:
            yield from (f"{parent_tag} > {name}" for name in (*own, *tag))
