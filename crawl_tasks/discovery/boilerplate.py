"""Boilerplate in the posts of an unknown program: notes of edits, subjects and polls."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.record_queries import selector_in
from crawl_tasks.discovery.repeated_records import highest, upwards
from crawl_tasks.discovery.site_check import letters
from crawl_tasks.discovery.vocabulary import EDITED
from crawl_tasks.parse.values.dates import read_date

# A longer text with the word "edited" is a post that speaks of edits.
_LONGEST = 120
_UTC = ZoneInfo("UTC")
_SHARE = re.compile(r"\d\W*$")
_PERCENT = re.compile(r"\d\s?%$")


def edited_in(records: Sequence[LexborNode]) -> str | None:
    """Return the selector of the edit notes, None if there is none or a post without note has a match too."""
    # Authors who speak of edits do so before the note.
    notes = [(record, _whole(found[-1])) for record in records if (found := notes_in(record))]
    css = selector_in([record for record, _ in notes], [note for _, note in notes]) if notes else None
    # A selector of a tag alone may match anything in a post that this page does not show.
    if css is None or not any(mark in css.rpartition(" ")[2] for mark in ".["):
        return None
    noted = {record.mem_id for record, _ in notes}
    return css if not any(one.css_first(css) for one in records if one.mem_id not in noted) else None


def _whole(note: LexborNode) -> LexborNode:
    """Return the outermost element with a note's text alone: its class may tell more than a tag within."""
    text = note.text().strip()
    return highest(note, lambda above: above.text().strip() == text)


def notes_in(record: LexborNode) -> list[LexborNode]:
    """Return the innermost elements that say that a post was edited, and when."""
    said = [node for node in record.css("*") if is_edit_note(" ".join(node.text().split())) and not _is_quoted(node)]
    outer = {above.mem_id for node in said for above in upwards(node.parent)}
    return [node for node in said if node.mem_id not in outer]


def is_edit_note(text: str) -> bool:
    """Return whether a text says that a post was edited, and when."""
    is_said = len(text) <= _LONGEST and EDITED.search(text) is not None
    return is_said and read_date(text, time.time(), _UTC) is not None


def _is_quoted(node: LexborNode) -> bool:
    # A quotation may include the note of the quoted post.
    return any(one.tag == "blockquote" or "quote" in (one.attributes.get("class") or "") for one in upwards(node))


def is_subject(node: LexborNode, title: str) -> bool:
    """Return whether an element is the line above a text, with the thread's title, or a poll."""
    said = [one.text().strip() for one in node.css("li, tr, label")]
    shares = [one for one in said if _PERCENT.search(one)]
    # Around the options of a poll stand its question and its last day.
    if len(shares) > 1 and 2 * len(letters("".join(shares))) >= len(letters(node.text())):
        return True
    first = next((text for one in node.css("*") if (text := letters(one.text(deep=False)))), "")
    if not first or first not in (letters(title), f"re{letters(title)}"):
        return False
    return letters(node.text()) == first or sum(_SHARE.search(one) is not None for one in said) > 1
