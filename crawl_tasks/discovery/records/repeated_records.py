"""Repeated records on a page of an unknown program (wrapper induction)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.links import PageLink, kind_of, links_of, place_in
from crawl_tasks.discovery.text.timestamps import is_moment, moment_of, times_in
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.rules.siblings import followers, joined
from crawl_tasks.parse.values.text import letters

DEEPEST = 40
_LONGEST_DATE = 40
_WORD = re.compile(r"[^\W\d_]")
_COUNT = re.compile(r"[\d][\d,. ]*\s*(?:k|m|万|萬|千)?", re.IGNORECASE)


Placed = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a list: their elements, and in each the link that is the title.

    With `siblings` a row continues in the elements behind. `records` are then boxes around both.
    """

    whole: list[LexborNode]
    records: list[LexborNode]
    titles: list[PageLink]
    score: float
    siblings: bool = False


def parts_of(rows: Rows) -> set[int]:
    """Return the memory ids of all elements of a page that belong to rows."""
    mine = {record.mem_id for record in rows.whole}
    return mine | {part.mem_id for one in rows.whole for part in (followers(one, mine) if rows.siblings else ())}


def find_rows(
    document: Document, known: str = "", least: int = 0, *, ignoring: Set[Placed] = frozenset()
) -> Rows | None:
    """Return the likeliest list of threads: many links of one shape, long texts, times or counts beside.

    With `known`, the shape of threads, only links of this shape count, and `least` rows or two are enough. Links in
    `ignoring` count as page chrome: the newest posts that every page shows.
    """
    kinds = links_of(document, known)
    if ignoring:
        kinds = {shape: [one for one in links if placed(one) not in ignoring] for shape, links in kinds.items()}
    chosen = [kinds.get(known, [])] if known else kinds.values()
    found = [rows for links in chosen if links and (rows := _rows(links, least or (2 if known else 3))) is not None]
    return max(found, key=lambda rows: rows.score, default=None)


def placed(link: PageLink) -> Placed:
    """Return a link's address with its place on the page."""
    return link.url, place_in(link.node)


def are_pages(links: list[PageLink]) -> bool:
    """Return whether links are a pager: 1 2 3."""
    return sum(link.text.isdigit() for link in links) * 2 > len(links)


def _rows(links: list[PageLink], least: int) -> Rows | None:
    if links[0].is_stranger or are_pages(links):
        return None
    best = _titles(links)
    if len(best) < least:
        return None
    keys: dict[int, set[str]] = {}
    # The link to a row's last post may have the number of the post.
    places = {place_in(link.node) for link in best.values()}
    for link in (one for one in links if place_in(one.node) in places):
        for node in upwards(link.node):
            keys.setdefault(node.mem_id, set()).add(link.key)
    records = [highest(link.node, lambda node: len(keys[node.mem_id]) == 1) for link in best.values()]
    kind = Counter(map(kind_of, records)).most_common(1)[0][0]
    # A row alone in a box of its own, such as one pinned thread, gets that box as record: look for the row inside.
    alike = [
        next((node for node in upwards(link.node) if kind_of(node) == kind), record)
        if kind_of(record) != kind
        else record
        for record, link in zip(records, best.values(), strict=True)
    ]
    kept = [(one, link) for one, link in zip(alike, best.values(), strict=True) if one.tag == kind.partition(".")[0]]
    # The newest threads in a sidebar are no rows, even where their elements are of the same tag.
    kept = [one for one in kept if not _in_landmark(one[0])] or kept
    ways = [tuple(_tags_between(link.node, one)) for one, link in kept]
    way, count = Counter(ways).most_common(1)[0]
    if count >= least:
        kept = [one for one, other in zip(kept, ways, strict=True) if other == way]
    whole, titles = [one for one, _ in kept], [link for _, link in kept]
    siblings = goes_on(whole)
    shown = joined(whole) if siblings else whole
    # A long title counts as 60 characters, or one long link would outweigh a list.
    words = sum(min(len(link.text), 60) for link in titles) / len(kept)
    lively = sum(bool(counts_in(record) or times_in(record)) for record in shown) / len(kept)
    if siblings:
        titles = [replace(link, node=_again(link, box)) for link, box in zip(titles, shown, strict=True)]
    return Rows(whole, shown, titles, len(kept) * words * (0.2 + lively), siblings)


def _in_landmark(node: LexborNode) -> bool:
    return any(above.tag in ("aside", "nav", "footer") for above in upwards(node))


def _tags_between(node: LexborNode, record: LexborNode) -> list[str]:
    tags = []
    for above in upwards(node):
        tags.append(str(above.tag))
        if above.mem_id == record.mem_id:
            break
    return tags


def _titles(links: Sequence[PageLink]) -> dict[str, PageLink]:
    """Return for each key the link that is the title: those at one place of the page with longest texts.

    `Re: an old lamp` leads to the last reply, and has the text of the title within.
    """
    places: dict[tuple[str, ...], dict[str, PageLink]] = {}
    for link in links:
        there = places.setdefault(place_in(link.node), {})
        # An arrow before the title may lead to the newest reply.
        if link.key not in there or not letters(there[link.key].text):
            there[link.key] = link
    found: dict[str, PageLink] = {}
    # The day when a thread began may be a link too.
    words = [there for there in places.values() if not _are_moments(there)] or list(places.values())
    for there in sorted(words, key=lambda one: -sum(min(len(link.text), 60) for link in one.values())):
        for key, link in there.items():
            other = found.get(key)
            # The number of replies may stand in a title too: `RTX 3080`.
            is_part = bool(_WORD.search(link.text)) and other is not None and link.text != other.text
            if other is None or (is_part and link.text in other.text):
                found[key] = link
    return {link.key: found[link.key] for link in links if link.key in found}


def _are_moments(links: Mapping[str, PageLink]) -> bool:
    texts = [link.text for link in links.values()]
    return 2 * sum(
        len(text) <= _LONGEST_DATE and (is_moment(text) or moment_of(text) is not None) for text in texts
    ) > len(texts)


def _again(link: PageLink, box: LexborNode) -> LexborNode:
    """Return the link's counterpart in a copy of the surrounding elements."""
    href = link.node.attributes.get("href")
    return next(node for node in box.css("a[href]") if node.attributes.get("href") == href)


def highest(node: LexborNode, holds: Callable[[LexborNode], bool]) -> LexborNode:
    """Return the outermost element around a node of which this holds, and of all between them."""
    best = node
    for above in upwards(node):
        if above.tag in ("body", "html") or not holds(above):
            break
        best = above
    return best


def upwards(node: LexborNode | None) -> Iterator[LexborNode]:
    """Yield an element and those around it."""
    for _ in range(DEEPEST):
        if node is None or node.tag in ("html", "-undef"):
            return
        yield node
        node = node.parent


def goes_on(records: Sequence[LexborNode]) -> bool:
    """Return whether the records stand side by side, each with a part behind: dt and dd, two rows of a table."""
    others = {record.mem_id for record in records}
    if len({record.parent.mem_id for record in records if record.parent is not None}) != 1:
        return False
    after = [sum(len(node.text().strip()) for node in followers(record, others)) for record in records]
    words = sum(len(record.text().strip()) for record in records)
    return sum(map(bool, after)) * 5 >= len(after) * 4 and sorted(after)[len(after) // 2] * 5 * len(after) >= words


def counts_in(record: LexborNode) -> list[LexborNode]:
    """Return the innermost elements with a count and no other text, perhaps with an icon."""
    found = [
        node
        for node in find_all(record, "td, span, div, dd, a, b, strong, em, p")
        if _COUNT.fullmatch(node.text().strip())
    ]
    return [node for node in found if not any(child.text().strip() for child in node.iter(include_text=False))]
