"""Slots of repeated records: elements at one place in each record, and the meaning of their texts (wrapper induction).

A text alone says little. Texts of one slot in all records of several pages say more: authors recur, bodies do not, what
is a function of the author (a signature, a number of posts) is no body, and labels are everywhere the same.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.address_shape import PEOPLE
from crawl_tasks.discovery.links.links import kind_of
from crawl_tasks.discovery.records.slot_texts import LONGEST_DATE, are_moments, are_names, is_of_author, matches_in
from crawl_tasks.discovery.text.timestamps import moment_of, order_by_age, order_of, stamps_of, until_time
from crawl_tasks.sites.site_terms import DateOrder

Path = tuple[str, ...]
_UNSEEN = frozenset(("script", "style", "template", "select", "button", "textarea", "noscript", "svg"))
# A form without these has the buttons of a post, and the post: Question2Answer.
_ENTRIES = "textarea, select, input:is(:not([type]), [type=text], [type=password], [type=email], [type=search])"
_LABEL = 12  # letters that may be behind a time of day: `Uhr`
# The least share of a record's words that its body has: a label or two may be beside.
_MOST_OF_IT = 0.9
_PARAGRAPHS = frozenset(("p", "ul", "ol", "pre", "h2", "h3", "h4", "b", "strong", "em", "i", "a"))
_IN_TEXTS = _PARAGRAPHS | {"table", "code"}
# `1 reply` and `2 replies` are labels. Short forums repeat more than two bodies.
_FEWEST_TEXTS = 3
# Two authors may each have said the same twice.
_FEWEST_OF_AUTHORS = 5
_PERSON = re.compile(r"author|user|poster|nick|member|byline|person|fn\b", re.IGNORECASE)
_TIMES = ("datetime", "content", "title", "")


@dataclass(frozen=True, slots=True)
class Slot:
    """One place in records: the element there by the number of the record. Its text is the group of `regex`."""

    path: Path
    nodes: Mapping[int, LexborNode]
    regex: str = ""

    def texts(self) -> dict[int, str]:
        """Return the texts by record, on one line each."""
        texts = {at: " ".join(node.text().split()) for at, node in self.nodes.items()}
        return matches_in(self.regex, texts) if self.regex else texts

    def own_texts(self) -> dict[int, str]:
        """Return the texts outside of inner elements."""
        return {
            at: text
            for at, node in self.nodes.items()
            if (text := " ".join(node.text(deep=False, separator=" ").split()))
        }

    def targets(self, count: int) -> list[LexborNode | None]:
        """Return the element of each of `count` records."""
        return [self.nodes.get(at) for at in range(count)]


@dataclass(frozen=True, slots=True)
class MomentSlot:
    """A slot of moments: the attribute with the moment ("" for the text), the order of figures if any, the moments.

    With `is_own` the moment is outside of inner elements, with `is_begun` at the beginning of a longer text.
    """

    slot: Slot
    attr: str
    order: DateOrder | None
    at: Mapping[int, int]
    is_own: bool = False
    is_begun: bool = False

    def texts(self) -> list[str]:
        """Return the texts in which the moments are written."""
        nodes = self.slot.nodes.values()
        return [(node.attributes.get(self.attr) if self.attr else node.text()) or "" for node in nodes]


class Slots:
    """The slots of records. `apart` are elements that are no part of a record, such as the records within."""

    def __init__(
        self, records: Sequence[LexborNode], apart: Set[int] = frozenset(), pages: Mapping[int, str] | None = None
    ) -> None:
        """Walk the records. `pages` names the page of each record."""
        self.records = records
        self._pages = pages or {}
        by_path: dict[Path, dict[int, LexborNode]] = defaultdict(dict)
        for at, record in enumerate(records):
            for path, node in _walk(record, apart):
                by_path[path][at] = node
        self.all = [Slot(path, nodes) for path, nodes in by_path.items()]

    def _often(self, share: float) -> Iterator[Slot]:
        return (slot for slot in self.all if len(slot.nodes) >= share * len(self.records))

    def names(self, share: float = 0.8) -> list[Slot]:
        """Return slots of short texts that may be authors, likeliest first."""
        slots = (slot for slot in self._often(share) if are_names([*slot.texts().values()]) and not _is_time(slot))
        return sorted((slot for slot in slots if _parted(slot) <= 0.5), key=lambda slot: -self._likeness_to_names(slot))

    def _likeness_to_names(self, slot: Slot) -> float:
        texts = slot.texts()
        kinds = Counter(texts.values())
        node = next(iter(slot.nodes.values()))
        above = node.parent
        marks = " ".join(filter(None, (_marks(node), _marks(above) if above is not None else "")))
        linked = sum(bool(PEOPLE.search(link.attributes.get("href") or "")) for link in slot.nodes.values())
        score = 2.0 * bool(_PERSON.search(marks)) + 2.0 * linked / len(texts)
        # A button is there in most records, where some have other words in its place.
        score -= max(kinds.values()) / len(texts)
        # A guest has no link, but the box around the name. Of equals the innermost is the name.
        score += (len(texts) - len(kinds)) / len(texts) + len(texts) / len(self.records) + len(slot.path) / 100
        # A mark is beside some names.
        return score - _parted(slot)

    def moments(self, share: float = 0.8, known: DateOrder | None = None) -> list[MomentSlot]:
        """Return slots of moments, in the order of the page. `known` is the order where these few do not tell it."""
        moments = []
        for slot in self._often(share):
            stamps = stamps_of([*slot.nodes.values()]) if slot.path else []
            read = (self._moments_at(slot, attr, share, known) for attr in (*stamps, *_TIMES))
            moments.append(next(filter(None, read), None))
        return [moment for moment in moments if moment is not None]

    def _moments_at(self, slot: Slot, attr: str, share: float, known: DateOrder | None) -> MomentSlot | None:
        """Return the moments in an attribute of a slot, or in its text, None where they are few."""
        is_own = not attr and any(node.css_first("*") is not None for node in slot.nodes.values())
        texts = slot.own_texts() if is_own else slot.texts()
        if attr:
            texts = _attribute_texts(slot, attr)
        is_begun = is_own and any(len(text) > len(until_time(text)) + _LABEL for text in texts.values())
        if is_begun:
            texts = {at: until_time(text) for at, text in texts.items()}
        texts = {at: text for at, text in texts.items() if len(text) <= LONGEST_DATE}
        if len(texts) < share * len(self.records):
            return None
        order = order_of(list(texts.values())) or known or order_by_age(texts, slot.texts())
        # Whatever the order, all slots are read alike, and the pages tell it in the end.
        dates = {at: moment_of(text, order or DateOrder.DMY) for at, text in texts.items()}
        read = {at: moment for at, moment in dates.items() if moment is not None}
        # One moment in all records is that of the page, or of everybody's joining.
        is_one = len(read) > 2 and len(set(read.values())) == 1
        if len(read) < share * len(texts) or is_one:
            return None
        return MomentSlot(slot, attr, order, read, is_own, is_begun)

    def body(self, authors: Mapping[int, str], apart: Sequence[Slot], skips: Callable[[str], bool]) -> Path | None:
        """Return the path of the element with nearly all words that are of this record only, None without words.

        Args:
            authors: the author of each record.
            apart: slots of author, moments and the like.
            skips: whether a text is no part of a body.
        """
        own: list[tuple[Path, dict[int, str]]] = []
        for slot in self.all:
            if not any(slot.path[: len(fixed.path)] == fixed.path for fixed in apart):
                own.append((slot.path, {at: text for at, text in slot.own_texts().items() if not skips(text)}))
        # In a small forum all may have said the same.
        some = [(path, texts) for path, texts in own if self.is_varying(texts, authors)] or own
        mass: Counter[Path] = Counter()
        for path, texts in some:
            for end in range(len(path) + 1):
                # One very long text is not to decide.
                mass[path[:end]] += sum(min(len(text), 300) for text in texts.values())
        if not mass[()]:
            return None
        best: Path = ()
        while True:
            inner = [path for path in mass if len(path) == len(best) + 1 and path[:-1] == best]
            most = max(inner, key=mass.__getitem__, default=None)
            # A paragraph is no body: the next post may have two.
            is_part = most is not None and most[-1].partition(" ")[0] in _PARAGRAPHS and best != ()
            if most is None or is_part or mass[most] < _MOST_OF_IT * mass[()]:
                return best
            best = most

    def is_varying(self, values: Mapping[int, str], authors: Mapping[int, str]) -> bool:
        """Return whether texts are of each record only: no labels, no function of the author, no moments."""
        texts = list(values.values())
        if not texts or (len(texts) < 3 and max(map(len, texts)) < 20):
            return False
        # Of `12: ID:3f7a` only a label is left.
        plain = {re.sub(r"[A-Za-z]*\d[A-Za-z\d]*|\W+", "", text) for text in texts}
        if len(plain) < min(len(texts), _FEWEST_TEXTS):
            return False
        return not are_moments(texts) and not is_of_author(values, authors) and not self._is_subject(values)

    def _is_subject(self, texts: Mapping[int, str]) -> bool:
        """Return whether texts are a function of the page: `An old lamp`, and `Re: An old lamp` above each reply."""
        if self._pages and all(len(page := self._pages.get(at, "")) > 4 and page in text for at, text in texts.items()):
            return True
        titles: dict[str, str] = {}
        for at, text in texts.items():
            page = self._pages.get(at, "")
            titles[page] = min(titles.get(page, text), text, key=len)
        named = ((at, text, titles[self._pages.get(at, "")]) for at, text in texts.items())
        return is_of_author({at: title if text.endswith(title) else text for at, text, title in named}, self._pages)

    def page_of(self, at: int) -> str:
        """Return the name of a record's page."""
        return self._pages.get(at, "")

    def at(self, path: Path) -> Slot | None:
        """Return the slot at a path."""
        return next((slot for slot in self.all if slot.path == path), None)

    def chrome(self, path: Path, authors: Mapping[int, str]) -> list[Slot]:
        """Return the outermost slots below a path that are labels, buttons, or functions of the author."""
        chrome: list[Slot] = []
        for slot in sorted(self.all, key=lambda outer: len(outer.path)):
            is_below = len(slot.path) > len(path) and slot.path[: len(path)] == path
            if not is_below or any(slot.path[: len(outer.path)] == outer.path for outer in chrome):
                continue
            texts = {at: text for at, text in slot.texts().items() if text}
            plain = {re.sub(r"\d+", "", text) for text in texts.values()}
            often = len(texts) >= max(3, 0.8 * len(self.records))
            is_text = any(step.partition(" ")[0] in _IN_TEXTS for step in slot.path[len(path) :])
            if (often and len(plain) == 1) or (
                len(texts) >= _FEWEST_OF_AUTHORS
                and ((not is_text and is_of_author(texts, authors)) or (often and self._is_subject(texts)))
            ):
                chrome.append(slot)
        return chrome


def _attribute_texts(slot: Slot, attr: str) -> dict[int, str]:
    """Return the values of an attribute by record."""
    return {at: text for at, node in slot.nodes.items() if (text := node.attributes.get(attr))}


def node_at(record: LexborNode, path: Path) -> LexborNode | None:
    """Return the element at a path of a record."""
    node: LexborNode | None = record
    for step in path:
        seen: Counter[str] = Counter()
        target = None
        for child in node.iter(include_text=False) if node is not None else ():
            kind = step_of(child)
            if f"{kind} {seen[kind]}" == step:
                target = child
            seen[kind] += 1
        node = target
    return node


def _walk(record: LexborNode, apart: Set[int]) -> Iterator[tuple[Path, LexborNode]]:
    waiting: list[tuple[Path, LexborNode]] = [((), record)]
    while waiting:
        path, node = waiting.pop()
        yield path, node
        seen: Counter[str] = Counter()
        inner = []
        for child in node.iter(include_text=False):
            if child.tag in _UNSEEN or child.mem_id in apart or (child.tag == "form" and child.css_first(_ENTRIES)):
                continue
            kind = step_of(child)
            inner.append(((*path, f"{kind} {seen[kind]}"), child))
            seen[kind] += 1
        waiting += reversed(inner)


def step_of(node: LexborNode) -> str:
    """Return tag and classes. A guest has a span where members have a link to their profile."""
    is_profile = node.tag == "a" and PEOPLE.search(node.attributes.get("href") or "")
    return re.sub("^a", "span", kind_of(node)) if is_profile else kind_of(node)


def _is_time(slot: Slot) -> bool:
    """Return whether elements are moments by their markup: `<time datetime=...>day 3</time>` is no name."""
    return any(node.tag == "time" or "datetime" in node.attributes for node in slot.nodes.values())


def _parted(slot: Slot) -> float:
    """Return the share of records in which an inner element has a part of the text."""
    parted = [
        any(0 < len(inner.text().strip()) < len(node.text().strip()) for inner in node.css("*"))
        for node in slot.nodes.values()
    ]
    return sum(parted) / len(parted)


def _marks(node: LexborNode) -> str:
    names = ("class", "rel", "itemprop", "id")
    return " ".join(filter(None, (node.attributes.get(name) for name in names)))
