"""Row change: the text for each row of a list page that changes when the row's thread does."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from crawl_tasks.parse.context import ParseContext, picked, tidy
from crawl_tasks.parse.rules.compile import CompiledRule, compile_rule
from crawl_tasks.parse.rules.table import Table
from crawl_tasks.parse.values.dates import is_stable
from crawl_tasks.sites.field_rules import As, NamedRule, Plain, Rule, kind_of
from crawl_tasks.sites.stages import ListSpec

# Fewer rows may lack a part of the revision by chance.
_ENOUGH_ROWS = 3


class _Sign(NamedTuple):
    """A part of the revision: a name for messages, and columns. The first column with a stable text is the part."""

    called: str
    columns: tuple[str, ...]
    holds_dates: bool = False


class RowChangeReader:
    """Reader of the revisions of the rows of one site. `columns` are those that it reads beside the fields."""

    def __init__(self, context: ParseContext, spec: ListSpec) -> None:
        self._context = context
        self._fields = spec.fields
        self.columns: dict[str, CompiledRule] = {}
        self._signs = tuple(self._sign(sign, f"#{place}") for place, sign in enumerate(spec.revision))

    def read(self, table: Table, kept: list[int]) -> tuple[list[str], tuple[str, ...]]:
        """Return the revision of each row, and a note on each part that is empty in all rows."""
        if not self._signs:
            return [""] * len(kept), ()
        parts, notes = [], []
        for sign in self._signs:
            columns = [picked(table.columns[name], kept) for name in sign.columns]
            if sign.holds_dates:
                part = [_standing(written, self._context.site.languages) for written in zip(*columns, strict=True)]
            else:
                part = ["" if value is None else str(value) for value in columns[0]]
            parts.append(part)
            if len(part) >= _ENOUGH_ROWS and not any(part):
                notes.append(_nothing_in(sign, columns))
        return [tidy("|".join(row)) for row in zip(*parts, strict=True)], tuple(notes)

    def _sign(self, sign: NamedRule, name: str) -> _Sign:
        """Compile a part of the revision into columns of that name."""
        rule = sign if sign.field is None else self._fields[sign.field]
        kind = (sign.as_ or As.TEXT) if sign.field is None else kind_of(sign.field, rule)
        called = sign.field or _selector_of(sign) or "a rule"
        if kind is not As.DATE:
            if sign.field is not None:
                return _Sign(called, (sign.field,))
            self.columns[name] = compile_rule(sign, self._context.want(kind), at_page=False)
            return _Sign(called, (name,))
        # "3 hours ago" is another text at every scan, and its moment another second. Only a stable text counts: the
        # attribute that the date is read from, or else the element's own words.
        written = replace(self._context.want(kind), as_written=True)
        self.columns[name] = compile_rule(rule, written, at_page=False)
        self.columns[f"{name} text"] = compile_rule(_as_text(rule), self._context.want(), at_page=False)
        return _Sign(called, (name, f"{name} text"), holds_dates=True)


def _standing(written: tuple[Plain, ...], languages: tuple[str, ...]) -> str:
    """Return the first text of a date that names the same moment tomorrow, empty if none does."""
    return next((str(text) for text in written if text is not None and is_stable(str(text), languages)), "")


def _nothing_in(sign: _Sign, columns: list[list[Plain]]) -> str:
    text = next((value for column in columns for value in column if value not in (None, "")), None)
    why = "nothing was found" if text is None else f"its text counts from now (the first: {str(text)[:40]!r})"
    return f"list.revision: {sign.called} is empty in all of {len(columns[0])} records: {why}"


def _selector_of(rule: Rule) -> str:
    """Return the selector of a revision part that has no field name, for messages."""
    return rule.css or rule.attr or rule.json_path or rule.xpath or next(map(_selector_of, rule.first_of), "")


def _as_text(rule: Rule) -> Rule:
    alternatives = tuple(_as_text(alternative) for alternative in rule.first_of)
    return rule.model_copy(update={"as_": As.TEXT, "first_of": alternatives})
