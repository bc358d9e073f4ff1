"""Before step 1, survey: who and what of records whose markup names neither: by what is short and what is long."""

from __future__ import annotations

from collections.abc import Sequence, Set

from selectolax.lexbor import LexborNode

from crawl_tasks.survey.moments import times_in
from crawl_tasks.survey.words import COUNT, REPLIES, VIEWS

_LONGEST_NAME = 40
_MOST_WORDS = 4
_UNSEEN = ("script", "style", "template", "form", "select", "button", "textarea")
Path = tuple[tuple[str, str], ...]


def names_in(records: Sequence[LexborNode], titles: Set[int] = frozenset()) -> list[LexborNode | None]:
    """Return in each record what may be its author: a short text at one place in nearly all, not always the same."""
    found: dict[Path, dict[int, LexborNode]] = {}
    for place, record in enumerate(records):
        moments = {one.mem_id for node in times_in(record) for one in (node, *node.css("*"))}
        for path, node in _leaves(record):
            if node.mem_id not in titles | moments and _is_name(node.text()):
                found.setdefault(path, {}).setdefault(place, node)
    likely = [
        there
        for there in found.values()
        if len(there) * 5 >= len(records) * 4 and _varies(there, records) and not _is_label(there)
    ]
    # Of several the one whose texts come back: the same people write again.
    best = max(likely, key=lambda there: len(there) - len({node.text().strip() for node in there.values()}), default={})
    return [best.get(place) for place in range(len(records))]


def longest_in(record: LexborNode, apart: set[int]) -> LexborNode | None:
    """Return the largest element of a record that holds most of its words and nothing of what stands `apart`."""
    around = record
    while True:
        inner = [node for node in around.iter(include_text=False) if node.tag not in _UNSEEN]
        # How the source is indented says nothing.
        best = max(inner, key=lambda node: len(" ".join(node.text().split())), default=None)
        if best is None or not best.text().strip():
            return None
        if best.mem_id not in apart and not any(node.mem_id in apart for node in best.css("*")):
            return best
        around = best


def _leaves(record: LexborNode) -> list[tuple[Path, LexborNode]]:
    """Return the elements with text of their own and no element with text inside, each with its way from the record."""
    found: list[tuple[Path, LexborNode]] = []
    waiting: list[tuple[Path, LexborNode]] = [((), record)]
    while waiting:
        path, node = waiting.pop(0)
        inner = [one for one in node.iter(include_text=False) if one.tag not in _UNSEEN and one.text().strip()]
        if not inner and path:
            found.append((path, node))
        row = node.tag == "tr"
        waiting += [
            ((*path, (str(one.tag), one.attributes.get("class") or (str(place) if row else ""))), one)
            for place, one in enumerate(inner)
        ]
    return found


def _is_name(text: str) -> bool:
    plain = text.strip()
    return (
        0 < len(plain) <= _LONGEST_NAME
        and len(plain.split()) <= _MOST_WORDS
        and any(char.isalpha() for char in plain)
        and COUNT.search(plain) is None
        and not (any(char.isdigit() for char in plain) and (REPLIES.search(plain) or VIEWS.search(plain)))
        and not any(char in plain for char in "?!:;，。？！：")
    )


def _is_label(there: dict[int, LexborNode]) -> bool:
    """Say whether texts only name numbers: `reply` and `replies` vary too."""
    return all(REPLIES.search(node.text()) or VIEWS.search(node.text()) for node in there.values())


def _varies(there: dict[int, LexborNode], records: Sequence[LexborNode]) -> bool:
    """Say whether texts differ from record to record: a button says the same in all."""
    return len(records) < 3 or len({node.text().strip() for node in there.values()}) > 1
