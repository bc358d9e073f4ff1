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
    ids = {record.mem_id for record in rows.whole}
    return ids | {part.mem_id for record in rows.whole for part in (followers(record, ids) if rows.siblings else ())}


def find_rows(
    document: Document, known: str = "", least: int = 0, *, ignoring: Set[Placed] = frozenset()
) -> Rows | None:
    """Return the likeliest list of threads: many links of one shape, long texts, times or counts beside.

    With `known`, the shape of threads, only links of this shape count, and `least` rows or two are enough. Links in
    `ignoring` count as page chrome: the newest posts that every page shows.
    """
    kinds = links_of(document, known)
    if ignoring:
        kinds = {shape: [link for link in links if placed(link) not in ignoring] for shape, links in kinds.items()}
    chosen = [kinds.get(known, [])] if known else kinds.values()
    lists = [rows for links in chosen if links and (rows := _rows(links, least or (2 if known else 3))) is not None]
    return max(lists, key=lambda rows: rows.score, default=None)


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
    kept = _alike(list(zip(_boxes(links, list(best.values())), best.values(), strict=True)), least)
    whole, titles = [record for record, _ in kept], [link for _, link in kept]
    siblings = goes_on(whole)
    shown = joined(whole) if siblings else whole
    # A long title counts as 60 characters, or one long link would outweigh a list.
    words = sum(min(len(link.text), 60) for link in titles) / len(kept)
    lively = sum(bool(counts_in(record) or times_in(record)) for record in shown) / len(kept)
    if siblings:
        titles = [replace(link, node=_again(link, box)) for link, box in zip(titles, shown, strict=True)]
    return Rows(whole, shown, titles, len(kept) * words * (0.2 + lively), siblings)


def _boxes(links: Sequence[PageLink], titles: Sequence[PageLink]) -> list[LexborNode]:
    """Return the highest element around each title without links to other threads."""
    keys: dict[int, set[str]] = {}
    # The link to a row's last post may have the number of the post.
    places = {place_in(link.node) for link in titles}
    for link in links:
        for node in upwards(link.node) if place_in(link.node) in places else ():
            keys.setdefault(node.mem_id, set()).add(link.key)
    return [highest(link.node, lambda node: len(keys[node.mem_id]) == 1) for link in titles]


def _alike(rows: Sequence[tuple[LexborNode, PageLink]], least: int) -> list[tuple[LexborNode, PageLink]]:
    """Return the rows whose elements are of the most frequent kind, and whose titles are at one place in them."""
    kind = Counter(kind_of(record) for record, _ in rows).most_common(1)[0][0]
    kept = []
    for record, link in rows:
        # A row alone in a box of its own, such as one pinned thread, gets that box as record: look for the row inside.
        around = (record, *upwards(link.node))
        row = next((node for node in around if kind_of(node) == kind), record)
        if row.tag == kind.partition(".")[0]:
            kept.append((row, link))
    # The newest threads in a sidebar are no rows, even where their elements are of the same tag.
    kept = [pair for pair in kept if not _in_landmark(pair[0])] or kept
    ways = [tuple(_tags_between(link.node, record)) for record, link in kept]
    way, count = Counter(ways).most_common(1)[0]
    return [pair for pair, other in zip(kept, ways, strict=True) if other == way] if count >= least else kept


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
        titled = places.setdefault(place_in(link.node), {})
        # An arrow before the title may lead to the newest reply.
        if link.key not in titled or not letters(titled[link.key].text):
            titled[link.key] = link
    titles: dict[str, PageLink] = {}
    # The day when a thread began may be a link too.
    words = [titled for titled in places.values() if not _are_moments(titled)] or list(places.values())
    for titled in sorted(words, key=lambda group: -sum(min(len(link.text), 60) for link in group.values())):
        for key, link in titled.items():
            other = titles.get(key)
            # The number of replies may be in a title too: `RTX 3080`.
            is_part = bool(_WORD.search(link.text)) and other is not None and link.text != other.text
            if other is None or (is_part and link.text in other.text):
                titles[key] = link
    return {link.key: titles[link.key] for link in links if link.key in titles}


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
    """Return whether the records are side by side, each with a part behind: dt and dd, two rows of a table."""
    others = {record.mem_id for record in records}
    if len({record.parent.mem_id for record in records if record.parent is not None}) != 1:
        return False
    after = [sum(len(node.text().strip()) for node in followers(record, others)) for record in records]
    words = sum(len(record.text().strip()) for record in records)
    return sum(map(bool, after)) * 5 >= len(after) * 4 and sorted(after)[len(after) // 2] * 5 * len(after) >= words


def counts_in(record: LexborNode) -> list[LexborNode]:
    """Return the innermost elements with a count and no other text, perhaps with an icon."""
    counts = [
        node
        for node in find_all(record, "td, span, div, dd, a, b, strong, em, p")
        if _COUNT.fullmatch(node.text().strip())
    ]
    return [node for node in counts if not any(child.text().strip() for child in node.iter(include_text=False))]
