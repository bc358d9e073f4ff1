"""Boilerplate in the bodies of an unknown program: buttons, with the same text in all, and notes of edits."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.repeated_records import selector_in, upwards
from crawl_tasks.discovery.vocabulary import EDITED
from crawl_tasks.parse.values.dates import read_date

# With one or two bodies, equal texts are no evidence.
_FEWEST = 3
_NAME = re.compile(r"[A-Za-z_][\w-]*")
# Few posts are edited, so most sample pages have no example.
GUESSED = (
    "[class*=edited], [class*=lastedit], [class*=postedit], [class*=post-edit], [class*=post_edit],"
    " [class*=edit-info], [class*=modified]"
)
# A longer text with the word "edited" is a post that speaks of edits.
_LONGEST = 120
_UTC = ZoneInfo("UTC")


def buttons_in(bodies: Sequence[LexborNode | None]) -> list[str]:
    """Return selectors of elements with a class whose text is in nearly every body, and everywhere the same."""
    there = [body for body in bodies if body is not None]
    if len(there) < _FEWEST:
        return []
    said: dict[str, list[str]] = {}
    for body in there:
        for css, text in _named(body):
            said.setdefault(css, []).append(text)
    same = [css for css, texts in said.items() if len(texts) * 5 >= len(there) * 4 and len(set(texts)) == 1]
    return [css for css in same if not _is_inside(css, same, there)]


def _named(body: LexborNode) -> list[tuple[str, str]]:
    """Return the first element of each tag and class with its text."""
    found: dict[str, str] = {}
    for node in body.css("*[class]"):
        names = (node.attributes.get("class") or "").split()
        if node.mem_id != body.mem_id and names and _NAME.fullmatch(names[0]) and node.text().strip():
            found.setdefault(f"{node.tag}.{names[0]}", " ".join(node.text().split()))
    return list(found.items())


def _is_inside(css: str, others: Sequence[str], bodies: Sequence[LexborNode]) -> bool:
    """Return whether a selector's element stands inside the element of another selector."""
    return any(body.css_first(f"{other} {css}") is not None for other in others if other != css for body in bodies[:1])


def edited_in(records: Sequence[LexborNode]) -> str | None:
    """Return the selector of the edit notes, None if there is none or a post without note has a match too."""
    notes = [(record, note) for record in records if (note := _note_in(record)) is not None]
    css = selector_in([record for record, _ in notes], [note for _, note in notes]) if notes else None
    # A selector of a tag alone may match anything in a post that this page does not show.
    if css is None or not any(mark in css.rpartition(" ")[2] for mark in ".["):
        return None
    noted = {record.mem_id for record, _ in notes}
    return css if not any(one.css_first(css) for one in records if one.mem_id not in noted) else None


def _note_in(record: LexborNode) -> LexborNode | None:
    """Return the last innermost element that says both: authors who speak of edits do so before the note."""
    said = [node for node in record.css("*") if _is_note(node)]
    outer = {above.mem_id for node in said for above in upwards(node.parent)}
    return next((node for node in reversed(said) if node.mem_id not in outer), None)


def _is_note(node: LexborNode) -> bool:
    text = " ".join(node.text().split())
    is_said = len(text) <= _LONGEST and EDITED.search(text) is not None
    return is_said and read_date(text, time.time(), _UTC) is not None and not _is_quoted(node)


def _is_quoted(node: LexborNode) -> bool:
    # A quotation may include the note of the quoted post.
    return any(one.tag == "blockquote" or "quote" in (one.attributes.get("class") or "") for one in upwards(node))
