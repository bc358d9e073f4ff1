"""Unlabelled fields: author and body of records without names in the markup, by short and long texts."""

from __future__ import annotations

from collections.abc import Sequence, Set

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.timestamps import times_in
from crawl_tasks.discovery.vocabulary import COUNT, REPLIES, VIEWS

_LONGEST_NAME = 40
_MOST_WORDS = 4
_UNSEEN = ("script", "style", "template", "form", "select", "button", "textarea")
Path = tuple[tuple[str, str], ...]


def names_in(records: Sequence[LexborNode], titles: Set[int] = frozenset()) -> list[LexborNode | None]:
    """Return a possible author of each record: a short text at one place in nearly all, not always the same."""
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
    # People write again: of several candidates, the one with most repeated texts.
    best = max(likely, key=lambda there: len(there) - len({node.text().strip() for node in there.values()}), default={})
    return [best.get(place) for place in range(len(records))]


def longest_in(record: LexborNode, apart: set[int]) -> LexborNode | None:
    """Return the largest element with most of a record's words and nothing of the elements `apart`."""
    around = record
    while True:
        inner = [node for node in around.iter(include_text=False) if node.tag not in _UNSEEN]
        # Indentation of the source is no text.
        best = max(inner, key=lambda node: len(" ".join(node.text().split())), default=None)
        if best is None or not best.text().strip():
            return None
        if best.mem_id not in apart and not any(node.mem_id in apart for node in best.css("*")):
            return best
        around = best


def _leaves(record: LexborNode) -> list[tuple[Path, LexborNode]]:
    """Return the innermost elements with text, each with its path from the record."""
    found: list[tuple[Path, LexborNode]] = []
    waiting: list[tuple[Path, LexborNode]] = [((), record)]
    while waiting:
        path, node = waiting.pop(0)
        inner = [one for one in node.iter(include_text=False) if one.tag not in _UNSEEN and one.text().strip()]
        if not inner and path:
            found.append((path, node))
        # Cells of a row have no class of their own in many programs, so their position counts as one.
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
    """Return whether texts only name numbers: `reply` and `replies` vary too."""
    return all(REPLIES.search(node.text()) or VIEWS.search(node.text()) for node in there.values())


def _varies(there: dict[int, LexborNode], records: Sequence[LexborNode]) -> bool:
    """Return whether texts differ from record to record: a button has the same text in all."""
    return len(records) < 3 or len({node.text().strip() for node in there.values()}) > 1
