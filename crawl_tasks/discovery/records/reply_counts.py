"""Reply and view counts: the numbers in the rows of an unknown program, and their meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.records.record_queries import place_of, selector_in
from crawl_tasks.discovery.records.repeated_records import counts_in, upwards
from crawl_tasks.discovery.records.slots import Slots
from crawl_tasks.discovery.text.timestamps import attribute_of
from crawl_tasks.discovery.text.vocabulary import LATEST, POSTS, REPLIES, VIEWS
from crawl_tasks.discovery.text.yaml_rules import scalar
from crawl_tasks.parse.document import find_all
from crawl_tasks.parse.values.counts import read_count

# Fewer rows may all have a reply by chance, so they do not show that the first post counts.
_ENOUGH = 10
_NUMBER = r"\W{0,3}(\d[\d.,]*)"
_LONGEST = 80
_MOST_LABELS = 4
_BEGINS = re.compile(r"\W*\d[\d.,]*\s*[^\W\d]+\W+\d")
_PARTS = re.compile(r"[|·•;()\[\]—–]|,(?!\d)| - ")
# `3 replies`, `Replies: 3`, `返信 3`: a longer text is prose.
_LABELLED = re.compile(
    r"\W*(?:\D{0,24}?\d[\d.,]*\s*(?:k|m|万|萬|千)?|\d[\d.,]*\s*(?:k|m|万|萬|千)?\D{1,24})\W*", re.IGNORECASE
)


def count_rules(records: Sequence[LexborNode], known: Mapping[int, int]) -> dict[str, str]:
    """Return the YAML rules of reply and view counts.

    `known` are the replies that the pages of some threads have, by the number of the row. A number that agrees with
    them, or is by one more in all, counts the replies. Without one, a name or the only number does.
    """
    named: dict[str, str | None] = {}
    worded: dict[str, str | None] = {}
    for name, words in (("reply_count", REPLIES), ("view_count", VIEWS)):
        named[name] = selector_in(records, [_named(record, words) for record in records])
        worded[name] = _worded_rule(records, words)
    counted = _agreeing(records, known)
    if not counted and not any(named.values()) and not any(worded.values()):
        unnamed = [_unnamed(record) for record in records]
        # A number that only some rows have is a link to a later page.
        is_usual = 5 * sum(node is not None for node in unnamed) >= 4 * len(records)
        named["reply_count"] = selector_in(records, unnamed) if is_usual else None
    rules = {name: rule for name, rule in worded.items() if rule}
    rules |= {name: scalar(css) for name, css in named.items() if css}
    css, more = counted or (named["reply_count"], False)
    if css:
        nodes = [record.css_first(css) for record in records]
        rules["reply_count"] = _count_rule(css, nodes, known, is_more=more or (not counted and _counts_the_post(nodes)))
    if counted and rules.get("view_count") == scalar(counted[0]):
        del rules["view_count"]
    return rules


def _count_rule(css: str, nodes: Sequence[LexborNode | None], known: Mapping[int, int], *, is_more: bool) -> str:
    """Return the rule of a number in rows. Where it is left out, there are no replies, and perhaps no longer any."""
    counts = {at: read_count(node.text()) for at, node in enumerate(nodes) if node is not None}
    if is_more:
        return f"{{css: {scalar(css)}, plus: -1}}"
    return f"{{css: {scalar(css)}, default: 0}}" if _are_left_out_at_0(counts, known) else scalar(css)


def _agreeing(records: Sequence[LexborNode], known: Mapping[int, int]) -> tuple[str, bool] | None:
    """Return the selector of a number that agrees with the replies of all known threads, or is by one more in all."""
    if not any(known.values()):
        return None
    for more in (0, 1):
        for slot in Slots(records).all:
            texts = slot.texts()
            counts = {at: read_count(text) for at, text in texts.items() if len(text) <= _LONGEST // 2}
            is_usual = len(counts) * 10 >= len(records) * 8 or (not more and _are_left_out_at_0(counts, known))
            if not is_usual or not _agrees(counts, known, more) or any(map(_many_numbers, texts.values())):
                continue
            css = selector_in(records, slot.targets(len(records)))
            if css is not None:
                return css, bool(more)
    return None


def _agrees(counts: Mapping[int, int | None], known: Mapping[int, int], more: int) -> bool:
    """Return whether numbers are by `more` above the replies of all known threads that have one."""
    # A first post that counts leaves no 0.
    if more and 0 in counts.values():
        return False
    both = known.keys() & counts.keys()
    return bool(both) and all(counts[at] == known[at] + more for at in both)


def _are_left_out_at_0(counts: Mapping[int, int | None], known: Mapping[int, int]) -> bool:
    """Return whether the known threads without a number have no replies, and several others have a number."""
    without = [count for at, count in known.items() if at not in counts]
    return bool(without) and not any(without) and len(known) - len(without) > 1


def _many_numbers(text: str) -> bool:
    return len(re.findall(r"\d+", text.replace(",", "").replace(".", ""))) != 1


def _counts_the_post(nodes: Sequence[LexborNode | None]) -> bool:
    """Return whether a column is called posts and has no 0: then the first post counts."""
    known = [node for node in nodes if node is not None]
    counts = [read_count(node.text()) or 0 for node in known]
    return len(counts) >= _ENOUGH and min(counts) > 0 and all(POSTS.search(_heading_of(node)) for node in known)


def replies_in(records: Sequence[LexborNode]) -> list[int]:
    """Return the reply count of each row."""
    css = selector_in(records, [_named(record, REPLIES) for record in records])
    worded = [_worded(record, REPLIES) for record in records] if css is None else []
    if any(worded):
        return [read_count(count.number) or 0 if count else 0 for count in worded]
    css = css or selector_in(records, [_unnamed(record) for record in records])
    nodes = [record.css_first(css) if css else None for record in records]
    return [read_count(node.text()) or 0 if node is not None else 0 for node in nodes]


def _worded_rule(records: Sequence[LexborNode], words: re.Pattern[str]) -> str | None:
    """Return a rule for one text with several counts: `Replies: 3 Views: 10`, `by ann, 3 replies`."""
    counts = [_worded(record, words) for record in records]
    labels = Counter(count.label for count in counts if count and not count.is_behind)
    behind = sorted({count.label for count in counts if count and count.is_behind}, key=len, reverse=True)
    css = selector_in(records, [count.node if count else None for count in counts])
    if css is None or not (labels or behind):
        return None
    label = re.escape(labels.most_common(1)[0][0]) if labels else ""
    pattern = label + _NUMBER if labels else rf"(\d[\d.,]*)\s*(?:{'|'.join(map(re.escape, behind[:_MOST_LABELS]))})"
    return f"{{css: {scalar(css)}, regex: {scalar(pattern)}}}"


class _NamedCount(NamedTuple):
    """A count with its label in the text of an element. `is_behind` is the label of `3 replies`."""

    node: LexborNode
    label: str
    number: str
    is_behind: bool


def _worded(record: LexborNode, words: re.Pattern[str]) -> _NamedCount | None:
    """Return the innermost element with a matching word beside a number."""
    word = rf"([^\W\d]*(?:{words.pattern})[^\W\d]*)"
    before = re.compile(word + _NUMBER, re.IGNORECASE)
    behind = re.compile(rf"\W*(\d[\d.,]*)\s*{word}\W*", re.IGNORECASE)
    count = None
    for node in find_all(record, "td, span, div, dd, p, li, small"):
        count = _count_in(node, before, behind) or count
    return count


def _count_in(node: LexborNode, before: re.Pattern[str], behind: re.Pattern[str]) -> _NamedCount | None:
    """Return the last count in the text of an element, with the word before or behind the number."""
    text = node.text()
    is_count = len(" ".join(text.split())) <= _LONGEST and attribute_of(node) is None
    # `5 replies · 79 views`: the number behind the word is that of the next one.
    if is_count and not _BEGINS.match(text) and not LATEST.search(node.text(separator=" ")):
        match = before.search(text)
        return _NamedCount(node, match[1], match[2], is_behind=False) if match else None
    count = None
    # Author and moment are beside.
    for piece in _PARTS.split(node.text(deep=False)):
        if len(piece) > _LONGEST // 2 or LATEST.search(piece):
            continue
        if match := before.search(piece):
            count = _NamedCount(node, match[1], match[2], is_behind=False)
        elif match := behind.fullmatch(piece):
            count = _NamedCount(node, match[2], match[1], is_behind=True)
    return count


def words_of(node: LexborNode) -> str:
    """Return the names of a value: classes of the element or its parent, the column's heading, its own words."""
    above = node.parent
    named = node.attributes.get("class") or (above.attributes.get("class") if above is not None else None) or ""
    own = node.text() if len(node.text()) <= 60 else ""
    return f"{named} {_heading_of(node)} {own}"


def _named(record: LexborNode, words: re.Pattern[str]) -> LexborNode | None:
    return next((node for node in (*counts_in(record), *_labelled_in(record)) if words.search(words_of(node))), None)


def _unnamed(record: LexborNode) -> LexborNode | None:
    """Return the first number of a record that is no page link: a pager `1 2 3` may be beside a title."""
    counts = counts_in(record)
    links = {read_count(node.text()) for node in counts if node.tag == "a"}
    are_pages = any(number is not None and number + 1 in links for number in links)
    return next((node for node in counts if not (are_pages and node.tag == "a")), None)


def _labelled_in(record: LexborNode) -> list[LexborNode]:
    counts = [
        node
        for node in find_all(record, "td, span, div, dd, a, b, strong, em, p, li, small")
        if _LABELLED.fullmatch(node.text().strip()) and attribute_of(node) is None
    ]
    inner = {above.mem_id for node in counts for above in upwards(node.parent)}
    return [node for node in counts if node.mem_id not in inner]


def _heading_of(node: LexborNode) -> str:
    """Return the heading of a cell's column, from the first row of the table."""
    cell = next((above for above in upwards(node) if above.tag == "td"), None)
    table = next((above for above in upwards(node) if above.tag == "table"), None)
    first = table.css_first("tr") if table is not None else None
    if cell is None or first is None:
        return ""
    heads = [
        heading
        for heading in first.iter(include_text=False)
        if heading.tag in ("th", "td")
        for _ in range(_columns_of(heading))
    ]
    place = place_of(cell) - 1
    is_own = cell.parent is not None and cell.parent.mem_id == first.mem_id
    return heads[place].text().strip()[:40] if place < len(heads) and not is_own else ""


def _columns_of(cell: LexborNode) -> int:
    text = cell.attributes.get("colspan") or ""
    # A page is a stranger's: a colspan of a billion would fill the memory.
    return min(int(text), 20) if text.isdecimal() else 1
