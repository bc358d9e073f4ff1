"""Boilerplate in the posts of an unknown program: notes of edits, subjects and polls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.address_shape import shared_start
from crawl_tasks.discovery.links.links import kind_of
from crawl_tasks.discovery.records.record_queries import is_telling, selector_in
from crawl_tasks.discovery.records.repeated_records import highest, upwards
from crawl_tasks.discovery.text.timestamps import names_moment, times_in
from crawl_tasks.discovery.text.vocabulary import EDITED
from crawl_tasks.discovery.text.yaml_rules import literal
from crawl_tasks.parse.document import matches
from crawl_tasks.parse.values.text import letters
from crawl_tasks.parse.values.text import lines as lines_of
from crawl_tasks.sites.rule_presets import usual_css

# A longer text with the word "edited" is a post that speaks of edits.
_LONGEST = 120
_SHARE = re.compile(r"\d\W*$")
_BEGINNING = 24
"""Letters by which a line is known again: quotes are cut."""
_OPTIONS = "li, tr, label"
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BOXES = frozenset(("q", "aside", "details", "fieldset"))
_PERCENT = re.compile(r"\d\s?%$")
# With words before the hour, as `at` or `de la tarde`. The reader of dates takes the half of the day behind to it.
_DAY = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:,?\s[^\d\n]{0,30}\d{1,2}[:h]\d\d)?"


def edited_in(records: Sequence[LexborNode]) -> str | None:
    """Return the selector of the edit notes, None if there is none or a post without note has a match too."""
    # Authors who speak of edits do so before the note.
    notes = [(record, _whole(nodes[-1])) for record in records if (nodes := notes_in(record))]
    kinds = Counter(kind_of(note) for _, note in notes)
    # A short post of a word like `updated`, with its date, looks like a note too.
    usual = [pair for pair in notes if kind_of(pair[1]) == kinds.most_common(1)[0][0]]
    css = _selector(notes) or _selector(usual)
    if css is None:
        return None
    noted = {record.mem_id for record, _ in notes}
    others = [record.css_first(css) for record in records if record.mem_id not in noted]
    # Some programs write the element of the note below every post.
    return css if not any(node.text().strip() for node in others if node is not None) else None


def _selector(notes: Sequence[tuple[LexborNode, LexborNode]]) -> str | None:
    """Return the selector of notes, none of a tag alone: it may match anything in a post that this page lacks."""
    css = selector_in([record for record, _ in notes], [note for _, note in notes]) if notes else None
    return css if css and is_telling(css) else None


def _whole(note: LexborNode) -> LexborNode:
    """Return the outermost element with only a note's text: its class may tell more than a tag within."""
    text = note.text().strip()
    return highest(note, lambda above: above.text().strip() == text)


def notes_in(record: LexborNode) -> list[LexborNode]:
    """Return the innermost elements that say that a post was edited, and when."""
    inner = (node for node in record.css("*") if node.mem_id != record.mem_id)
    notes = [node for node in inner if is_edit_note(" ".join(node.text().split())) and not _is_quoted(node)]
    # A short text with its note in a line of its own is none.
    notes = [node for node in notes if not any(map(is_edit_note, lines_of(node.html or "").split("\n")[1:]))]
    outer = {above.mem_id for node in notes for above in upwards(node.parent)}
    return [node for node in notes if node.mem_id not in outer]


def is_edit_note(text: str) -> bool:
    """Return whether a text says that a post was edited, and when."""
    return len(text) <= _LONGEST and EDITED.search(text) is not None and names_moment(text)


@dataclass(frozen=True, slots=True)
class TextNote:
    """Notes of edits that are in a line of the text: `body` reads the text before, `edited` the moment if any."""

    body: str
    edited: str = ""


def text_note(texts: Iterable[str]) -> TextNote | None:
    """Return the regexes of notes that are the last lines of some texts, None unless two begin alike and have a day.

    Authors write `Edited:` too, and rarely with a day.
    """
    notes: list[str] = []
    for text in texts:
        notes += [line for line in text.split("\n") if is_edit_note(line)][-1:]
    start = shared_start([re.sub(r"\d+", "#", note) for note in notes]) if len(notes) > 1 else ""
    days = [matched[0] for note in notes if (matched := re.search(_DAY, note))]
    # What follows the first number may be the beginning of a name.
    before = start.partition("#")[0]
    if len(days) < len(notes) or EDITED.search(before) is None:
        return None
    note = rf"(?:^|\n){literal(before)}[^\n]{{0,{_LONGEST}}}?({_DAY})[^\n]{{0,{_LONGEST}}}"
    return TextNote(rf"(?s)^(.*?)(?:{note.replace(f'({_DAY})', _DAY)})?$", rf"{note}$")


def _is_quoted(node: LexborNode) -> bool:
    # A quotation may include the note of the quoted post.
    return any(above.tag == "blockquote" or "quote" in (above.attributes.get("class") or "") for above in upwards(node))


def quotes_in(records: Sequence[LexborNode], authors: Mapping[int, str]) -> list[tuple[LexborNode, LexborNode]]:
    """Return the elements that hold another record's author and the beginning of one of its lines, with their records.

    `authors` are those of the records, by place. An element with the record's own author is the whole post.
    """
    texts = [_lines(record) for record in records]
    places: dict[str, list[int]] = {}
    for at, lines in enumerate(texts):
        for line in lines:
            places.setdefault(line, []).append(at)
    quotes = []
    for at, record in enumerate(records):
        own = authors.get(at, "")
        others = ((line, authors.get(place, "")) for line in texts[at] for place in places[line] if place != at)
        for line, name in dict.fromkeys(others):
            box = _holding(record, name, line) if name not in ("", own) else None
            if box is not None and (not own or own not in box.text()):
                quotes.append((record, box))
                break
    return quotes


def quotes_of(
    records: Sequence[LexborNode], authors: Mapping[int, str], bodies: Mapping[int, LexborNode] | None = None
) -> str | None:
    """Return the selector of quotes that no usual rule finds, None without such quotes or without a telling one.

    An element with all words of its record's body is none: authors also quote within their own text.
    """
    usual = usual_css("usual-quotes")
    whole = {record.mem_id: letters((bodies or {}).get(at, record).text()) for at, record in enumerate(records)}
    boxes = [
        (record, box)
        for record, box in quotes_in(records, authors)
        if not is_dropped(box, usual) and len(letters(box.text())) < len(whole[record.mem_id])
    ]
    css = selector_in([record for record, _ in boxes], [box for _, box in boxes]) if boxes else None
    return css if css and (is_telling(css) or css.rpartition(" ")[2] in _BOXES) else None


def is_dropped(box: LexborNode, css: str) -> bool:
    """Return whether a selector finds an element, one within or one around."""
    return box.css_first(css) is not None or any(matches(above, css) for above in upwards(box))


def _lines(record: LexborNode) -> list[str]:
    """Return the beginnings of a record's lines that are long enough to be nobody else's by chance."""
    texts = (letters(line)[:_BEGINNING] for line in record.text(separator="\n").split("\n"))
    return [text for text in texts if len(text) == _BEGINNING]


def _holding(record: LexborNode, name: str, line: str) -> LexborNode | None:
    """Return the innermost element within a record that holds a name and the beginning of a line."""
    best = None
    for node in record.css("*"):
        if node.mem_id != record.mem_id and name in (text := node.text()) and line in letters(text):
            best = node
    return best


def is_subject(node: LexborNode, title: str) -> bool:
    """Return whether an element is the line above a text, as a heading with the thread's title, or a poll."""
    link = node.css_first("a[href*='#']") if node.tag in _HEADINGS else None
    if link is not None and letters(link.text()) == letters(node.text()):
        # A subject that leads to its own post, by the number of that; an author's menu has none.
        return re.search(r"#.*\d", link.attributes.get("href") or "") is not None
    # A row of a table may hold a whole list.
    options = [choice for choice in node.css(_OPTIONS) if len(choice.css(_OPTIONS)) == 1]
    texts = [option.text().strip() for option in options]
    shares = [choice for choice in texts if _PERCENT.search(choice)]
    days = times_in(node) if len(shares) > 1 else []
    rest = len(letters(node.text())) - sum(len(letters(choice.text())) for choice in days)
    # Around the options of a poll stand its question and its last day.
    if len(shares) > 1 and 2 * len(letters("".join(shares))) >= rest:
        # A moment above the options is that of the post.
        above = takewhile(lambda choice: choice.mem_id != options[0].mem_id, node.css("*"))
        return not {choice.mem_id for choice in above} & {choice.mem_id for choice in days}
    first = next((text for choice in node.css("*") if (text := letters(choice.text(deep=False)))), "")
    if not first or first not in (letters(title), f"re{letters(title)}"):
        return False
    # The title may end with a number, as the options of a poll do.
    return (
        letters(node.text()) == first
        or sum(bool(_SHARE.search(choice)) for choice in texts if letters(choice) != first) > 1
    )
