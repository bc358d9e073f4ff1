"""Lost records: what rules leave out of a page, and the notes on it.

A rule for records that fits most of a page is silent on the rest: `tr.topic` leaves out rows of the class `hottopic`,
`div.post[id]` the posts of guests. Elements of their tag, with one of their classes or beside them, are therefore held
against the rules of the fields. What a rule names in `:not()` it leaves out on purpose: a note says so, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Final

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.context import ParseContext
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.pagination_links import is_in
from crawl_tasks.parse.rules.compile import Where, compile_rule, compile_test
from crawl_tasks.parse.rules.convert import Want
from crawl_tasks.sites.field_rules import Plain, Rule
from crawl_tasks.sites.stages import CommentSpec, ListSpec, Nesting, Records

BARE: Final = "have an id, and neither author nor time nor text"
"""Part of the note on records of which a rule reads nothing but the id."""

RARE: Final = 5
"""Of so many records one may be an advertisement."""

_BESIDE: Final = "are read as the records beside, and `record` leaves them out"
_ON_PURPOSE: Final = "are read as the records beside, and `:not()` in `record` leaves them out"
_NOT: Final = re.compile(r":not\(([^()]*)\)")
_LEFT_OUT: Final = re.compile(rf"(\d+) of \d+ {_BESIDE}")
_LOST: Final = re.compile(rf"(\d+) of (\d+) records (?:{BARE}|without comment_id|were left out: their comment_id)")
_MAINS: Final = ("title", "author", "created_at", "body")
_SAMPLE: Final = 12
"""Records that show which fields are usual."""

_QUIET: Final = 10
_EVERY: Final = 8
"""Pages that lack nothing, after which one of so many is looked at."""

_MOST_CLASSES: Final = 4
_LEVELS: Final = 4
_MOST: Final = 200
"""Elements beside the records that are looked at."""

_IS_NAME: Final = re.compile(r"-?[A-Za-z_][\w-]*").fullmatch


def lost_records(notes: Iterable[str]) -> tuple[int, str]:
    """Return how many records of a page were not read, and the note on most of them: more than advertisements are.

    The number is 0 for a page without such notes.
    """
    losses = [(0, "")]
    for note in notes:
        if ((match := _LOST.match(note)) is not None and RARE * int(match[1]) > int(match[2])) or (
            match := _LEFT_OUT.match(note)
        ) is not None:
            losses.append((int(match[1]), note))
    return max(losses)


def record_siblings(spec: ListSpec | CommentSpec | Records, context: ParseContext) -> RecordSiblings | None:
    """Return the test for what a rule leaves out beside the records, None for rules that say no elements.

    The rules of presets are tried, and leave out what is no record.
    """
    is_said = context.site.engine is None and spec.record is not None and spec.record.css is not None
    return RecordSiblings(spec, context.want()) if is_said and not spec.siblings else None


class RecordSiblings:
    """The test for elements that are read as the records are, and that the rule for records leaves out."""

    def __init__(self, spec: ListSpec | CommentSpec | Records, want: Want) -> None:
        """Compile the test for the records of a stage. `want` is the conversion of a rule that is no field."""
        self._pages = self._quiet = 0
        is_list = isinstance(spec, ListSpec)
        key = "post_id" if is_list else "comment_id"
        known = spec.fields.get(key)
        self._key = None if known is None else compile_rule(known, want, at_page=False).read
        self._tests = {name: _test(rule, want) for name, rule in spec.fields.items() if name != key}
        self._may_lack_key = not is_list
        self._has_post_above = not is_list and not (isinstance(spec, Records) and spec.begins_with_post)
        css = spec.record.css if spec.record is not None else None
        self._excluded = ", ".join(filter(None, _NOT.findall(css or "")))
        self._nested = not isinstance(spec, ListSpec) and spec.nesting is Nesting.NESTED

    def note(self, where: Where, document: Document, records: Sequence[Where], ids: Iterable[Plain]) -> str:
        """Return a note on elements that the rule leaves out of the records of a page, empty without any.

        Behind some pages that lack nothing, one of a few is looked at.
        """
        self._pages += 1
        if self._quiet >= _QUIET and self._pages % _EVERY:
            return ""
        note = self._note(where, document, records, ids)
        self._quiet = 0 if note else self._quiet + 1
        return note

    def _note(self, where: Where, document: Document, records: Sequence[Where], ids: Iterable[Plain]) -> str:
        nodes = [record for record in records if isinstance(record, LexborNode)]
        if not nodes or not isinstance(where, LexborNode):
            return ""
        beside = self._beside(where, nodes)
        if not beside:
            return ""
        usual = [name for name, test in self._tests.items() if _is_usual(test, nodes[:_SAMPLE], document)]
        alike = self._read_alike(beside, document, usual, {f"{value}" for value in ids})
        excluded = {node.mem_id for node in find_all(where, self._excluded)} if alike and self._excluded else set()
        lost = [key for node, key in alike if node.mem_id not in excluded]
        what, left_out = (_BESIDE, lost) if lost else (_ON_PURPOSE, [key for _, key in alike])
        if not left_out:
            return ""
        example = f" (the first: {left_out[0][:40]!r})" if left_out[0] else ""
        return f"{len(left_out)} of {len(nodes) + len(left_out)} {what}{example}"

    def _read_alike(
        self, beside: list[tuple[LexborNode, bool]], document: Document, usual: Sequence[str], known: set[str]
    ) -> list[tuple[LexborNode, str]]:
        """Return the elements that hold what records hold, each with its id. `known` are the ids of the records."""
        alike: list[tuple[LexborNode, str]] = []
        may_be_post = self._has_post_above
        for node, is_above in beside:
            key = self._read_as_record(node, document, usual, known)
            if key is None:
                continue
            if may_be_post and is_above:
                # Above its comments, the first may be the post itself.
                may_be_post = False
                continue
            known.add(key)
            alike.append((node, key))
        return alike

    def _read_as_record(
        self, node: LexborNode, document: Document, usual: Sequence[str], known: Set[str]
    ) -> str | None:
        """Return the id of an element that holds what records hold, empty if it has none. None for any other."""
        value = self._key(node, document) if self._key is not None else None
        fields = {name for name in usual if self._tests[name](node, document)}
        if value is None:
            # A row without the id of its thread is none. A post may have its own where the rule does not look.
            mains = {name for name in usual if name in _MAINS}
            return "" if self._may_lack_key and len(mains) > 1 and mains <= fields else None
        is_alike = 2 * len(fields) >= len(usual) and not fields.isdisjoint(_MAINS)
        return f"{value}" if is_alike and f"{value}" not in known else None

    def _beside(self, where: LexborNode, records: list[LexborNode]) -> list[tuple[LexborNode, bool]]:
        """Return the elements in places of records and like them, each with whether it is above the first record."""
        record_ids = {node.mem_id for node in records}
        groups = _alike(where, records)
        if all(node.mem_id in record_ids for nodes in groups for node in nodes):
            return []
        places, around = {_place(node) for node in records[:_SAMPLE]}, _above(records)
        neighbours: dict[int, tuple[LexborNode, bool]] = {}
        for nodes in groups:
            is_above = True
            for node in nodes:
                if node.mem_id in record_ids:
                    is_above = False
                elif (
                    len(neighbours) < _MOST
                    and node.mem_id not in around
                    and _place(node) in places
                    and (self._nested or not is_in(node.parent, record_ids))
                ):
                    neighbours.setdefault(node.mem_id, (node, is_above))
        return list(neighbours.values())


def _above(records: Sequence[LexborNode]) -> set[int]:
    """Return the memory ids of all elements around records."""
    around: set[int] = set()
    for record in records:
        above = record.parent
        while above is not None and above.mem_id not in around:
            around.add(above.mem_id)
            above = above.parent
    return around


def _test(rule: Rule, want: Want) -> Callable[[Where, Document], bool]:
    """Return the test whether a rule finds a text. No date is read: each would tell of the order of dates."""
    plain = rule.model_copy(update={"as_": None, "format": (), "default": None, "map": {}})
    return compile_test(plain, want, at_page=False)


def _is_usual(test: Callable[[Where, Document], bool], records: Sequence[LexborNode], document: Document) -> bool:
    return 5 * sum(test(record, document) for record in records) >= 4 * len(records)


def _place(node: LexborNode) -> tuple[str, ...]:
    """Return the tags of the elements around, up to four."""
    tags, above = list[str](), node.parent
    while above is not None and len(tags) < _LEVELS:
        tags.append(f"{above.tag}")
        above = above.parent
    return tuple(tags)


def _children_of(parent: LexborNode, tag: str) -> list[LexborNode]:
    return [node for node in parent.iter() if node.tag == tag]


def _alike(where: LexborNode, records: Sequence[LexborNode]) -> list[list[LexborNode]]:
    """Return groups of elements with the tag of the records: those of a class that these share, and those beside them.

    Each is in document order, with the records among them.
    """
    # The last record has the classes that all share, and few others: reading those of each would take as long again.
    first, last = records[0], records[-1]
    names = set((first.attributes.get("class") or "").split())
    chosen = sorted(filter(_IS_NAME, names.intersection((last.attributes.get("class") or "").split())))
    css = ", ".join(f"{first.tag}.{name}" for name in chosen[:_MOST_CLASSES])
    parents = {above.mem_id: above for record in (first, last) if (above := record.parent) is not None}
    beside = [_children_of(parent, f"{first.tag}") for parent in parents.values()]
    return [find_all(where, css), *beside] if css else beside
