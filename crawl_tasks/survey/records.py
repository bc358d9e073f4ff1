"""Before step 1, survey: what repeats on a page of an unknown program, and selectors that find it again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document
from crawl_tasks.survey.links import Link, links_of

_DEEPEST = 40
_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
_TIMES = "time, [datetime], [itemprop=dateCreated], [class*=time], [class*=date], [class*=created], [class*=posted]"
_COUNT = re.compile(r"[\d][\d,. ]*\s*(?:k|m|万|萬|千)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a list: their elements, and in each the link that is the title."""

    records: list[LexborNode]
    titles: list[Link]
    score: float


def find_rows(document: Document) -> Rows | None:
    """Return what looks most like a list of threads: many links of one shape, long texts, times or counts beside."""
    found = [rows for links in links_of(document).values() if (rows := _rows(links)) is not None]
    return max(found, key=lambda rows: rows.score, default=None)


def _rows(links: list[Link]) -> Rows | None:
    if links[0].is_stranger:
        return None
    best: dict[str, Link] = {}
    for link in links:
        if link.key not in best or len(link.text) > len(best[link.key].text):
            best[link.key] = link
    if len(best) < 3:
        return None
    keys: dict[int, set[str]] = {}
    for link in links:
        for node in _upwards(link.node):
            keys.setdefault(node.mem_id, set()).add(link.key)
    records = [_highest(link.node, lambda node: len(keys[node.mem_id]) == 1) for link in best.values()]
    tag = Counter(record.tag for record in records).most_common(1)[0][0]
    kept = [(one, link) for one, link in zip(records, best.values(), strict=True) if one.tag == tag]
    words = sum(min(len(link.text), 60) for _, link in kept) / len(kept)
    lively = sum(bool(record.css_first(_TIMES) or counts_in(record)) for record, _ in kept) / len(kept)
    return Rows([one for one, _ in kept], [link for _, link in kept], len(kept) * words * (0.2 + lively))


def _highest(node: LexborNode, holds: Callable[[LexborNode], bool]) -> LexborNode:
    best = node
    for above in _upwards(node):
        if above.tag in ("body", "html") or not holds(above):
            break
        best = above
    return best


def _upwards(node: LexborNode | None) -> Iterator[LexborNode]:
    for _ in range(_DEEPEST):
        if node is None or node.tag in ("html", "-undef"):
            return
        yield node
        node = node.parent


def times_in(record: LexborNode) -> list[LexborNode]:
    """Return the innermost elements that look like moments."""
    found = record.css(_TIMES)
    return [node for node in found if node.css_first("time, [datetime]") in (None, node) or node.tag == "time"]


def counts_in(record: LexborNode) -> list[LexborNode]:
    """Return the elements that hold a count and nothing else."""
    found = [node for node in record.css("td, span, div, dd, a, b, strong, em, p") if _is_leaf(node)]
    return [node for node in found if _COUNT.fullmatch(node.text().strip())]


def _is_leaf(node: LexborNode) -> bool:
    return not any(child.is_element_node for child in node.iter(include_text=False))


def selector_of(root: LexborNode, records: Sequence[LexborNode]) -> str | None:
    """Return a selector that finds these elements on the page, and as few others as can be."""
    wanted = {record.mem_id for record in records}
    best: tuple[int, str] | None = None
    for css in _candidates(records):
        found = {node.mem_id for node in root.css(css)}
        apart = len(found ^ wanted)
        if best is None or apart < best[0]:
            best = (apart, css)
        if not apart:
            break
    return best[1] if best is not None and best[0] <= max(2, len(wanted) // 2) else None


def selector_in(records: Sequence[LexborNode], targets: Sequence[LexborNode | None]) -> str | None:
    """Return a selector whose first match in each record is its target; it holds for four of five records."""
    pairs = [(one, target) for one, target in zip(records, targets, strict=True) if target is not None]
    if not pairs or len(pairs) * 2 < len(records):
        return None
    for css in _candidates([target for _, target in pairs]):
        hits = sum((found := one.css_first(css)) is not None and found.mem_id == target.mem_id for one, target in pairs)
        if hits >= 0.8 * len(pairs):
            return css
    return None


def _candidates(nodes: Sequence[LexborNode]) -> Iterator[str]:
    """Yield selectors that could name these elements, the plainest first."""
    tag = Counter(node.tag for node in nodes).most_common(1)[0][0]
    alike = [node for node in nodes if node.tag == tag]
    own = [f"{tag}{mark}" for mark in _marks(alike)]
    yield from own
    for above in (1, 2):
        parents = [_above(node, above) for node in alike]
        there = [node for node in parents if node is not None]
        if len(there) < len(alike):
            break
        parent_tag = Counter(node.tag for node in there).most_common(1)[0][0]
        joint = " > " if above == 1 else " "
        for mark in _marks([node for node in there if node.tag == parent_tag]):
            yield from (f"{parent_tag}{mark}{joint}{one}" for one in (*own, str(tag)))
    yield str(tag)


def _marks(nodes: Sequence[LexborNode]) -> Iterator[str]:
    """Yield what all of these elements have in common: classes, itemprop, data attributes."""
    classes = [set((node.attributes.get("class") or "").split()) for node in nodes]
    for name in sorted(set.intersection(*classes) if classes else (), key=lambda one: (len(one), one)):
        if _PLAIN.fullmatch(name):
            yield f".{name}"
    names = set.intersection(*(set(node.attributes) for node in nodes)) if nodes else set()
    for name in sorted(names):
        if name == "itemprop":
            yield f"[itemprop='{nodes[0].attributes[name]}']"
        elif name.startswith("data-") and _PLAIN.fullmatch(name):
            yield f"[{name}]"
    prefixes = {re.sub(r"\d+$", "", node.attributes.get("id") or "") for node in nodes}
    if len(prefixes) == 1 and _PLAIN.fullmatch(prefix := prefixes.pop()):
        yield f"[id^={prefix}]"


def _above(node: LexborNode, levels: int) -> LexborNode | None:
    found: LexborNode | None = node
    for _ in range(levels):
        found = found.parent if found is not None else None
    return found
