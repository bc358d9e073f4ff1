"""Before step 1, survey: proposed rules as lines of YAML. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

CHECK = "  # check this"
_PLAIN = re.compile(r"[A-Za-z][\w.-]*(?: [A-Za-z][\w.-]*)*")
_WIDEST = 118


def scalar(text: str) -> str:
    """Write a scalar, in single quotes where it needs any: escapes mean nothing there."""
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def indented(lines: Iterable[str], by: int = 2) -> list[str]:
    """Move lines to the right."""
    return [" " * by + line for line in lines]


def fields_text(fields: Mapping[str, str], by: int) -> list[str]:
    """Write fields as one mapping, as many on a line as fit; the values are YAML."""
    lines = ["fields: {"]
    for at, (name, value) in enumerate(fields.items()):
        last = at == len(fields) - 1
        pair = f"{name}: {value}" + ("}" if last else ",")
        room = _WIDEST - by - len(lines[-1]) - (len(CHECK) if last else 1)
        if len(pair) > room and lines[-1].strip() != "fields: {":
            lines.append(f"  {pair}")
        else:
            lines[-1] += pair if lines[-1].endswith("{") else f" {pair}"
    lines[-1] += CHECK
    return indented(lines, by)
