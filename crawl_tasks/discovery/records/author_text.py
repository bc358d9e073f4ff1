"""Author texts (bylines): an author beside other parts, as `#572 - Mary - Wed Jan 08` or `Posted by Mary on Friday`.

Read where no element has only a name. The words or separators around the name tell where it begins and ends.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from crawl_tasks.discovery.records.slot_texts import are_moments, is_name, matches_in
from crawl_tasks.discovery.records.slots import Path, Slot, Slots
from crawl_tasks.discovery.text.vocabulary import BYLINE
from crawl_tasks.discovery.text.yaml_rules import literal

# Longest first: ` - ` may be within parts that ` | ` separates, and a comma within a date.
_SEPARATORS = (" | ", " · ", " • ", " » ", " – ", " — ", " - ", " / ", ", ")
_LONGEST = 160
_MOST_PARTS = 8
_SHARE = 0.9
# Names come again, other parts of a byline do not: moments, numbers, subjects.
_FEWEST = 4
_NUMBER = re.compile(r"#(\d+)")


def byline_in(slots: Slots) -> Slot | None:
    """Return the slot of texts of which a part is the author, with the regex of that part."""
    for slot in slots.all:
        texts = slot.texts()
        enough = len(texts) >= max(_FEWEST, 0.8 * len(slots.records))
        if not enough or sum(len(text) <= _LONGEST for text in texts.values()) < _SHARE * len(texts):
            continue
        for regex in _regexes(list(texts.values())):
            if _are_people(matches_in(regex, texts), len(texts), slots):
                return replace(slot, regex=regex)
    return None


def number_in(slots: Slots, path: Path) -> str:
    """Return the regex of the posts' own numbers in bylines, as in `#572 - Vortex`, empty without such.

    A place in the thread, as `#1`, comes again on other pages.
    """
    slot = slots.at(path)
    matches = {at: _NUMBER.search(text) for at, text in slot.texts().items()} if slot is not None else {}
    numbers = [match[1] for match in matches.values() if match is not None]
    pages = {slots.page_of(at) for at in matches}
    is_own = len(pages) > 1 and len(set(numbers)) == len(numbers) == len(slots.records)
    return _NUMBER.pattern if is_own else ""


def _regexes(texts: list[str]) -> Iterator[str]:
    """Yield regexes whose group may be the author."""
    yield BYLINE
    for separator in _SEPARATORS:
        counts = Counter(len(text.split(separator)) for text in texts)
        count, often = counts.most_common(1)[0]
        if not 1 < count <= _MOST_PARTS or often < _SHARE * len(texts):
            continue
        between = literal(separator)
        for place in range(count):
            before = f"(?:.*?{between})" + (f"{{{place}}}" if place > 1 else "")
            behind = f"(?:{between}.*?)" + (f"{{{count - place - 1}}}" if count - place > 2 else "")
            # A name may hold the separator: the parts around are counted.
            yield f"(?s)^{before * (place > 0)}(.+){behind * (place < count - 1)}$"


def _are_people(names: Mapping[int, str], count: int, slots: Slots) -> bool:
    """Return whether texts may be the authors of records: names that come again, and not only with their page."""
    kinds = Counter(names.values())
    if len(names) < _SHARE * count or not 1 < len(kinds) < len(names) or are_moments(names.values()):
        return False
    if sum(map(is_name, names.values())) < _SHARE * len(names):
        return False
    pages: dict[str, set[str]] = defaultdict(set)
    for at, text in names.items():
        pages[slots.page_of(at)].add(text)
    return any(len(texts) > 1 for texts in pages.values())
