"""Record fields: author, moment and body of repeated records, as rules and as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.records.author_text import byline_in
from crawl_tasks.discovery.records.boilerplate import TextNote, edited_in, is_subject, notes_in, quotes_of, text_note
from crawl_tasks.discovery.records.record_queries import is_telling, selector_in
from crawl_tasks.discovery.records.slot_texts import is_of_author
from crawl_tasks.discovery.records.slots import MomentSlot, Path, Slot, Slots
from crawl_tasks.discovery.text.timestamps import UNTIL_TIME, moment_of
from crawl_tasks.discovery.text.yaml_rules import scalar
from crawl_tasks.parse.values.dates import is_fixed
from crawl_tasks.parse.values.text import lines as lines_of
from crawl_tasks.sites.site_terms import DateOrder

_OFTEN = 0.8
Select = Callable[[Slots, Slot], str | None]


@dataclass(frozen=True, slots=True)
class FoundFields:
    """Fields that were found in records: rules as YAML, and the values by record."""

    rules: dict[str, str]
    authors: Mapping[int, str]
    at: Mapping[int, int]
    again: Callable[[Select], dict[str, str]]
    """Returns the rules with selectors of another kind."""

    slots: Slots
    paths: tuple[Path | None, ...] = (None, None, None)
    """The paths of author, moment and body."""

    order: DateOrder | None = None
    """The order of moments in figures."""

    edited: str | None = None
    """The selector of notes of edits."""

    foreign: tuple[str, ...] = ()
    """Selectors of what is no author's own text: notes of edits and quotes."""

    regex: str = ""
    """The regex of the author where the slot's text has other parts too."""

    note: TextNote | None = None
    """Notes of edits that are lines of a body."""

    is_moving: bool = False
    """Whether moments count from now: `2 hours ago` is another one a minute later."""


def fields_of(named: Sequence[tuple[str, LexborNode]]) -> FoundFields:
    """Find author, body and moment of records, each with the title of its page.

    Records within, notes of edits, subjects and polls are no part of a record: they are in some records only, and
    before others of their kind.
    """
    records = [node for _, node in named]
    pages = {at: page for at, (page, _) in enumerate(named)}
    slots = Slots(records, _apart(named), pages)
    names = slots.names()
    author = names[0] if names else byline_in(slots)
    authors = author.texts() if author else {}
    moments = [candidate for candidate in slots.moments() if not is_of_author(candidate.at, authors)]
    moment = moments[0] if moments else None
    known = [*([author] if author else []), *(candidate.slot for candidate in slots.moments())]
    people = set(authors.values())
    path = slots.body(authors, known, people.__contains__)
    edited = edited_in(records)
    body = slots.at(path) if path is not None else None
    foreign = tuple(filter(None, (edited, quotes_of(records, authors, body.nodes if body else None))))
    texts = [lines_of(node.html or "") for node in body.nodes.values()] if body and edited is None else []
    note = text_note(texts)
    again = partial(rules_of, slots, author, moment, path, authors, foreign=foreign, note=note)
    paths = (author.path if author else None, moment.slot.path if moment else None, path)
    return FoundFields(
        again(in_records), authors, moment.at if moment else {}, again, slots, paths, moment.order if moment else None,
        edited, foreign, author.regex if author else "", note,
        moment is not None and not all(map(is_fixed, moment.texts())),
    )  # fmt: skip


def _apart(named: Sequence[tuple[str, LexborNode]]) -> set[int]:
    """Return what is no part of a record: other records, subjects and notes."""
    ids = {node.mem_id for _, node in named}
    apart: set[int] = set()
    for page, record in named:
        apart |= {node.mem_id for node in record.css("*") if node.mem_id in ids or is_subject(node, page)}
        apart |= {note.mem_id for note in notes_in(record)}
    return apart


def in_records(slots: Slots, slot: Slot, among: Set[int] | None = None) -> str | None:
    """Return the selector that finds a slot in its records, with `among` no other elements than these."""
    return selector_in(slots.records, slot.targets(len(slots.records)), among=among)


def rules_of(
    slots: Slots, author: Slot | None, moment: MomentSlot | None, path: Path | None, authors: Mapping[int, str],
    select: Select, *, foreign: Sequence[str], note: TextNote | None,
) -> dict[str, str]:  # fmt: skip
    """Return the rules of author, body and moment, with selectors that `select` finds. A body is without `foreign`.

    `note` reads notes of edits that are lines of a body.
    """
    css = select(slots, author) if author else None
    rules = {"author": author_text(css, author.regex)} if author and css else {}
    body = slots.at(path) if path is not None else None
    if body is not None and path is not None:
        css = select(slots, body) if path else ""
        if css is not None:
            fixed = [slot for slot in (author, moment.slot if moment else None) if slot]
            inside = [slot for slot in fixed if slot.path[: len(path)] == path]
            chrome = _chrome(slots, [*inside, *slots.chrome(path, authors)])
            rules |= _body_rules(css, chrome, foreign, note)
    if moment is not None:
        rules |= moment_text(moment, select(slots, moment.slot))
    return rules


def _body_rules(css: str, chrome: Sequence[str], foreign: Sequence[str], note: TextNote | None) -> dict[str, str]:
    """Return the rules of a body, of its HTML and of a note of edits in it. `css` is empty for the whole record."""
    start = f"css: {scalar(css)}, " if css else ""
    others = [selector for selector in foreign if selector != css]
    dropped = scalar(", ".join(("usual-quotes", *dict.fromkeys([*chrome, *others]))))
    regex = f", regex: {scalar(note.body)}" if note else ""
    rules = {"body": f"{{{start}drop: {dropped}{regex}}}"}
    if note is not None and note.edited:
        rules["edited_at"] = f"{{{start}drop: {dropped}, text: lines, regex: {scalar(note.edited)}}}"
    if css:
        whole = f"{{{start}drop: {scalar(', '.join(dict.fromkeys(chrome)))}}}" if chrome else scalar(css)
        rules["body_html"] = whole
    return rules


def _chrome(slots: Slots, parts: Sequence[Slot]) -> list[str]:
    """Return the selectors of parts of a body that are no author's own text."""
    among: set[int] = set()
    for slot in parts:
        among |= {node.mem_id for part in slot.nodes.values() for node in part.css("*")}
    return list(filter(None, [_chrome_css(slots, slot, among) for slot in parts]))


def _chrome_css(slots: Slots, slot: Slot, among: Set[int]) -> str | None:
    """Return the selector of a part that is no author's own text, None if it may find own texts elsewhere."""
    css = in_records(slots, slot, among)
    # The second link in a text may be part of a signature here, and of the text in the next post.
    is_everywhere = len(slot.nodes) >= _OFTEN * len(slots.records)
    return css if css and (is_everywhere or is_telling(css)) else None


def author_text(css: str, regex: str) -> str:
    """Return the rule of an author: a selector, and the regex of a part of the text."""
    return f"{{css: {scalar(css)}, regex: {scalar(regex)}}}" if regex else scalar(css)


def moment_text(moment: MomentSlot, css: str | None, name: str = "created_at") -> dict[str, str]:
    """Return the rule of a moment, none without a selector."""
    if css is None:
        return {}
    parts = [f"css: {scalar(css)}"]
    is_usual = moment.attr == "datetime" and all(node.tag == "time" for node in moment.slot.nodes.values())
    parts += [f"attr: {moment.attr}"] if moment.attr and not is_usual else []
    # A number may be right before a date: `<a>#1</a>2024-06-19 22:17`.
    whole = moment.slot.texts() if moment.is_own else {}
    is_mixed = any(moment_of(text, moment.order or DateOrder.DMY) != moment.at.get(at) for at, text in whole.items())
    parts += ["text: own"] * bool(moment.is_own and (moment.is_begun or is_mixed))
    parts += [f"regex: {scalar(UNTIL_TIME)}"] * moment.is_begun
    return {name: scalar(css) if len(parts) == 1 else f"{{{', '.join(parts)}}}"}
