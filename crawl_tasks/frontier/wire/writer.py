"""The tables of this room as one Lua table, WIRE, which stands in front of all files of the Lua library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from crawl_tasks.frontier.wire.failures import (
    DENIED_STATUSES,
    FAILURES,
    GONE_STATUSES,
    PAGE_STATUSES,
    REFUSALS,
    STRAINS,
)

Literal = str | int | Mapping[str, "Literal"]


@cache
def lua_tables() -> str:
    """Return the Lua text that defines WIRE."""
    tables: dict[str, Literal] = {
        "reason": {row.name: row.reason for row in FAILURES},
        "refuses": _set_of(REFUSALS),
        "strains": _set_of(STRAINS),
        "page": _set_of(PAGE_STATUSES),
        "gone": _set_of(GONE_STATUSES),
        "denied": _set_of(DENIED_STATUSES),
    }
    lines = [f"  {name} = {_literal(table)}," for name, table in tables.items()]
    return "\n".join(["local WIRE = {", *lines, "}"])


def _set_of(members: Iterable[str | int]) -> dict[str, Literal]:
    # As strings, since the scripts cut them out of texts.
    return {str(member): 1 for member in sorted(members)}


def _literal(value: Literal) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f"'{value}'"
    return "{" + ", ".join(f"['{name}'] = {_literal(part)}" for name, part in value.items()) + "}"
