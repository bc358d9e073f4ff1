"""The comment reader: comments of a post page or a comment page, with their ids, parents and depths."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import repeat

from selectolax.lexbor import LexborNode

from crawl_tasks.errors import ParseError
from crawl_tasks.model import Comment, Request
from crawl_tasks.parse.context import ParseContext, barren, check_required, extras, mains, picked, places, required
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.lost_records import BARE, RARE, record_siblings
from crawl_tasks.parse.rules.compile import Where, compile_rule
from crawl_tasks.parse.rules.table import Column, Table, TableReader, first_left_out
from crawl_tasks.parse.values.dates import is_fixed
from crawl_tasks.sites.field_rules import COMMENT_FIELDS, As, Plain, Rule, extra_fields, kind_of
from crawl_tasks.sites.stages import CommentSpec, Nesting, Records

_WRITTEN = "{} text"
MOVING_ID = "ids would be made of a time that moves"
"""Part of the note on comments whose id holds a moment that counts from now."""

_TOLD = ("author", "created_at", "body")
_LABEL = 20
"""Letters of the longest label of an advertisement."""

NORMAL = "normal"
"""State of an item whose page shows no other. Stored, so that a deleted post that came back is `normal` again."""


@dataclass(frozen=True, slots=True)
class FirstRecord:
    """The record of the post itself, above its comments."""

    where: Where
    values: dict[str, Plain]


class CommentReader:
    """Reader of comments, on post pages as well as on comment pages."""

    def __init__(self, context: ParseContext, spec: Records | CommentSpec, record: Rule) -> None:
        self._mains = mains(spec.fields)
        self._required = required(spec.fields)
        self._id_of = spec.id_of
        self._nesting = spec.nesting
        columns = context.fields(spec.fields, at_page=False)
        # "3 hours ago" is another moment at every visit, and would make another id.
        written = replace(context.want(As.DATE), as_written=True)
        self._dates = tuple(name for name in spec.id_of if kind_of(name, spec.fields[name]) is As.DATE)
        for name in self._dates:
            columns[_WRITTEN.format(name)] = compile_rule(spec.fields[name], written, at_page=False)
        self._table = TableReader(record, columns, nested=spec.nesting is Nesting.NESTED, siblings=spec.siblings)
        self._extra = extra_fields(spec.fields, COMMENT_FIELDS)
        self._first = first_left_out(record)
        self._id = columns["comment_id"].read if "comment_id" in columns else None
        self._look_alikes = record_siblings(spec, context)

    def read(
        self, request: Request, where: Where, document: Document, *, page: int
    ) -> tuple[tuple[Comment, ...], tuple[str, ...], bool]:
        """Return the comments of a page, the notes on records that were left out, and whether the table was cut."""
        table, own_id = self._table.read(where, document), None
        if self._first is not None and self._id is not None and isinstance(where, LexborNode):
            first = where.css_first(self._first)
            own_id = None if first is None else self._id(first, document)
        left_out = self._left_out(where, document, table)
        return self._read(request, table, own_id, document, page=page, left_out=left_out)

    def read_thread(
        self, request: Request, where: Where, document: Document
    ) -> tuple[FirstRecord | None, tuple[Comment, ...], tuple[str, ...], bool]:
        """Return the first record of a post page, which is the post, and what `read` returns for the others."""
        table = self._table.read(where, document)
        if not table.records:
            return None, (), table.notes, bool(table.notes)
        first = FirstRecord(table.records[0], {name: column[0] for name, column in table.columns.items()})
        replies = _picked(table, range(1, len(table.records)))
        own_id, left_out = first.values.get("comment_id"), self._left_out(where, document, table)
        return first, *self._read(request, replies, own_id, document, page=1, left_out=left_out)

    def _left_out(self, where: Where, document: Document, table: Table) -> tuple[str, ...]:
        """Return a note on elements like the records that the rule leaves out, if any."""
        ids = table.columns.get("comment_id", ())
        note = (
            self._look_alikes.note(where, document, table.records, ids)
            if self._look_alikes is not None and not table.notes
            else ""
        )
        return (note,) if note else ()

    def _read(
        self, request: Request, table: Table, own_id: Plain, document: Document, *, page: int, left_out: tuple[str, ...]
    ) -> tuple[tuple[Comment, ...], tuple[str, ...], bool]:
        is_cut = bool(table.notes)
        table, doubts = _of_replies(table, own_id)
        if self._id_of:
            table = _with_made_ids(
                _without_moving(table, self._dates), request.key, self._id_of, has_moments=bool(self._dates)
            )

        def fail(what: str) -> ParseError:
            return ParseError(f"{request.site}: {request.stage}: comments: {what}; {request.address}")

        kept, notes = places(table, "comment_id", fail)
        check_required(self._required, table, kept, fail)
        notes += table.notes + doubts + left_out + barren(self._mains, table, "comment")
        return self._comments(request, document, table, kept, page=page), notes, is_cut

    def _comments(
        self, request: Request, document: Document, table: Table, kept: list[int], *, page: int
    ) -> tuple[Comment, ...]:
        parents, depths = _nested_by(table, self._nesting)
        columns = {**table.columns, "parent_id": parents, "depth": depths}
        if len(kept) < len(parents):
            columns = {name: picked(column, kept) for name, column in columns.items()}
        nothing: Column = [None] * len(kept)
        ids, get = [f"{comment_id}" for comment_id in columns["comment_id"]], columns.get
        rows = zip(
            repeat(request.key), ids, repeat(document.page.seen_at),
            columns["parent_id"], get("author", nothing), get("created_at", nothing), get("body", nothing),
            get("body_html", nothing), columns["depth"], repeat(page), get("position") or kept,
            get("edited_at", nothing), [state or NORMAL for state in get("state", nothing)],
            extras(self._extra, table.columns, kept) if self._extra else nothing, get("author_id", nothing),
            strict=False,
        )  # fmt: skip
        # The same as Comment._make, without a Python call for each comment.
        return tuple(map(tuple.__new__, repeat(Comment), rows))


def _of_replies(table: Table, own_id: Plain) -> tuple[Table, tuple[str, ...]]:
    """Return the table without what is no reply, and notes on what may be one.

    No replies are another record of the post, `own_id`, and advertisements. An advertisement has neither author nor
    moment nor text, and an id only where it has no words either. One is enough for any page, and a fifth of the
    records for a long one. Where no record has one of these fields, or more records lack all, the rule is to blame:
    those with an id stay, and a note names the others.
    """
    columns, count = table.columns, len(table.records)
    ids = columns.get("comment_id") or [None] * count
    fields = [columns[name] for name in _TOLD if name in columns]
    is_judged = len(fields) == len(_TOLD) and None in fields[0] and all(map(any, fields))
    if not is_judged and (own_id is None or own_id not in ids):
        return table, ()
    again = [at for at in range(count) if own_id is not None and ids[at] == own_id]
    notes: tuple[str, ...] = ()
    if len(again) > 1:
        # A forum repeats its post on top of a page, and not twice.
        notes += (f"{len(again)} of {count} records were left out: their comment_id is that of the post ({own_id!r})",)
    states = columns.get("state") or [None] * count
    bare = _bare_places(fields, count) if is_judged else []
    bare = [at for at in bare if states[at] in (None, NORMAL) and at not in again]
    empty = {at for at in bare if ids[at] is None or not _has_words(table.records[at])}
    rare = empty if len(empty) == 1 or RARE * len(empty) <= count else set[int]()
    left_out = rare.union(again)
    lost = [at for at in bare if at not in left_out and ids[at] is not None]
    if lost:
        notes += (f"{len(lost)} of {count} records {BARE} (the first: {str(ids[lost[0]])[:40]!r})",)
    return _picked(table, [at for at in range(count) if at not in left_out]), notes


def _bare_places(fields: Sequence[Column], count: int) -> list[int]:
    """Return the places of the records that lack all of some fields."""
    shown = set[int]()
    for column in fields:
        shown.update(at for at, value in enumerate(column) if value)
    return [at for at in range(count) if at not in shown]


def _has_words(record: Where) -> bool:
    """Return whether an element shows a text of some length: more than the word `Advertisement`."""
    if not isinstance(record, LexborNode):
        return False
    silent = sum(len("".join(node.text().split())) for node in record.css("script, style, noscript"))
    return len("".join(record.text().split())) - silent > _LABEL


def _picked(table: Table, kept: Sequence[int]) -> Table:
    """Return the records at some places of a table."""
    places: dict[int | None, int] = {old: new for new, old in enumerate(kept)}
    return Table(
        [table.records[at] for at in kept],
        [places.get(table.parents[at]) for at in kept],
        {name: picked(column, kept) for name, column in table.columns.items()},
        table.notes,
    )


def _without_moving(table: Table, dates: Sequence[str]) -> Table:
    """Return the table without the moments, named by `dates`, of texts that count from now."""
    columns, notes = dict(table.columns), list(table.notes)
    ids = columns.get("comment_id") or [None] * len(table.records)
    for name in dates:
        written = columns.pop(_WRITTEN.format(name))
        moving = {
            at: text for at, text in enumerate(written)
            if ids[at] is None and text is not None and not is_fixed(f"{text}")
        }  # fmt: skip
        columns[f"id {name}"] = [None if at in moving else moment for at, moment in enumerate(columns[name])]
        if moving:
            text = next(iter(moving.values()))
            notes.append(f"{len(moving)} {MOVING_ID} ({text!r:.40}): leave {name} out of id_of")
    return replace(table, columns=columns, notes=tuple(notes))


def _with_made_ids(table: Table, key: str, names: tuple[str, ...], *, has_moments: bool) -> Table:
    """Return the table with a synthetic id for each record that has none but has at least one of the named fields.

    Two comments of one parent that are equal in all these fields share one id, because nothing on the page tells them
    apart. Without a moment among the fields they are counted, for who says "Thanks!" twice is no copy.

    Args:
        table: the comments of a page.
        key: the thread's id.
        names: the fields that make the id, together with the parent.
        has_moments: whether a moment is one of the fields.
    """
    count = len(table.records)
    ids: Column = list(table.columns.get("comment_id") or [None] * count)
    seen = Counter[str]()
    parents = table.columns.get("parent_id") or [None] * count
    for place, own_id in enumerate(ids):
        parts = [(table.columns.get(f"id {name}") or table.columns[name])[place] for name in names]
        # Earlier versions read a text without words as missing, and made ids of that.
        parts = [None if part == "" else part for part in parts]
        if own_id is not None or not any(part is not None for part in parts):
            continue
        outer = table.parents[place]
        # A parent precedes its children, so its own id is already made.
        parent = parents[place] if outer is None else ids[outer]
        # JSON keeps the parts apart: (ab, c) and (a, bc) must not become one id.
        text = json.dumps([key, parent, *parts], ensure_ascii=True)
        seen[text] += not has_moments
        text += f" {seen[text]}" * (seen[text] > 1)
        ids[place] = blake2b(text.encode(), digest_size=8).hexdigest()
    return replace(table, columns=table.columns | {"comment_id": ids})


def _nested_by(table: Table, nesting: Nesting) -> tuple[Column, Column]:
    """Return parents and depths as the fields give them, else as the records contain each other."""
    columns, nothing = table.columns, [None] * len(table.records)
    parents: Column = columns.get("parent_id") or list(nothing)
    depths: Column = columns.get("depth") or list(nothing)
    if nesting is Nesting.INDENTED:
        return _by_indent(columns["comment_id"], depths), depths
    if nesting is not Nesting.NESTED:
        return parents, depths
    if None in depths:
        levels = _levels(table.parents)
        depths = [level if depth is None else depth for depth, level in zip(depths, levels, strict=True)]
    ids = columns["comment_id"]
    parents = [
        ids[outer] if parent is None and outer is not None else parent
        for parent, outer in zip(parents, table.parents, strict=True)
    ]
    return parents, depths


def _levels(parents: Sequence[int | None]) -> list[int]:
    """Return the number of records around each record. A parent precedes its children."""
    levels = [0] * len(parents)
    for place, outer in enumerate(parents):
        if outer is not None:
            levels[place] = levels[outer] + 1
    return levels


def _by_indent(ids: Column, depths: Column) -> Column:
    """Return for each record the id of the last record above with a smaller depth."""
    parents: Column = []
    above: list[tuple[int, Plain]] = []
    for own_id, depth in zip(ids, depths, strict=True):
        level = depth if isinstance(depth, int) else 0
        # A record of the same or a greater depth can be nobody's parent from here on.
        while above and above[-1][0] >= level:
            above.pop()
        parents.append(above[-1][1] if above else None)
        above.append((level, own_id))
    return parents
