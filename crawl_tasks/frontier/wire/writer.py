"""The tables of this room as one Lua table, WIRE, which is in front of all files of the Lua library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from crawl_tasks.frontier.wire.entry_format import TEXTS, patterns_in
from crawl_tasks.frontier.wire.failures import (
    DENIED_STATUSES,
    FAILURES,
    GONE_STATUSES,
    PAGE_STATUSES,
    REFUSALS,
    STRAINS,
)
from crawl_tasks.frontier.wire.guard_marks import (
    ADDRESS_BITS,
    ASKED,
    GONE,
    HITS,
    NONE,
    SOURCE_STEP,
    SOURCES,
    WHEN_GONE,
)
from crawl_tasks.frontier.wire.lease_end import FieldRow
from crawl_tasks.frontier.wire.limits import SHORT_IN_A_ROW, SHORT_RARE
from crawl_tasks.frontier.wire.site_terms import SITE_STATE, SITE_TERMS, FieldType
from crawl_tasks.model import Stage

WRITTEN = ("entry", "work", "line")

Literal = str | int | bool | Sequence["Literal"] | Mapping[str, "Literal"]


def lua_tables(codes: Iterable[str]) -> str:
    """Return the Lua text that defines WIRE, with the patterns of texts that the `codes` name."""
    tables: dict[str, Literal] = {
        "stages": [stage.value for stage in Stage],
        "stage_at": {stage.value: place for place, stage in enumerate(Stage, 1)},
        "reason": {row.name: row.reason for row in FAILURES},
        "refuses": _set_of(REFUSALS),
        "strains": _set_of(STRAINS),
        "page": _set_of(PAGE_STATUSES),
        "gone": _set_of(GONE_STATUSES),
        "denied": _set_of(DENIED_STATUSES),
        **patterns_in(codes),
        "mark": {
            "addresses": 1 << ADDRESS_BITS,
            "sources": SOURCES,
            "source_step": SOURCE_STEP,
            "hits": HITS,
            "when_gone": WHEN_GONE,
            "asked": ASKED,
            "gone": GONE,
            "none": NONE,
        },
        "limits": {"short_in_a_row": SHORT_IN_A_ROW, "short_rare": SHORT_RARE},
        "terms": [{"name": term.name, "type": term.type.value, "default": term.default} for term in SITE_TERMS],
        "term_names": [term.name for term in SITE_TERMS],
        "state_names": [name for field in SITE_STATE for name in field.fields()],
    }
    lines = [f"  {name} = {_literal(table)}," for name, table in tables.items()]
    return "\n".join(["local WIRE = {", *lines, f"  state_of = {_state_reader()},", *map(_text_writer, WRITTEN), "}"])


_ARGUMENTS = {FieldType.FLAG: "ARGV[{}] == '1'", FieldType.NUMBER: "tonumber(ARGV[{}])", FieldType.TEXT: "ARGV[{}]"}


def _text_writer(text: str) -> str:
    """Return a function of Lua that writes a text of its fields. The address and the payload are one text."""
    names = [field.name for field in TEXTS[text][:-2]] + ["request"]
    joined = " .. ' ' .. ".join(names)
    return f"  write_{text} = function({', '.join(names)}) return {joined} end,"


def lua_locals(rows: Sequence[FieldRow]) -> str:
    """Return the Lua text that gives each argument of a verb a name, and FIRST, the place behind them."""
    names = ", ".join(row.name for row in rows)
    values = ", ".join(_ARGUMENTS[row.type].format(place) for place, row in enumerate(rows, 1))
    return f"local FIRST, {names} = {len(rows) + 1}, {values}"


def _set_of(members: Iterable[str | int]) -> dict[str, Literal]:
    # As strings, since the scripts cut them out of texts.
    return {str(member): True for member in sorted(members)}


def _literal(value: Literal) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"['{name}'] = {_literal(part)}" for name, part in value.items()) + "}"
    return "{" + ", ".join(map(_literal, value)) + "}"


_READERS = {
    FieldType.FLAG: "v[{}] == '1'",
    FieldType.NUMBER: "tonumber(v[{}] or 0)",
    FieldType.TEXT: "v[{}] or ''",
    FieldType.OPTIONAL: "v[{}]",
}


def _state_reader() -> str:
    """Return a function of Lua that makes a table of the values of a site's state, in the order of `state_names`."""
    # A constructor takes half of the time that a loop over names would take, and each page reads the state.
    places, parts = count(1), []
    for field in SITE_STATE:
        values = [_READERS[field.type].format(next(places)) for _ in field.fields()]
        if field.is_by_stage:
            by_stage = ", ".join(f"{stage.value} = {value}" for stage, value in zip(Stage, values, strict=True))
            parts.append(f"{field.name} = {{{by_stage}}}")
        else:
            parts.append(f"{field.name} = {values[0]}")
    return f"function(v) return {{{', '.join(parts)}}} end"
